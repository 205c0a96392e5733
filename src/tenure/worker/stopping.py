"""The way out: nothing new, an end for what runs, the last events, and only then no heartbeats. C051 to C057.

A kill at any moment of it is an ordinary crash (B07).
"""

import asyncio
from collections.abc import Callable

from tenure.core.errors import DeliveryFailed, TenureError
from tenure.worker.books import Why
from tenure.worker.keeper import Keeper
from tenure.worker.progress import Progressing
from tenure.worker.sender import Sender
from tenure.worker.stops import Stops
from tenure.worker.tools import Tools


class Stopping:
    """Winds a worker up once it is asked to; asked again, it cancels what still runs."""

    def __init__(
        self,
        tools: Tools,
        stops: Stops,
        keeper: Keeper,
        sender: Sender,
        progressing: Progressing,
        leave: Callable[[TenureError | None], None],
    ) -> None:
        """Call `leave` at the end, with what kept the last events from being delivered, if anything did."""
        self._tools = tools
        self._stops = stops
        self._keeper = keeper
        self._sender = sender
        self._progressing = progressing
        self._leave = leave
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Stop; asked a second time, cancel what runs; after that nothing changes. C057."""
        if not self._asked.is_set():
            self._asked.set()
        elif self._tools.books.is_stopping:
            self._cancel()

    async def run(self) -> None:
        """Wait until asked, then wind up in order."""
        await self._asked.wait()
        tools, config = self._tools, self._tools.config
        tools.observer.tell("worker.stopping", on_stop=config.on_stop, grace_s=config.grace_s)
        # 1. Take nothing new, and tell everybody. A crash from here on is an ordinary one.
        tools.books.is_stopping = True
        tools.parts.executor.stop()
        self._keeper.soon()
        self._stops.hand_back("the worker is stopping", started_too=True)
        # 2. Wait for what runs, for as long as it may take.
        if config.on_stop == "cancel":
            self._cancel()
        elif config.grace_s is not None:
            tools.alarms.after(config.grace_s, self._cancel)
        await tools.books.quiet()
        await self._progressing.flush()
        # 3. Deliver what is left. 4. Only now let heartbeats end, and deregister.
        self._leave(await self._deliver())

    def _cancel(self) -> None:
        self._stops.stop_all(Why.STOPPING)

    async def _deliver(self) -> TenureError | None:
        """Flush the outbox until a flush was complete, within the bound; return what kept it from that."""
        error: TenureError | None = None
        try:
            with self._tools.alarms.bound(self._tools.config.flush_s, "the last events"):
                while (error := await self._sender.flush()) is not None:
                    pass
        except DeliveryFailed as late:
            return error or late
        return None
