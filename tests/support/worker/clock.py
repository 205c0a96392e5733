"""A clock that moves only when a test says so; whoever sleeps on it wakes when its time has come."""

import asyncio
import heapq
from datetime import UTC, datetime, timedelta
from itertools import count

START = datetime(2026, 1, 1, tzinfo=UTC)


class VirtualClock:
    """Wall and boot-time clock of one process under test."""

    def __init__(self) -> None:
        self._elapsed = 0.0
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []

    def wall(self) -> datetime:
        return START + timedelta(seconds=self._elapsed)

    def boot(self) -> float:
        return 1_000.0 + self._elapsed

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), woken))
        await woken.wait()

    def advance(self, seconds: float) -> None:
        """Let time pass; those whose time has come run at the next turn of the loop."""
        self._elapsed += seconds
        while self._sleepers and self._sleepers[0][0] <= self._elapsed:
            heapq.heappop(self._sleepers)[2].set()
