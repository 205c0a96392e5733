"""An attempt's life in this process: ready, started, executed, ended or started again.

One live execution per task here: a newer generation waits until the older one is shown dead. C121 D25
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

import anyio
from anyio.abc import TaskGroup

from tenure.core.attempt import Attempt, AttemptState
from tenure.core.errors import DiskFull, InvalidConfig, InvariantBroken, Unavailable
from tenure.core.event import LostBody
from tenure.core.execution import ManifestEntry, Work
from tenure.core.faultpoints import FaultPoint
from tenure.ports.executor import Execution, ExecutorDied
from tenure.worker.books import Entry, Stage, Why
from tenure.worker.endings import (
    cancelled,
    died,
    handed_back,
    outcome_of,
    outcome_of_kill,
    superseded,
    unknown,
)
from tenure.worker.groups import Inflow
from tenure.worker.limits import Limits
from tenure.worker.settling import Settling
from tenure.worker.starting import Start, save_starts
from tenure.worker.stops import Stops
from tenure.worker.tools import Tools

HOST_AGAIN_S = 30.0
KILLS_MAX = 2  # Bound: how often a cancelled attempt is executed again to settle its effects


class Runner:
    """Starts what is ready while slots are free, executes it, and decides what a death means."""

    def __init__(
        self,
        tools: Tools,
        settling: Settling,
        stops: Stops,
        limits: Limits,
        executions: Callable[[Entry], Execution],
        ask_again: Callable[[Entry], None],
        changed: Callable[[str], None],
    ) -> None:
        """Give each execution what `executions` makes for it.

        `ask_again` has a pending attempt acknowledged anew (D13); `changed` is told why the worker cannot
        go on with the code it has.
        """
        self._tools = tools
        self._books = tools.books
        self._settling = settling
        self._stops = stops
        self._limits = limits
        self._executions = executions
        self._ask_again = ask_again
        self._changed = changed
        self._ready: deque[Entry] = deque()
        self._starting: Inflow[tuple[Entry, LostBody | None]] = Inflow()
        self._group: TaskGroup | None = None

    def offer(self, entry: Entry) -> None:
        """Have an attempt started as soon as a slot is free, unless this worker starts nothing any more."""
        entry.stage = Stage.READY
        pending = entry.attempt.state is AttemptState.PENDING
        if self._books.is_stopping or (self._books.is_drained and pending):
            self._settling.settle(entry, handed_back("the worker takes nothing new"))
            return
        self._ready.append(entry)
        self.fill()

    def fill(self) -> None:
        """Start what can be started now; what cannot keeps its place, and so does all on a full disk."""
        if self._books.is_full:
            return
        waiting: list[Entry] = []
        while self._ready and len(self._books.live) < self._tools.config.slots:
            entry = self._ready.popleft()
            if entry.stage is not Stage.READY:
                continue  # It was handed back, cancelled or lost meanwhile
            if self._may_start(entry):
                entry.stage = Stage.STARTING
                self._books.live[entry.attempt.task_id] = entry
                self._starting.put([(entry, None)])
            elif entry.stage is Stage.READY:
                waiting.append(entry)
        self._ready.extendleft(reversed(waiting))

    async def run(self) -> None:
        """Commit starts in groups and execute them, for ever; cancelling this kills every execution."""
        async with anyio.create_task_group() as self._group:
            while True:
                await self._start(await self._starting.take())

    def _may_start(self, entry: Entry) -> bool:
        other = self._books.live.get(entry.attempt.task_id)
        if other is not None:
            # Its lease is lost, since this one has a newer one; it is killed, not awaited.
            self._stops.lost(other)
            self._stops.kill(other)
            return False
        if self._holds(entry):
            return True
        if entry.attempt.state is AttemptState.PENDING:
            entry.stage = Stage.WAITING
            self._ask_again(entry)
        return False  # One that had started before waits for the next heartbeat

    def _holds(self, entry: Entry) -> bool:
        return entry.deadline is not None and self._tools.alarms.now() < entry.deadline

    async def _start(self, group: Sequence[tuple[Entry, LostBody | None]]) -> None:
        again = {entry.id for entry, _ in group if entry.attempt.epoch > 0 and entry.started > 0}
        due = [pair for pair in group if pair[0].id in again or self._holds(pair[0])]
        for entry, _ in group:
            if entry.id not in again and not self._holds(entry):
                self._release(entry)
                self.offer(entry)
        starts = [self._start_of(entry, death) for entry, death in due]
        save = self._tools.saving.insist if again else self._tools.saving.write
        try:
            attempts = await save(partial(save_starts, starts=starts))
        except DiskFull:
            for entry, _ in due:  # Nothing has happened; they wait, renewed, until there is room
                self._release(entry)
                self.offer(entry)
            return
        for entry, _ in due:
            self._started(entry, attempts[entry.id])

    def _start_of(self, entry: Entry, death: LostBody | None) -> Start:
        entry.declared = self._tools.declared(entry.attempt.spec, entry.attempt.manifest_digest)
        goes_on = not (self._books.is_stopping and entry.started > 0) and not entry.is_lost
        return Start(entry.id, entry.declared, self._settling.stamp, death, goes_on, self._tools.is_proved)

    def _started(self, entry: Entry, attempt: Attempt) -> None:
        """Go on with what was saved: execute, or note the end, or end what was stopped meanwhile."""
        runs = attempt.state is AttemptState.RUNNING and attempt.epoch > entry.attempt.epoch
        pending = entry.attempt.state is AttemptState.PENDING
        if attempt.event_sequence > entry.attempt.event_sequence:
            self._settling.told()
        entry.attempt = attempt
        if attempt.state.is_final:
            self._settling.ended(entry, attempt)
            self._release(entry)
            return
        if runs:
            self._tools.reach(FaultPoint.RUNNING_COMMITTED, entry.id)
        if entry.is_lost:
            self._settling.settle(entry, None if pending and not runs else superseded("not_executed"))
        elif not runs or entry.why is Why.STOPPING:
            self._settling.settle(entry, handed_back("the worker is stopping"))
        elif entry.why is Why.CANCELLED and pending:
            self._settling.settle(entry, cancelled("cancelled before it began"))
        else:
            entry.stage = Stage.RUNNING
            self._execute(entry)
            return
        self._release(entry)

    def _execute(self, entry: Entry) -> None:
        if self._group is None or entry.declared is None:
            raise InvariantBroken(f"attempt {entry.id} is to be executed, and nothing is there to do it")
        entry.started = entry.last_sign = self._tools.alarms.now()
        entry.progress = None
        entry.progress_count = entry.progress_saved = 0
        self._limits.watch(entry)
        self._group.start_soon(self._live, entry, entry.declared)

    async def _live(self, entry: Entry, declared: ManifestEntry) -> None:
        loop = asyncio.get_running_loop()
        # Both as soon as the work is on its way: `run` hands it over before it waits for anything.
        loop.call_soon(self._tools.reach, FaultPoint.HANDED_TO_EXECUTOR, entry.id)
        if entry.why is not None or entry.attempt.cancel_requested:
            entry.why = entry.why or Why.CANCELLED
            loop.call_soon(self._stops.press, entry)
        try:
            finished = await self._tools.parts.executor.run(
                self._work(entry, declared), self._executions(entry)
            )
        except ExecutorDied as death:
            self._after_death(entry, death)
            return
        except (Unavailable, OSError) as error:
            self._after_host_fault(entry, str(error))
        except InvalidConfig as error:
            self._settling.settle(entry, handed_back(error.text))
            self._changed(error.text)
        else:
            self._books.host_works()
            self._books.ran(self._tools.alarms.now() - entry.started)
            why = entry.why or (Why.CANCELLED if entry.is_cancel_heard else None)
            self._settling.settle(entry, outcome_of(finished, why, entry.host_fault))
        self._release(entry)

    def _work(self, entry: Entry, declared: ManifestEntry) -> Work:
        attempt = entry.attempt
        return Work(
            attempt_id=attempt.id,
            task_id=attempt.task_id,
            generation=attempt.generation,
            run=attempt.run,
            epoch=attempt.epoch,
            capability=declared.name,
            version=declared.version,
            input=attempt.spec.input,
            isolation="process" if entry.is_alone else declared.isolation,
            losses=attempt.losses,
            checkpoint=attempt.checkpoint,
            checkpoint_saved=attempt.checkpoint_saved,
            store_epoch=self._tools.store_epoch,
            fenced_at_boot=entry.deadline,
        )

    def _after_death(self, entry: Entry, death: ExecutorDied) -> None:
        """Decide what a death means: asked for, or an accident, which is told and recovered from."""
        self._limits.clear(entry)
        self._tools.observer.tell("executor.died", attempt_id=entry.id, error=str(death), alone=death.alone)
        why = entry.why
        if why not in (None, Why.CANCELLED):
            self._settling.settle(entry, outcome_of_kill(why, entry.attempt.rule))
            self._release(entry)
            return
        told = None
        if why is Why.CANCELLED:
            entry.kills += 1
            if entry.kills >= KILLS_MAX:
                self._settling.settle(entry, unknown(("attempt",), "cancelled and killed, again and again"))
                self._release(entry)
                return
        elif death.alone:
            told = died(death.cause, death.signal)
        entry.why = None
        entry.is_alone = True  # Whoever dies once is executed by itself from then on
        entry.stage = Stage.STARTING
        self._starting.put([(entry, told)])

    def _after_host_fault(self, entry: Entry, text: str) -> None:
        """Give an attempt back that this host could not execute; after some in a row, take no more (B37)."""
        self._settling.settle(entry, handed_back(f"this host could not execute it: {text}"))
        self._tools.observer.tell("host.failed", attempt_id=entry.id, error=text)
        if self._books.host_failed():
            self._tools.observer.tell("worker.sickened", error=text, again_s=HOST_AGAIN_S)
            self._tools.alarms.after(HOST_AGAIN_S, self._books.try_host_again)

    def _release(self, entry: Entry) -> None:
        """Free the slot, and start what waits for it."""
        self._limits.clear(entry)
        if self._books.live.get(entry.attempt.task_id) is entry:
            del self._books.live[entry.attempt.task_id]
        self.fill()
