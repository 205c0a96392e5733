"""Whatever waits for a time, in one place: one task sleeps to the earliest moment that anybody named."""

import asyncio
import heapq
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from typing import NoReturn

from anyio import CancelScope

from tenure.core.errors import DeliveryFailed
from tenure.ports.clock import Clock

_IDLE_MIN = 1_000  # so many alarms that were called off may lie in the heap before it is cleared


class Alarm:
    """A moment on the boot-time clock at which a function is called, unless it is called off before."""

    __slots__ = ("due", "ring")

    def __init__(self, due: float, ring: Callable[[], object] | None) -> None:
        """Name the moment and the function."""
        self.due = due
        self.ring = ring


class Alarms:
    """Calls functions at moments of the boot-time clock; they run on the event loop and must not wait."""

    def __init__(self, clock: Clock) -> None:
        """Judge by this clock; nothing rings before `run` runs."""
        self._clock = clock
        self._order = count()
        self._heap: list[tuple[float, int, Alarm]] = []
        self._called_off = 0
        self._sleep: CancelScope | None = None
        self._changed = asyncio.Event()

    def now(self) -> float:
        """Return seconds on the boot-time clock."""
        return self._clock.boot()

    def at(self, due: float, ring: Callable[[], object]) -> Alarm:
        """Have a function called once the clock has reached the moment."""
        alarm = Alarm(due, ring)
        heapq.heappush(self._heap, (due, next(self._order), alarm))
        if self._heap[0][2] is alarm:
            self._look_again()
        return alarm

    def after(self, seconds: float, ring: Callable[[], object]) -> Alarm:
        """Have a function called after so many seconds."""
        return self.at(self.now() + seconds, ring)

    def call_off(self, alarm: Alarm | None) -> None:
        """Have it not called any more; calling off twice, or too late, is nothing."""
        if alarm is None or alarm.ring is None:
            return
        alarm.ring = None
        self._called_off += 1
        if self._called_off > max(_IDLE_MIN, len(self._heap) // 2):
            self._heap = [entry for entry in self._heap if entry[2].ring is not None]
            heapq.heapify(self._heap)
            self._called_off = 0

    async def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""
        over = asyncio.Event()
        alarm = self.after(seconds, over.set)
        try:
            await over.wait()
        finally:
            self.call_off(alarm)

    @contextmanager
    def bound(self, seconds: float, what: str) -> Generator[None]:
        """Give what is awaited inside so many seconds.

        Raises:
            DeliveryFailed: They have passed.
        """
        with CancelScope() as scope:
            alarm = self.after(seconds, scope.cancel)
            try:
                yield
            finally:
                self.call_off(alarm)
        if scope.cancelled_caught:
            raise DeliveryFailed(f"no answer to {what} within {seconds:g} s")

    async def run(self) -> NoReturn:
        """Sleep to the earliest moment and call what is due, for ever."""
        while True:
            self._ring()
            self._changed.clear()
            if not self._heap:
                await self._changed.wait()
                continue
            with CancelScope() as self._sleep:
                await self._clock.sleep(self._heap[0][0] - self.now())
            self._sleep = None

    def _look_again(self) -> None:
        self._changed.set()
        if self._sleep is not None:
            self._sleep.cancel()

    def _ring(self) -> None:
        now = self.now()
        while self._heap and (self._heap[0][2].ring is None or self._heap[0][0] <= now):
            alarm = heapq.heappop(self._heap)[2]
            if alarm.ring is None:
                self._called_off -= 1
                continue
            ring, alarm.ring = alarm.ring, None
            ring()
