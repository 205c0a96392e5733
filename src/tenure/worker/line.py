"""The supervisor's end of the line to one executor.

Whatever comes is read in small pieces, so that an executor that floods its line takes its turn like any
other; and while many of its questions wait for their answers, nothing more is read.
"""

import asyncio
from collections.abc import Callable
from typing import Final, cast

from tenure.wire.executor import Down, LeaseMoved, Up, encode_frame, read_up

READ_BYTES: Final = 64 * 1024  # Bound: what one executor gets of one turn of the loop


class Line(asyncio.BufferedProtocol):
    """Frames over one end of a socket pair."""

    def __init__(self, take: Callable[[list[Up]], None], closed: Callable[[], None]) -> None:
        """Hand messages to `take`; `closed` is called once, when nothing more can come."""
        self._take = take
        self._closed = closed
        self._reader = read_up()
        self._buffer = bytearray(READ_BYTES)
        self._view = memoryview(self._buffer)
        self._transport: asyncio.Transport | None = None
        self._unsent: list[bytes] = []
        self._moved: dict[str, float] = {}
        self._will_flush = False
        self._is_full = False
        self._is_over = False
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, with what was sent already."""
        self._transport = cast("asyncio.Transport", transport)
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Say that nothing more can come."""
        self._transport = None
        self._is_over = True
        self._unsent.clear()
        self._closed()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Lend the one buffer."""
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        """Take what was read; what cannot be read ends the line, and with it the executor."""
        try:
            messages = self._reader.feed(self._view[:nbytes])
        except ValueError:
            self.close()
            return
        if messages:
            self._take(messages)

    def pause_writing(self) -> None:
        """Note that the executor does not read."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Send what has waited."""
        self._is_full = False
        self._flush()

    def send(self, message: Down) -> None:
        """Send a message: the first of a turn of the loop at once, the others of it in one write."""
        if self._is_over:
            return
        self._unsent.append(encode_frame(message))
        if not self._will_flush:
            self._will_flush = True
            self._loop.call_soon(self._end_turn)
            self._flush()

    def move_lease(self, attempt_id: str, fenced_at_boot: float) -> None:
        """Send a deadline; to an executor that does not read only the newest is kept. Never waits."""
        self._moved[attempt_id] = fenced_at_boot
        if not self._will_flush:
            self._will_flush = True
            self._loop.call_soon(self._end_turn)

    def forget(self, attempt_id: str) -> None:
        """Drop what has waited for an attempt that is over."""
        self._moved.pop(attempt_id, None)

    def pause_reading(self) -> None:
        """Read nothing more for now."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on."""
        if self._transport is not None:
            self._transport.resume_reading()

    def close(self) -> None:
        """Close at once; what was not sent is dropped."""
        if self._transport is not None:
            self._transport.abort()

    def _end_turn(self) -> None:
        self._will_flush = False
        self._flush()

    def _flush(self) -> None:
        if self._transport is None:
            return
        if self._moved and not self._is_full:
            self._unsent += [encode_frame(LeaseMoved(*item)) for item in self._moved.items()]
            self._moved.clear()
        if self._unsent:
            data, self._unsent = b"".join(self._unsent), []
            self._transport.write(data)
