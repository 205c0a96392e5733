"""Hints that something changed; never the fact. Everything told is also polled slowly."""

from collections.abc import Callable
from typing import Protocol


class Notices(Protocol):
    """Wakes whoever waits for a topic: `task:ID`, `worker:ID`, `board`."""

    def tell(self, topic: str) -> None:
        """Wake the topic's waiters; safe from any thread, never blocks."""
        ...

    def subscribe(self, topic: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` on each notice until the returned function is called."""
        ...
