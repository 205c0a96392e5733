"""The service's own loops: pulse, dispatch and janitor. Each step is one transaction.

Each wait has a bound.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

import anyio

from tenure.core.command import Command
from tenure.core.errors import StoreUnavailable
from tenure.core.faultpoints import FaultPoint
from tenure.ports.clock import Clock
from tenure.ports.observer import Observer
from tenure.service import calm, dispatch, janitor
from tenure.service.gate import Gate
from tenure.service.injected import Injected
from tenure.service.streams import Streams
from tenure.service.waiting import Wakeup

PULSE_S = 0.5  # Half of what D19 asks, so that one slow commit does not break calm
SWEEP_S = 0.5
LOOK_AGAIN_S = 1.0


class Upkeep:
    """Runs beside the calls until cancelled.

    A store that cannot be used is told and tried again at the next step.
    """

    def __init__(
        self,
        gate: Gate,
        injected: Injected,
        clock: Clock,
        observer: Observer,
        streams: Streams,
        server: str,
    ) -> None:
        """Take the gate to the store, and the streams to feed."""
        self._gate = gate
        self._injected = injected
        self._clock = clock
        self._observer = observer
        self._streams = streams
        self._server = server
        self._resume: tuple[datetime, str] | None = None

    async def run(self) -> None:
        """Beat, dispatch and sweep until cancelled."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._every, PULSE_S, self.pulse)
            group.start_soon(self._every, SWEEP_S, self.sweep)
            group.start_soon(self._dispatching)

    async def pulse(self) -> None:
        """Touch the pulse once."""
        await self._gate.write(lambda tx: calm.beat(tx, self._clock, self._server), urgent=True)

    async def sweep(self) -> None:
        """Do one bounded step of the janitor."""
        connected, resume = self._streams.connected(), self._resume
        swept = await self._gate.write(lambda tx: janitor.sweep(tx, self._injected, connected, resume))
        self._resume = swept.resume
        self._push(swept.commands)

    async def dispatch(self) -> bool:
        """Grant what can be granted now, and say whether anything was."""
        connected = self._streams.connected()
        if not connected:
            return False
        offered = await self._gate.write(lambda tx: dispatch.dispatch(tx, self._injected, connected))
        self._push(offered.commands)
        return bool(offered.commands)

    def _push(self, commands: Mapping[str, list[Command]]) -> None:
        if commands:
            self._injected.faults.reach(FaultPoint.CLAIM_COMMITTED)
            self._streams.push(dict(commands))

    async def _dispatching(self) -> None:
        wakeup = Wakeup()
        leave = self._injected.notices.subscribe("board", wakeup.setter)
        try:
            while True:
                await self._bearing(self.dispatch)
                await wakeup.wait(LOOK_AGAIN_S)
        finally:
            leave()

    async def _every(self, seconds: float, step: Callable[[], Awaitable[object]]) -> None:
        while True:
            await self._bearing(step)
            await self._clock.sleep(seconds)

    async def _bearing(self, step: Callable[[], Awaitable[object]]) -> None:
        """Do a step; a store that is certain to have committed nothing is told and tried again later."""
        try:
            await step()
        except StoreUnavailable as error:
            self._observer.tell("store.unavailable", detail=error.text)
