"""What an execution asks of the supervisor: effects, steps, checkpoints, progress, its lease. C074, D16."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeVar

from tenure.core.attempt import Attempt, LocalEffect, LocalEffectState
from tenure.core.checkpoint import Progress
from tenure.core.effect import WitnessRequest, WitnessStanding, request_id
from tenure.core.errors import DiskFull, TenureError
from tenure.core.execution import BeginEffect, EffectStanding, EndEffect, Saved
from tenure.core.faultpoints import FaultPoint
from tenure.ports.local import LocalTransaction
from tenure.worker import ledger
from tenure.worker.books import Entry, Why
from tenure.worker.keeper import Keeper
from tenure.worker.progress import Progressing, writing
from tenure.worker.sender import Sender
from tenure.worker.session import Sessions
from tenure.worker.settling import Settling
from tenure.worker.stops import Stops
from tenure.worker.tools import Tools
from tenure.worker.witnesses import Witnessed, Witnesses

T = TypeVar("T")
Code = Literal["lease_lost", "cancelled", "mismatch", "abandoned"]


class Services:
    """What the executions of a worker are answered from."""

    def __init__(
        self,
        tools: Tools,
        sessions: Sessions,
        settling: Settling,
        stops: Stops,
        sender: Sender,
        keeper: Keeper,
    ) -> None:
        """Join them, with witnesses and progress of their own."""
        self.tools = tools
        self.sessions = sessions
        self.stamp = settling.stamp
        self.stops = stops
        self.sender = sender
        self.keeper = keeper
        self.witnesses = Witnesses(tools, sessions)
        self.progressing = Progressing(tools, keeper.progressed)

    def execution(self, entry: Entry) -> "Executing":
        """Return what answers the execution that begins now."""
        return Executing(self, entry)


class Executing:
    """One execution of one attempt, as its executor sees the runtime."""

    def __init__(self, services: Services, entry: Entry) -> None:
        """Answer for the attempt as it runs now; a later execution gets another one."""
        self._services = services
        self._tools = services.tools
        self._entry = entry
        self._epoch = entry.attempt.epoch

    async def begin_effect(self, wanted: BeginEffect) -> EffectStanding:
        """Look, intend, have it witnessed; `go` is answered while the lease is certainly held."""
        why = self._entry.why
        if why not in (None, Why.CANCELLED):  # After a cancel, what is in doubt may still be settled
            return self._refused(wanted, "lease_lost" if why is Why.LOST else "cancelled")
        operation = partial(ledger.enter_effect, who=self._who(), wanted=wanted)
        entrance = await self._written(operation)
        self._sign()
        match entrance.kind:
            case "applied":
                return self._applied(wanted, entrance.entry)
            case "settle":
                return self._in_doubt(wanted, "ended")
            case "mismatch":
                return self._refused(wanted, "mismatch", entrance.text)
            case "abandoned":
                return self._refused(wanted, "abandoned")
            case "ask":
                self._tools.reach(FaultPoint.INTENT_SAVED, self._entry.id)
                return await self._permitted(wanted, entrance)

    async def end_effect(self, ended: EndEffect) -> None:
        """Save an effect's outcome and its event; on a full disk into the reserve, whatever it takes."""
        stamp = self._services.stamp()
        operation = partial(ledger.leave_effect, who=self._who(), ended=ended, stamp=stamp)
        self._entry.attempt = await self._tools.saving.insist(operation)
        self._told(FaultPoint.RESULT_SAVED)

    async def find_step(self, name: str) -> Saved | None:
        """Return the saved result of a step of this run, from here or from earlier attempts elsewhere."""
        attempt = self._entry.attempt
        query = partial(ledger.find_step, task_id=attempt.task_id, run=attempt.run, name=name)
        return await self._tools.saving.read(query) or _inherited(attempt, name, "step")

    async def save_step(self, saved: Saved) -> None:
        """Save a step's result and its event."""
        stamp = self._services.stamp()
        operation = partial(ledger.save_step, who=self._who(), step=saved, stamp=stamp)
        self._entry.attempt = await self._written(operation)
        self._told(FaultPoint.RESULT_SAVED)

    async def checkpoint(self, value: object, portable: bool) -> None:  # noqa: FBT001 - one word of a frame
        """Save where to continue."""
        stamp = self._services.stamp()
        operation = partial(
            ledger.save_checkpoint, who=self._who(), value=value, portable=portable, stamp=stamp
        )
        self._entry.attempt = await self._written(operation)
        self._told(FaultPoint.CHECKPOINT_COMMITTED)

    def progress(self, progress: Progress) -> None:
        """Take progress."""
        self._sign()
        if self._entry.attempt.epoch == self._epoch:
            self._services.progressing.take(self._entry, progress)

    async def ensure_lease(self, seconds: float) -> bool:
        """Say whether the lease is certainly held for so long, after a heartbeat if need be."""
        if self._holds(seconds):
            return True
        beat = self._services.keeper.beat()
        await self._parked(beat)
        return self._holds(seconds)

    async def _permitted(self, wanted: BeginEffect, entrance: ledger.Entrance) -> EffectStanding:
        """Ask for the permit, or go without one where that was declared."""
        if not wanted.witness:
            return await self._unwitnessed(wanted, entrance.entry)
        after: Literal["absent"] | None = "absent" if wanted.absent else None
        while True:
            answer = await self._parked(self._services.witnesses.ask(self._question(wanted, after)))
            if answer is None:
                return self._refused(wanted, "lease_lost" if self._entry.is_lost else "cancelled")
            if isinstance(answer, TenureError):
                raise answer
            if answer.standing is not WitnessStanding.LEASE_LOST:
                self._tools.renewed(self._entry, answer.asked_at + answer.ttl_s)
            if answer.standing is WitnessStanding.GO:
                if not self._holds(0.0):
                    continue  # The answer took longer than the lease: ask again, the permit is ours
                return await self._go(wanted, entrance.entry)
            own = answer.generation == self._entry.attempt.generation
            if answer.standing is WitnessStanding.IN_DOUBT and entrance.certain and own and after is None:
                after = "absent"  # The doubt is about an intent of this very claim that was never acted upon
                continue
            return await self._answered(wanted, answer)

    async def _go(self, wanted: BeginEffect, entry: LocalEffect) -> EffectStanding:
        own = (entry.generation, entry.epoch) == (self._entry.attempt.generation, self._epoch)
        is_plain = own and entry.state is LocalEffectState.INTENDED and bool(entry.settled_by)
        if not is_plain:
            await self._written(partial(ledger.permit, who=self._who(), wanted=wanted))
        return EffectStanding("go", entry.request_id)

    async def _unwitnessed(self, wanted: BeginEffect, entry: LocalEffect) -> EffectStanding:
        before = _inherited(self._entry.attempt, wanted.name, "effect")
        if before is not None:
            return EffectStanding("applied", entry.request_id, before.result)
        own = (entry.generation, entry.epoch) == (self._entry.attempt.generation, self._epoch)
        if not own and not wanted.absent:
            return self._in_doubt(wanted, "ended")
        return await self._go(wanted, entry)

    async def _answered(self, wanted: BeginEffect, answer: Witnessed) -> EffectStanding:
        """Save and return what the control plane knows better than this worker."""
        match answer.standing:
            case WitnessStanding.APPLIED:
                await self._take(wanted, LocalEffectState.APPLIED, answer.result)
                return EffectStanding("applied", self._request_id(wanted), answer.result)
            case WitnessStanding.IN_DOUBT:
                await self._take(wanted, LocalEffectState.IN_DOUBT, None)
                age_s = self._services.sessions.age_s(answer.since, self._tools.alarms.now())
                return self._in_doubt(wanted, answer.predecessor or "may_still_act", age_s)
            case WitnessStanding.ABANDONED:
                await self._take(wanted, LocalEffectState.ABANDONED, None)
                return self._refused(wanted, "abandoned")
            case WitnessStanding.LEASE_LOST:
                self._services.stops.lost(self._entry)
                return self._refused(wanted, "lease_lost")
            case WitnessStanding.CANCELLED:
                self._services.stops.cancel(self._entry)
                return self._refused(wanted, "cancelled")
            case WitnessStanding.MISMATCH | WitnessStanding.GO:
                return self._refused(wanted, "mismatch", "it was used before in this run with other params")

    def _question(self, wanted: BeginEffect, after: Literal["absent"] | None) -> WitnessRequest:
        attempt = self._entry.attempt
        return WitnessRequest(
            task_id=attempt.task_id,
            token=attempt.token,
            attempt_epoch=self._epoch,
            name=wanted.name,
            request_id=self._request_id(wanted),
            digest=wanted.digest,
            params=wanted.params,
            settled_by=wanted.settled_by,
            after=after,
        )

    async def _take(self, wanted: BeginEffect, state: LocalEffectState, result: object) -> None:
        operation = partial(ledger.take_standing, who=self._who(), wanted=wanted, state=state, result=result)
        await self._written(operation)

    async def _written(self, operation: Callable[[LocalTransaction], T]) -> T:
        """Write what can be refused; what a full disk does to an attempt is this host's fault."""
        try:
            return await self._tools.saving.write(operation)
        except DiskFull as full:
            self._entry.host_fault = full.text
            raise

    async def _parked(self, future: "asyncio.Future[T | None]") -> T | None:
        """Wait for an answer, or until the execution is told to stop (None)."""

        def let_go() -> None:
            if not future.done():
                future.set_result(None)

        self._entry.parked.add(let_go)
        try:
            return await future
        finally:
            self._entry.parked.discard(let_go)

    def _who(self) -> ledger.Writing:
        return ledger.Writing(self._entry.id, self._epoch, *self._newer_progress())

    def _newer_progress(self) -> tuple[Progress | None, int]:
        """Return the progress that is not saved yet; it is written before an intent and an outcome. C075."""
        if self._entry.attempt.epoch != self._epoch:
            return None, 0
        newest = writing(self._entry)
        self._entry.progress_saved = self._entry.progress_count
        return newest.progress, newest.progress_number

    def _holds(self, seconds: float) -> bool:
        deadline = self._entry.deadline
        return (
            not self._entry.is_lost and deadline is not None and self._tools.alarms.now() + seconds < deadline
        )

    def _sign(self) -> None:
        self._entry.last_sign = self._tools.alarms.now()

    def _told(self, point: FaultPoint) -> None:
        """Go on after an event was saved: the point is reached, the sender has a hint."""
        self._sign()
        self._tools.reach(point, self._entry.id)
        self._services.sender.wake()

    def _request_id(self, wanted: BeginEffect) -> str:
        return request_id(self._entry.attempt.task_id, self._entry.attempt.run, wanted.name)

    def _applied(self, wanted: BeginEffect, entry: LocalEffect) -> EffectStanding:
        error = "" if entry.kept else entry.error or f"the result of effect {wanted.name!r} was not kept"
        return EffectStanding("applied", entry.request_id, entry.result, error)

    def _in_doubt(
        self, wanted: BeginEffect, predecessor: Literal["ended", "may_still_act"], age_s: float | None = None
    ) -> EffectStanding:
        return EffectStanding("in_doubt", self._request_id(wanted), predecessor=predecessor, age_s=age_s)

    def _refused(self, wanted: BeginEffect, code: Code, text: str = "") -> EffectStanding:
        return EffectStanding("refused", self._request_id(wanted), code=code, text=text)


def _inherited(attempt: Attempt, name: str, kind: Literal["effect", "step"]) -> Saved | None:
    """Return what an earlier attempt applied, as it was handed over with the start."""
    for line in attempt.evidence.effects:
        if line.name == name and line.kind == kind and line.state == "applied":
            return Saved(name, kind, line.result)
    return None
