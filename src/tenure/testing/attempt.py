"""Attempts in memory, so that a capability runs in a unit test as the plain function that it is.

    thumbnail(tenure.testing.attempt(), "a.jpg")
    asyncio.run(render(tenure.testing.async_attempt(), scene="s1.blend"))

They keep a ledger and answer as a runtime would: an effect that was applied is not applied again under the
same attempt, the same name with other params is refused, and an effect named in `in_doubt` is settled by its
`find` or its idempotency. Nothing is written and no process is started.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from tenure.app.attempt import AsyncAttempt, Attempt
from tenure.app.awaiting import LoopWaiting
from tenure.app.reply import Reply
from tenure.app.running import Running, Surroundings
from tenure.core.checkpoint import Progress
from tenure.core.effect import request_id
from tenure.core.execution import BeginEffect, EffectStanding, EndEffect, Saved, Work
from tenure.system.clock import SystemClock
from tenure.system.faults import NoFaults

T = TypeVar("T")

TASK = "task"
"""The id of the task that these attempts belong to."""


@dataclass
class Recorded:
    """What a capability did with its attempt, oldest first.

    `begun` and `ended` are what it said of its effects; `effects` and `steps` are the results by name.
    """

    begun: list[BeginEffect] = field(default_factory=list[BeginEffect])
    ended: list[EndEffect] = field(default_factory=list[EndEffect])
    effects: dict[str, object] = field(default_factory=dict[str, object])
    steps: dict[str, object] = field(default_factory=dict[str, object])
    checkpoints: list[object] = field(default_factory=list[object])
    progress: list[Progress] = field(default_factory=list[Progress])


class MemoryDesk:
    """Answers an execution at once, from memory.

    `holds_lease` may be set: False is what a capability meets whose lease is lost.
    """

    def __init__(self, work: Work, in_doubt: Iterable[str]) -> None:
        """Start with an empty ledger but for the effects in doubt."""
        self.recorded = Recorded()
        self.holds_lease = True
        self._work = work
        self._in_doubt = set(in_doubt)
        self._digests: dict[str, str] = {}

    def begin_effect(self, attempt_id: str, wanted: BeginEffect) -> Reply[EffectStanding]:
        """Look into the ledger; what is not there may begin."""
        self.recorded.begun.append(wanted)
        return _settled(self._standing(wanted))

    def end_effect(self, attempt_id: str, ended: EndEffect) -> Reply[None]:
        """Keep the outcome."""
        self.recorded.ended.append(ended)
        if ended.state == "applied":
            self.recorded.effects[ended.name] = ended.result
        if ended.state == "in_doubt":
            self._in_doubt.add(ended.name)
        else:
            self._in_doubt.discard(ended.name)
        return _settled(None)

    def find_step(self, attempt_id: str, name: str) -> Reply[Saved | None]:
        """Return a step that an earlier call under this attempt saved."""
        steps = self.recorded.steps
        return _settled(Saved(name, "step", steps[name]) if name in steps else None)

    def save_step(self, attempt_id: str, saved: Saved) -> Reply[None]:
        """Keep a step's result."""
        self.recorded.steps[saved.name] = saved.result
        return _settled(None)

    def save_checkpoint(self, attempt_id: str, value: object, *, portable: bool) -> Reply[None]:
        """Keep a checkpoint."""
        self.recorded.checkpoints.append(value)
        return _settled(None)

    def hold_lease(self, attempt_id: str, seconds: float) -> Reply[bool]:
        """Say what was set."""
        return _settled(self.holds_lease)

    def advance(self, attempt_id: str, progress: Progress) -> None:
        """Keep progress."""
        self.recorded.progress.append(progress)

    def _standing(self, wanted: BeginEffect) -> EffectStanding:
        its_id = request_id(self._work.task_id, self._work.run, wanted.name)
        if self._digests.setdefault(wanted.name, wanted.digest) != wanted.digest:
            text = f"effect {wanted.name!r} was used before in this run with other params"
            return EffectStanding("refused", its_id, code="mismatch", text=text)
        if wanted.name in self.recorded.effects:
            return EffectStanding("applied", its_id, self.recorded.effects[wanted.name])
        if not self.holds_lease:
            return EffectStanding("refused", its_id, code="lease_lost", text="the lease is lost")
        if wanted.name in self._in_doubt and not wanted.absent:
            return EffectStanding("in_doubt", its_id, predecessor="ended")
        return EffectStanding("go", its_id)


class RecordingAttempt(Attempt):
    """An `Attempt` that remembers what was done with it."""

    def __init__(self, running: Running, desk: MemoryDesk) -> None:
        """Take what `attempt` made."""
        super().__init__(running)
        self.desk = desk

    @property
    def recorded(self) -> Recorded:
        """What the capability did."""
        return self.desk.recorded

    def cancel(self) -> None:
        """Tell the capability to stop."""
        self._running.cancel()


class RecordingAsyncAttempt(AsyncAttempt):
    """An `AsyncAttempt` that remembers what was done with it."""

    def __init__(self, running: Running, desk: MemoryDesk) -> None:
        """Take what `async_attempt` made."""
        super().__init__(running, LoopWaiting(running))
        self.desk = desk

    @property
    def recorded(self) -> Recorded:
        """What the capability did."""
        return self.desk.recorded

    def cancel(self) -> None:
        """Tell the capability to stop; a task that awaits is cancelled by whoever runs it."""
        self._running.cancel()


def attempt(
    *, resumed_from: object = None, losses: int = 0, generation: int = 1, in_doubt: Iterable[str] = ()
) -> RecordingAttempt:
    """Return an attempt for a plain capability.

    Args:
        resumed_from: The value of an earlier checkpoint.
        losses: How many executions died before.
        generation: The number of the claim.
        in_doubt: Names of effects that an execution before this one may have applied.
    """
    running, desk = _running(resumed_from, losses, generation, in_doubt)
    return RecordingAttempt(running, desk)


def async_attempt(
    *, resumed_from: object = None, losses: int = 0, generation: int = 1, in_doubt: Iterable[str] = ()
) -> RecordingAsyncAttempt:
    """Return an attempt for an async capability; otherwise as `attempt`."""
    running, desk = _running(resumed_from, losses, generation, in_doubt)
    return RecordingAsyncAttempt(running, desk)


def _running(
    resumed_from: object, losses: int, generation: int, in_doubt: Iterable[str]
) -> tuple[Running, MemoryDesk]:
    work = Work(
        attempt_id=f"{TASK}.{generation}",
        task_id=TASK,
        generation=generation,
        run=1,
        epoch=1,
        capability="tested",
        version="1",
        input={},
        isolation="process",
        losses=losses,
        checkpoint=resumed_from,
        checkpoint_saved=resumed_from is not None,
    )
    desk = MemoryDesk(work, in_doubt)
    return Running(work, Surroundings(desk, SystemClock(), NoFaults())), desk


def _settled(value: T) -> Reply[T]:
    reply: Reply[T] = Reply()
    reply.settle(value)
    return reply
