"""What a supervisor and its executor processes say to each other, as frames over a socket pair.

A frame is a length of four bytes and one tagged message in MessagePack. Both sides put several frames into
one write and read whatever came at once, which is what makes a hand-over cheap. Neither side waits on the
socket for an answer: a question carries a number, and its answer carries the same.
"""

from typing import Final, Generic, TypeVar, cast

import msgspec
from msgspec import Struct

from tenure.core.checkpoint import Progress
from tenure.core.errors import TooLarge
from tenure.core.execution import (
    BeginEffect,
    EffectStanding,
    EndEffect,
    Finished,
    ManifestEntry,
    Saved,
    Work,
)

FRAME_BYTES_MAX: Final = 16 * 1024 * 1024  # Bound: a value of 4 MiB of JSON can be twice that as MessagePack
_HEADER_BYTES: Final = 4
_BIG_INTEGER: Final = 1  # MessagePack ends at 64 bits, JSON and Python do not


class Declared(Struct, frozen=True, tag=1, array_like=True):
    """Up, first of all: the module is imported, and this is what it can do."""

    entries: list[ManifestEntry]


class Unimportable(Struct, frozen=True, tag=2, array_like=True):
    """Up, first and last: the module cannot be imported; the text says where and why."""

    text: str


class Begin(Struct, frozen=True, tag=3, array_like=True):
    """Up, answered by `Standing`: an execution wants to begin an effect."""

    number: int
    attempt_id: str
    wanted: BeginEffect


class End(Struct, frozen=True, tag=4, array_like=True):
    """Up, answered by `Durable`: what became of an effect."""

    number: int
    attempt_id: str
    ended: EndEffect


class FindStep(Struct, frozen=True, tag=5, array_like=True):
    """Up, answered by `Found`: was this step done before in this run?"""

    number: int
    attempt_id: str
    name: str


class SaveStep(Struct, frozen=True, tag=6, array_like=True):
    """Up, answered by `Durable`: a step's result."""

    number: int
    attempt_id: str
    saved: Saved


class SaveCheckpoint(Struct, frozen=True, tag=7, array_like=True):
    """Up, answered by `Durable`: where the attempt can continue."""

    number: int
    attempt_id: str
    value: object
    portable: bool


class HoldLease(Struct, frozen=True, tag=8, array_like=True):
    """Up, answered by `Held`: is the lease certainly held for so long?"""

    number: int
    attempt_id: str
    seconds: float


class Advance(Struct, frozen=True, tag=9, array_like=True):
    """Up, never answered: how far an attempt has come."""

    attempt_id: str
    progress: Progress


class Ended(Struct, frozen=True, tag=10, array_like=True):
    """Up: the capability's code has ended; nothing more comes from this attempt."""

    attempt_id: str
    finished: Finished


class Run(Struct, frozen=True, tag=20, array_like=True):
    """Down: execute this."""

    work: Work


class Cancel(Struct, frozen=True, tag=21, array_like=True):
    """Down: tell the code to stop."""

    attempt_id: str


class LeaseMoved(Struct, frozen=True, tag=22, array_like=True):
    """Down: the newest local deadline on the boot-time clock."""

    attempt_id: str
    fenced_at_boot: float


class Stop(Struct, frozen=True, tag=23, array_like=True):
    """Down: the worker is on its way out."""


class Standing(Struct, frozen=True, tag=24, array_like=True):
    """Down, answers `Begin`."""

    number: int
    standing: EffectStanding


class Found(Struct, frozen=True, tag=25, array_like=True):
    """Down, answers `FindStep`."""

    number: int
    saved: Saved | None


class Durable(Struct, frozen=True, tag=26, array_like=True):
    """Down, answers `End`, `SaveStep` and `SaveCheckpoint`: it is on disk."""

    number: int


class Held(Struct, frozen=True, tag=27, array_like=True):
    """Down, answers `HoldLease`."""

    number: int
    held: bool


class Refusal(Struct, frozen=True, tag=28, array_like=True):
    """Down, answers any question: it was not done; `code` is that of the error tree."""

    number: int
    code: str
    text: str


Question = Begin | End | FindStep | SaveStep | SaveCheckpoint | HoldLease
Answer = Standing | Found | Durable | Held | Refusal
Up = Declared | Unimportable | Question | Advance | Ended
Down = Run | Cancel | LeaseMoved | Stop | Answer

F = TypeVar("F")
_ENCODER = msgspec.msgpack.Encoder()


def encode_frame(message: Up | Down) -> bytes:
    """Return the frame of a message.

    Raises:
        TooLarge: It is beyond what a frame holds; nothing was written.
    """
    try:
        body = _ENCODER.encode(message)
    except OverflowError:
        body = _ENCODER.encode(_with_big_integers(msgspec.to_builtins(message)))
    if len(body) > FRAME_BYTES_MAX:
        raise TooLarge(f"a message of {len(body)} bytes is over the frame's limit of {FRAME_BYTES_MAX}")
    return len(body).to_bytes(_HEADER_BYTES, "big") + body


class FrameReader(Generic[F]):
    """Takes bytes as they come and returns the messages that are complete."""

    def __init__(self, decoder: "msgspec.msgpack.Decoder[F]") -> None:
        """Start at the boundary of a frame."""
        self._decoder = decoder
        self._buffer = bytearray()

    def feed(self, data: bytes | memoryview) -> list[F]:
        """Return the messages that these bytes complete, in order.

        Raises:
            ValueError: It is no frame of this protocol; what comes after it cannot be read.
        """
        self._buffer += data
        messages: list[F] = []
        start, size = 0, len(self._buffer)
        with memoryview(self._buffer) as view:
            while size - start >= _HEADER_BYTES:
                length = int.from_bytes(view[start : start + _HEADER_BYTES], "big")
                if length > FRAME_BYTES_MAX:
                    raise ValueError(f"a frame of {length} bytes is over the limit of {FRAME_BYTES_MAX}")
                end = start + _HEADER_BYTES + length
                if end > size:
                    break
                messages.append(self._decoder.decode(view[start + _HEADER_BYTES : end]))
                start = end
        if start:
            del self._buffer[:start]
        return messages


def _big_integer(code: int, data: memoryview) -> object:
    if code != _BIG_INTEGER:
        raise ValueError(f"extension {code} is not known")
    return int(bytes(data))


def _with_big_integers(value: object) -> object:
    """Return the value with each integer that MessagePack cannot carry as an extension."""
    if isinstance(value, dict):
        return {key: _with_big_integers(item) for key, item in cast("dict[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_with_big_integers(item) for item in cast("list[object]", value)]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return msgspec.msgpack.Ext(_BIG_INTEGER, str(value).encode())
    return value


_UP: "msgspec.msgpack.Decoder[Up]" = msgspec.msgpack.Decoder(Up, ext_hook=_big_integer)
_DOWN: "msgspec.msgpack.Decoder[Down]" = msgspec.msgpack.Decoder(Down, ext_hook=_big_integer)


def read_up() -> FrameReader[Up]:
    """Return a reader for the supervisor's side."""
    return FrameReader(_UP)


def read_down() -> FrameReader[Down]:
    """Return a reader for the executor's side."""
    return FrameReader(_DOWN)
