"""Lines that say the same again: shown at once, counted for a while, then shown with the count."""

from collections.abc import Hashable
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

    def take(self, line: L, now: float) -> list[tuple[L, int]]:
        """Return what is to be shown now: earlier lines with their repeats, and this one if it is new."""
        due = self.due(now)
        if line in self._shown:
            until, count = self._shown[line]
            self._shown[line] = (until, count + 1)
            return due
        while len(self._shown) >= self._kept_max:
            oldest = next(iter(self._shown))
            _, count = self._shown.pop(oldest)
            due += [(oldest, count)] if count else []
        self._shown[line] = (now + self._window_s, 0)
        return [*due, (line, 0)]

    def due(self, now: float) -> list[tuple[L, int]]:
        """End the windows that are over and return the lines that were repeated in them."""
        over = [line for line, (until, _) in self._shown.items() if until <= now]
        ended = [(line, self._shown.pop(line)[1]) for line in over]
        return [(line, count) for line, count in ended if count]

    def flush(self) -> list[tuple[L, int]]:
        """End all windows."""
        return self.due(float("inf"))

    def next_end(self) -> float | None:
        """Return when the next window ends in which there were repeats."""
        return min((until for until, count in self._shown.values() if count), default=None)
