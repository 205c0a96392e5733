"""Everything that keeps an attempt from going on: cancels, lost leases, stops, and the kill behind them.

A stop is asked for first and forced after a grace (B10). A cancel is saved before it is acted on. C073
"""

from collections.abc import Sequence
from functools import partial

import anyio
import msgspec
from anyio.abc import TaskGroup

from tenure.core.attempt import Attempt, AttemptState
from tenure.core.errors import InvariantBroken
from tenure.ports.local import LocalTransaction
from tenure.worker.books import Entry, Stage, Why
from tenure.worker.endings import cancelled, handed_back, superseded
from tenure.worker.groups import Inflow
from tenure.worker.settling import Settling
from tenure.worker.tools import Tools


class Stops:
    """Stops attempts, whatever they are at."""

    def __init__(self, tools: Tools, settling: Settling) -> None:
        """End what has not begun by this way of settling."""
        self._tools = tools
        self._settling = settling
        self._cancels: Inflow[Entry] = Inflow()
        self._group: TaskGroup | None = None

    def stop(self, entry: Entry, why: Why) -> None:
        """Tell an execution to stop, and kill it after the grace; the first reason counts, or a loss."""
        if entry.stage not in (Stage.STARTING, Stage.RUNNING):
            return
        first = entry.why is None
        if first or why is Why.LOST:
            entry.why = why
        for let_go in tuple(entry.parked):
            let_go()
        if first and entry.stage is Stage.RUNNING:
            self.press(entry)

    def press(self, entry: Entry) -> None:
        """Ask the code to stop, and arrange for the kill."""
        self._tools.observer.tell("attempt.stopped", attempt_id=entry.id, why=entry.why and entry.why.value)
        self._tools.parts.executor.cancel(entry.id)
        grace_s = self._tools.config.cancel_grace_s
        entry.alarms.append(self._tools.alarms.after(grace_s, partial(self.kill, entry)))

    def kill(self, entry: Entry) -> None:
        """Kill the execution now; its `run` ends with the death."""
        if self._group is None:
            raise InvariantBroken("an execution is to be killed before the runtime runs")
        if entry.stage is Stage.RUNNING:
            self._tools.observer.tell("attempt.killed", attempt_id=entry.id)
            self._group.start_soon(self._tools.parts.executor.kill, entry.id)

    def cancel(self, entry: Entry) -> None:
        """Take note that a cancel was asked for; it is saved first, then acted on."""
        entry.is_cancel_heard = True
        if not entry.attempt.cancel_requested and entry.stage not in (Stage.ENDING, Stage.ENDED):
            self._cancels.put([entry])

    def cancelled(self, entry: Entry) -> None:
        """Act on a cancel that is saved."""
        if entry.stage in (Stage.WAITING, Stage.READY):
            if entry.attempt.state is AttemptState.PENDING:
                self._settling.settle(entry, cancelled("cancelled before it began"))
        else:
            self.stop(entry, Why.CANCELLED)

    def lost(self, entry: Entry) -> None:
        """Act on a lease that is somebody else's by now: it is renewed no more, and what runs is stopped."""
        if entry.is_lost:
            return
        entry.is_lost = True
        if entry.stage is Stage.ENDED:
            return  # the claim ended with the event whose answer is still on its way; nothing is left to stop
        self._tools.observer.tell("lease.lost", attempt_id=entry.id)
        if entry.stage in (Stage.WAITING, Stage.READY):
            pending = entry.attempt.state is AttemptState.PENDING
            self._settling.settle(entry, None if pending else superseded("lost"))
        else:
            self.stop(entry, Why.LOST)

    def hand_back(self, reason: str, *, started_too: bool) -> None:
        """Hand back every attempt that is not executed now; those that had started only if wanted. C112."""
        for entry in self._tools.books:
            if entry.stage in (Stage.WAITING, Stage.READY) and (
                started_too or entry.attempt.state is AttemptState.PENDING
            ):
                self._settling.settle(entry, handed_back(reason))

    def stop_all(self, why: Why) -> None:
        """Stop everything that is executed."""
        for entry in self._tools.books:
            self.stop(entry, why)

    async def run(self) -> None:
        """Save cancels in groups and act on them, and carry out kills, for ever."""
        async with anyio.create_task_group() as self._group:
            while True:
                entries = await self._cancels.take()
                saved = await self._tools.saving.insist(partial(save_cancels, ids=[e.id for e in entries]))
                for entry in entries:
                    if entry.id in saved:
                        entry.attempt = saved[entry.id]
                        self.cancelled(entry)


def save_cancels(tx: LocalTransaction, ids: Sequence[str]) -> dict[str, Attempt]:
    """Save that a cancel was asked for, where anything is left to cancel; return those attempts. C073."""
    changed = {
        attempt.id: msgspec.structs.replace(attempt, cancel_requested=True)
        for attempt in tx.attempts.load(ids).values()
        if not attempt.state.is_final
    }
    tx.attempts.save(list(changed.values()))
    return changed
