"""Clocks, injected everywhere; nothing else reads one."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The process's clocks. They may make a worker give up, never take over (D14)."""

    def wall(self) -> datetime:
        """Return the wall clock's instant, aware, UTC. Only a store judges by it."""
        ...

    def boot(self) -> float:
        """Return seconds on a clock that never steps and includes suspend."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; a virtual clock jumps."""
        ...
