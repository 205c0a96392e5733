"""The observer that writes a log: events are handed to a thread of its own, so that telling one never waits.

Whoever reads the log may be slow or gone; a supervisor that waited for it would miss its heartbeats. So an
event is handed over or, when too many are waiting, dropped and counted; the count is shown once there is
room.
"""

import contextlib
import queue
import threading
from collections.abc import Callable
from datetime import datetime
from typing import IO, Self

import msgspec
from msgspec import Struct

from tenure.telemetry.lines import Fields, Render, json_lines, text_lines
from tenure.telemetry.repeats import Repeats

WAITING_MAX = 10_000  # Bound: events handed over and not written yet
LINES_MAX = 64  # Bound: lines in one write
CLOSE_S = 2.0  # Bound: how long the end of a process waits for its last lines


class _Told(Struct, frozen=True):
    """An event as it was told; two with the same name and fields are the same line."""

    name: str
    fields: Fields
    at: datetime
    key: bytes

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Told) and self.key == other.key


class LogObserver:
    """Writes each event as one line; identical ones within ten seconds are counted instead."""

    def __init__(
        self,
        stream: IO[str],
        wall: Callable[[], datetime],
        boot: Callable[[], float],
        *,
        json: bool = False,
        color: bool = False,
    ) -> None:
        """Start the writing thread; how a line looks is decided there, since that loads slowly."""
        self._stream = stream
        self._wall, self._boot = wall, boot
        self._json, self._color = json, color
        self._told: queue.Queue[_Told | None] = queue.Queue(WAITING_MAX)
        self._dropped, self._counting = 0, threading.Lock()
        self._repeats: Repeats[_Told] = Repeats()
        self._lines: list[str] = []
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def tell(self, name: str, **fields: object) -> None:
        """Hand the event over; never waits and never raises."""
        told = _Told(name, fields, self._wall(), _key(name, fields))
        try:
            self._told.put_nowait(told)
        except queue.Full:
            with self._counting:
                self._dropped += 1

    def close(self) -> None:
        """Write what was handed over, as far as that is quick."""
        with contextlib.suppress(queue.Full):
            self._told.put(None, timeout=CLOSE_S)
        self._thread.join(CLOSE_S)

    def __enter__(self) -> Self:
        """Use as a context that closes."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def _write(self) -> None:
        render = json_lines() if self._json else text_lines(color=self._color)
        # A reader that has gone ends the log, not the process that keeps leases.
        with contextlib.suppress(OSError, ValueError):
            while self._step(render):
                if len(self._lines) >= LINES_MAX or self._told.empty():
                    self._write_lines()
            self._show(render, self._repeats.flush())
            self._show_dropped(render)
            self._write_lines()

    def _step(self, render: Render) -> bool:
        """Take one event or the end of a window; False once the log is closed."""
        end = self._repeats.next_end()
        try:
            told = self._told.get(timeout=None if end is None else max(end - self._boot(), 0.0))
        except queue.Empty:
            self._show(render, self._repeats.due(self._boot()))
            return True
        if told is None:
            return False
        self._show(render, self._repeats.take(told, self._boot()))
        if self._told.empty():
            self._show_dropped(render)
        return True

    def _show_dropped(self, render: Render) -> None:
        with self._counting:
            dropped, self._dropped = self._dropped, 0
        if dropped:
            self._line(render, "log.dropped", {"lines": dropped}, 0)

    def _show(self, render: Render, lines: list[tuple[_Told, int]]) -> None:
        for told, repeated in lines:
            self._line(render, told.name, told.fields, repeated, told.at)

    def _line(
        self, render: Render, name: str, fields: Fields, repeated: int, at: datetime | None = None
    ) -> None:
        self._lines.append(render(name, fields, at or self._wall(), repeated) + "\n")

    def _write_lines(self) -> None:
        """Write what was rendered: many lines at once when they come faster than they can be written."""
        if self._lines:
            self._stream.write("".join(self._lines))
            self._stream.flush()
            self._lines.clear()


def _key(name: str, fields: Fields) -> bytes:
    """Return what makes two lines the same."""
    return msgspec.msgpack.encode([name, {key: repr(value) for key, value in fields.items()}])
