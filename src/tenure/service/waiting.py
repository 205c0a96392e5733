"""An event that any thread may set and one event loop waits for."""

import asyncio
from collections.abc import Callable

import anyio


class Wakeup:
    """A hint to one waiter; many settings before it looks are one."""

    def __init__(self) -> None:
        """Belong to the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._told = False

    def set(self) -> None:
        """Wake the waiter; safe from any thread."""
        if self._told:
            return
        self._told = True
        try:
            self._loop.call_soon_threadsafe(self._event.set)
        except RuntimeError:  # The loop is closed: nobody waits any more
            self._told = False

    async def wait(self, seconds: float) -> bool:
        """Wait until set, at most so long; say whether it was set."""
        with anyio.move_on_after(seconds):
            await self._event.wait()
        was_set = self._event.is_set()
        self._event.clear()
        self._told = False
        return was_set

    @property
    def setter(self) -> Callable[[], None]:
        """The function to subscribe with."""
        return self.set
