"""Lines that say the same again: shown at once, counted for a while, then shown with the count."""

from collections.abc import Hashable
from itertools import takewhile
from typing import Generic, TypeVar

WINDOW_S = 10.0
KEPT_MAX = 256  # Bound: how many different lines are remembered; beyond it the oldest may be shown twice

L = TypeVar("L", bound=Hashable)


class Repeats(Generic[L]):
    """Remembers which lines were shown lately; time is an argument in seconds."""

    def __init__(self, window_s: float = WINDOW_S, kept_max: int = KEPT_MAX) -> None:
        """Start with nothing shown."""
        self._window_s = window_s
        self._kept_max = kept_max
        self._shown: dict[L, tuple[float, int]] = {}  # the window's end and the repeats in it, oldest first
        self._repeated = 0  # how many of them were

    def take(self, line: L, now: float) -> list[tuple[L, int]]:
        """Return what is to be shown now: earlier lines with their repeats, and this one if it is new."""
        due = self.due(now)
        if line in self._shown:
            until, count = self._shown[line]
            self._shown[line] = (until, count + 1)
            self._repeated += not count
            return due
        while len(self._shown) >= self._kept_max:
            oldest = next(iter(self._shown))
            due += [(oldest, count)] if (count := self._end(oldest)) else []
        self._shown[line] = (now + self._window_s, 0)
        return [*due, (line, 0)]

    def due(self, now: float) -> list[tuple[L, int]]:
        """End the windows that are over and return the lines that were repeated in them."""
        # All windows are of one length, so none behind the first that lasts is over.
        over = [line for line, _ in takewhile(lambda shown: shown[1][0] <= now, self._shown.items())]
        return [(line, count) for line in over if (count := self._end(line))]

    def flush(self) -> list[tuple[L, int]]:
        """End all windows."""
        return self.due(float("inf"))

    def next_end(self) -> float | None:
        """Return when the next window ends in which there were repeats."""
        return (
            next((until for until, count in self._shown.values() if count), None) if self._repeated else None
        )

    def _end(self, line: L) -> int:
        """Forget a line and return its repeats."""
        _, count = self._shown.pop(line)
        self._repeated -= count > 0
        return count
