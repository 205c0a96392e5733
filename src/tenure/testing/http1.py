"""Finds where HTTP/1.1 messages begin and end in a stream of bytes, and nothing more.

A proxy needs that much to know which request a reply belongs to. Every byte that goes in comes out again in
the `raw` of some part, in order; what is not HTTP goes through as one endless body.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

SWITCHING_PROTOCOLS = 101

HEAD_BYTES_MAX = 65536
"""Bound: a head that is longer is taken for something else."""


@dataclass(frozen=True)
class Head:
    """Start line and headers of a message."""

    raw: bytes
    start: str
    headers: Mapping[str, str]
    chunked: bool

    @property
    def method(self) -> str:
        """Of a request."""
        return self.start.split(" ")[0]

    @property
    def target(self) -> str:
        """Path and query of a request."""
        return self.start.split(" ")[1]

    @property
    def status(self) -> int:
        """Of a reply."""
        return int(self.start.split(" ")[1])


@dataclass(frozen=True)
class Body:
    """Some bytes of a body; `payload` is what they carry without the framing of chunks."""

    raw: bytes
    payload: bytes


@dataclass(frozen=True)
class End:
    """A message is complete."""

    raw: bytes


Part = Head | Body | End
Step = Literal["head", "length", "size", "chunk", "chunk_end", "trailer", "endless"]


class Framing:
    """Takes bytes as they come and returns parts of messages, one after the other.

    Args:
        bodiless: Says of a head whether its message has no body whatever its headers say.

    """

    def __init__(self, bodiless: Callable[[Head], bool]) -> None:
        """Expect a head."""
        self._bodiless = bodiless
        self._buffer = b""
        self._step: Step = "head"
        self._left = 0
        self._tail = b""
        self._ended = False

    def feed(self, data: bytes) -> Iterator[Part]:
        """Return what has become clear with these bytes."""
        self._buffer += data
        while (part := self._next()) is not None:
            yield part

    def _next(self) -> Part | None:
        """Return the next part if the buffer holds it."""
        if self._ended:
            self._ended = False
            self._step = "head"
            return End(b"")
        match self._step:
            case "head":
                return self._head()
            case "length":
                return self._counted()
            case "size":
                return self._size()
            case "chunk":
                return self._counted()
            case "chunk_end":
                return self._chunk_end()
            case "trailer":
                return self._trailer()
            case "endless":
                return self._endless()

    def _head(self) -> Part | None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > HEAD_BYTES_MAX:
                self._step = "endless"
                return self._endless()
            return None
        head = _parsed(self._buffer[: end + 4])
        if head is None:
            self._step = "endless"
            return self._endless()
        self._take(end + 4)
        self._expect(head)
        return head

    def _expect(self, head: Head) -> None:
        """Choose how the body of this message is framed."""
        length = head.headers.get("content-length")
        is_reply = head.start.startswith("HTTP/")
        if is_reply and head.status == SWITCHING_PROTOCOLS:
            self._step = "endless"
        elif self._bodiless(head):
            self._ended = True
        elif head.chunked:
            self._step = "size"
        elif length is not None and length.isdigit():
            self._step, self._left = "length", int(length)
            self._ended = self._left == 0
        elif is_reply:
            self._step = "endless"  # until the connection closes
        else:
            self._ended = True

    def _counted(self) -> Body | None:
        raw = self._take(min(self._left, len(self._buffer)))
        if not raw:
            return None
        self._left -= len(raw)
        if not self._left:
            if self._step == "chunk":
                self._step = "chunk_end"
            else:
                self._ended = True
        return Body(raw, raw)

    def _size(self) -> Part | None:
        line = self._line()
        if line is None:
            return None
        self._left = int(line.split(b";")[0], 16)
        if self._left:
            self._step = "chunk"
            return Body(line, b"")
        self._step, self._tail = "trailer", line
        return self._trailer()

    def _chunk_end(self) -> Body | None:
        line = self._line()
        if line is None:
            return None
        self._step = "size"
        return Body(line, b"")

    def _trailer(self) -> Part | None:
        while (line := self._line()) is not None:
            self._tail += line
            if line == b"\r\n":
                self._step = "head"
                return End(self._tail)
        return None

    def _endless(self) -> Body | None:
        raw = self._take(len(self._buffer))
        return Body(raw, raw) if raw else None

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\r\n")
        return None if end < 0 else self._take(end + 2)

    def _take(self, count: int) -> bytes:
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken


def requests() -> Framing:
    """Return the framing of what a client sends."""
    return Framing(lambda _: False)


def replies(method: Callable[[], str]) -> Framing:
    """Return the framing of what a server sends; `method` is that of the request being answered."""

    def bodiless(head: Head) -> bool:
        return head.status < 200 or head.status in {204, 304} or method() == "HEAD"

    return Framing(bodiless)


def _parsed(raw: bytes) -> Head | None:
    """Return the head in these bytes, or None if they are none."""
    start, *lines = raw[:-4].decode("latin-1").lstrip("\r\n").split("\r\n")
    if len(start.split(" ", 2)) < 3 or not (start.startswith("HTTP/") or " HTTP/" in start):
        return None
    pairs = [line.partition(":") for line in lines]
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    chunked = headers.get("transfer-encoding", "").lower().endswith("chunked")
    return Head(raw, start, headers, chunked)
