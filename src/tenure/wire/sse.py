"""Server-sent events, byte by byte: a parser that takes pieces cut anywhere, and the writer.

The parser follows the standard: lines end in CRLF, LF or CR, a byte order mark at the beginning is skipped,
comments and unknown fields are ignored, several `data` lines are joined, and an event that the stream does
not finish is dropped. Payloads stay bytes, so that a character cut in two is never seen as such (B14).
"""

import re
from typing import Final

from msgspec import Struct

from tenure.core.errors import TooLarge
from tenure.wire.limits import EVENT_BYTES_MAX

MEDIA_TYPE: Final = "text/event-stream"
KEEP_ALIVE: Final = b":\n\n"
"""A comment, which keeps proxies awake and says nothing."""

_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_MARK: Final = b"\xef\xbb\xbf"


class StreamEvent(Struct, frozen=True):
    """One event as it was sent; `id` is the last one that the stream named."""

    event: str
    data: bytes
    id: str = ""


class StreamParser:
    """Takes a stream's bytes in pieces of any size and gives back the events that they complete."""

    def __init__(self, event_bytes_max: int = EVENT_BYTES_MAX) -> None:
        """Stand at the beginning of a stream."""
        self._event_bytes_max = event_bytes_max
        self._line = bytearray()
        self._begins = True
        self._after_cr = False
        self._size = 0
        self._id = ""
        self._clear()

    def feed(self, piece: bytes) -> list[StreamEvent]:
        """Take a piece and return the events that end in it.

        Raises:
            TooLarge: An event is larger than the bound; the stream cannot be read on.
        """
        done: list[StreamEvent] = []
        start = 1 if self._after_cr and piece.startswith(b"\n") else 0
        if piece:
            self._after_cr = piece.endswith(b"\r")
        for end in _LINE_END.finditer(piece, start):
            self._line += piece[start : end.start()]
            start = end.end()
            line = self._take_line()
            if line:
                self._field(line)
            elif (event := self._dispatch()) is not None:
                done.append(event)
        self._line += piece[start:]
        self._check(len(self._line))
        return done

    def _take_line(self) -> bytes:
        line = bytes(self._line)
        self._line.clear()
        if self._begins:
            self._begins = False
            line = line.removeprefix(_MARK)
        self._check(len(line))
        return line

    def _check(self, more: int) -> None:
        if self._size + more > self._event_bytes_max:
            raise TooLarge(f"an event has more than {self._event_bytes_max:,} bytes")

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._size += len(value) + 1
        elif name == b"event":
            self._event = value.decode(errors="replace")
        elif name == b"id" and b"\x00" not in value:
            self._id = value.decode(errors="replace")

    def _dispatch(self) -> StreamEvent | None:
        event = StreamEvent(self._event or "message", b"\n".join(self._data), self._id)
        has_data = bool(self._data)
        self._clear()
        return event if has_data else None

    def _clear(self) -> None:
        self._data: list[bytes] = []
        self._event = ""
        self._size = 0


def write_event(event: str, data: bytes, id: int | None = None) -> bytes:
    """Return one event as it is sent; `data` is JSON, which has no line ends outside of escapes."""
    head = b"event: " + event.encode() + b"\n"
    if id is not None:
        head += b"id: %d\n" % id
    return head + b"data: " + data + b"\n\n"
