"""`Attempt` and `AsyncAttempt`: what a capability is given beside its input. C058 C075 to C078.

Both offer the same names. On an `Attempt` every call blocks until it is done; on an `AsyncAttempt` what waits
is awaited, and what never waits (`progress`, `raise_if_cancelled` and the properties) is not.
"""

import warnings
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar, cast

import msgspec

from tenure.app.blocking import perform_blocking, saved
from tenure.app.effects import Effect
from tenure.app.errors import Absent
from tenure.app.intent import (
    QUIET,
    TIMEOUT,
    Duration,
    Terms,
    check_name,
    effect_of,
    seconds_of,
    type_of_result,
)
from tenure.app.reply import Reply
from tenure.app.running import ASKED, Running
from tenure.app.values import from_json, to_json
from tenure.core.checkpoint import Progress, check_progress
from tenure.core.errors import Invalid, LeaseLost, Unavailable
from tenure.core.execution import Saved

R = TypeVar("R")
T = TypeVar("T")


class Waiting(Protocol):
    """How an `AsyncAttempt` waits; made by the loop that runs it."""

    async def perform(self, effect: Effect) -> object:
        """Perform an effect, shielded from cancellation."""
        ...

    async def answer(self, reply: Reply[T]) -> T:
        """Wait for an answer."""
        ...

    async def call(self, function: Callable[[], object]) -> object:
        """Call a function, awaited or on a thread."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; a cancel ends it."""
        ...


class _Facts:
    """What both kinds of attempt can tell without waiting."""

    def __init__(self, running: Running) -> None:
        self._running = running

    @property
    def id(self) -> str:
        """The attempt's id, `TASK.GENERATION`."""
        return self._running.work.attempt_id

    @property
    def task_id(self) -> str:
        """The task's id."""
        return self._running.work.task_id

    @property
    def generation(self) -> int:
        """The number of the claim: a fence for conditional writes to your own resources. C059."""
        return self._running.work.generation

    @property
    def store_epoch(self) -> int:
        """The epoch of the control plane's store; a generation counts within its epoch."""
        return self._running.work.store_epoch

    @property
    def losses(self) -> int:
        """How many executions of this task have died so far."""
        return self._running.work.losses

    @property
    def resumed_from(self) -> object:
        """The value of the last checkpoint, or None: a lower bound of what happened. C077."""
        return self._running.work.checkpoint

    @property
    def stopping(self) -> bool:
        """Whether the worker is on its way out or a cancel was asked for: a good time for a checkpoint."""
        return self._running.around.is_stopping or self._running.is_cancelled

    def progress(
        self,
        completed: int | None = None,
        *,
        total: int | None = None,
        failed: int | None = None,
        percent: float | None = None,
        stage: str = "",
        stage_status: str = "",
        message: str = "",
    ) -> None:
        """Say how far it is, for people; never waits, and only the newest counts.

        Progress that contradicts itself (140 %, 31 of 30) or that cannot be told (a text for a count) is
        dropped with a warning: it is no reason to lose the work.
        """
        try:
            made = _told(Progress(stage, stage_status, percent, completed, total, failed, message))
        except Invalid as error:
            warnings.warn(f"progress of {self.id} was dropped: {error}", stacklevel=2)
            return
        self._running.around.desk.advance(self.id, made)

    def raise_if_cancelled(self) -> None:
        """Raise `Cancelled` here, at a place that you chose, if the code was told to stop. C058."""
        self._running.raise_if_cancelled(ASKED)

    def _begin_step(self, name: str) -> None:
        check_name("step", name)
        self._running.raise_if_cancelled()
        self._running.check_unbroken()
        self._running.enter_step(name)

    def _lease_lost(self, seconds: float) -> LeaseLost:
        return LeaseLost(f"the lease of {self.task_id} is not certainly held for {seconds:g} s")


def _told(made: Progress) -> Progress:
    """Return progress as the supervisor will read it: what it cannot read ends the line, and the work."""
    try:
        return check_progress(from_json(to_json(made, "progress"), Progress))
    except msgspec.ValidationError as error:
        raise Invalid(str(error), path="progress") from error


class Attempt(_Facts):
    """The attempt of a plain function; its calls block."""

    def effect(  # noqa: PLR0913 - one effect is described in one call; the rare parts have names and defaults
        self,
        name: str,
        params: object,
        apply: Callable[[str], R],
        find: Callable[[str], R | Absent | None] | None = None,
        *,
        idempotent: bool = False,
        timeout: Duration = TIMEOUT,
        quiet: Duration = QUIET,
        remembers_for: Duration | None = None,
        witness: bool = True,
        returns: type[R] | None = None,
    ) -> R:
        """Act once on the outside world: recorded before and after, settled by evidence, never done twice.

        Done before in this run, it returns the saved result and calls nothing. What it returns is what was
        saved, read back as the type that `returns`, `find` or `apply` names, so that a first execution and a
        later one get the same.

        Args:
            name: Unique within a run.
            params: What the act depends on, as JSON; the same name with other params is refused.
            apply: Acts under the request id it is given; on a thread, for at most `timeout`. `NotApplied`
                means certainly nothing happened; any other exception leaves a doubt.
            find: Looks for what became of a request id: the result, or `ABSENT`. None, an exception and a
                time-out are no answer, and it is asked again for as long as `quiet`.
            idempotent: The same request id acts once, however often it is sent.
            timeout: Bound of one call of `apply` or `find`.
            quiet: How long an earlier execution that was not shown dead may still act.
            remembers_for: How long the other side knows a request id; past it `idempotent` does not hold.
            witness: False leaves out the control plane's record; only together with `idempotent`.
            returns: The type of the result, where neither `find` nor `apply` says it.

        Raises:
            OutcomeUnknown: It may have happened, and nothing can tell.
            EffectMismatch: The name was used before in this run with other params.
            LeaseLost: Another generation holds the task; nothing was begun.
            Cancelled: A cancel was asked for; nothing was begun.

        Contracts: C058, C059, C078, C106 to C109.
        """
        self._running.check_unbroken()
        effect = effect_of(
            name,
            params,
            apply,
            find,
            Terms(idempotent, timeout, quiet, remembers_for, witness, returns),
        )
        return cast("R", perform_blocking(self._running, effect))

    def step(self, name: str, function: Callable[[], R], *, returns: type[R] | None = None) -> R:
        """Do what is safe to repeat, and save its result so that re-entry need not repeat it.

        Raises:
            EffectMismatch: The name was used before in this execution.
            Invalid: The result is no JSON value.
        """
        self._begin_step(name)
        desk = self._running.around.desk
        known = saved(self._running, desk.find_step(self.id, name))
        kind = returns or type_of_result(function)
        if known is not None:
            return _read_back(known.result, kind)
        result = to_json(function(), f"step {name}")
        saved(self._running, desk.save_step(self.id, Saved(name, "step", result)))
        return _read_back(result, kind)

    def checkpoint(self, value: object, *, portable: bool = True) -> None:
        """Save where to continue; returns once it is on disk, then ends here if the code was told to stop.

        Not `portable`: the value points at files of this machine, and only this worker gets it back.

        Contracts: C075, C077, C078.
        """
        self._running.check_unbroken()
        kept = to_json(value, "checkpoint")
        saved(self._running, self._running.around.desk.save_checkpoint(self.id, kept, portable=portable))
        self._running.raise_if_cancelled()

    def ensure_lease(self, seconds: Duration) -> None:
        """Return only if the lease is certainly held for so long; asked before a line that cannot be undone.

        Raises:
            LeaseLost: It is lost, or nobody can say.
        """
        self._running.raise_if_cancelled()
        length = seconds_of("seconds", seconds)
        if self._running.holds_for(length):
            return
        if not saved(self._running, self._running.around.desk.hold_lease(self.id, length)):
            raise self._lease_lost(length)

    def poll(self, look: Callable[[], R], until: Callable[[R], bool], *, every: Duration = 5) -> R:
        """Look again and again until it is so, and return what was seen last; a cancel ends the wait."""
        pause_s = seconds_of("every", every)
        while True:
            self._running.raise_if_cancelled()
            seen = look()
            if until(seen):
                return seen
            self._running.cancelled.wait(pause_s)


class AsyncAttempt(_Facts):
    """The attempt of an async function; what waits is awaited."""

    def __init__(self, running: Running, waiting: Waiting) -> None:
        """Take how to wait from the loop."""
        super().__init__(running)
        self._waiting = waiting

    async def effect(  # noqa: PLR0913 - as for `Attempt.effect`
        self,
        name: str,
        params: object,
        apply: Callable[[str], Awaitable[R] | R],
        find: Callable[[str], Awaitable[R | Absent | None] | R | Absent | None] | None = None,
        *,
        idempotent: bool = False,
        timeout: Duration = TIMEOUT,  # noqa: ASYNC109 - bounds one call of `apply`, not this one
        quiet: Duration = QUIET,
        remembers_for: Duration | None = None,
        witness: bool = True,
        returns: type[R] | None = None,
    ) -> R:
        """As `Attempt.effect`; `apply` and `find` may be async, and plain ones are called on a thread.

        A cancellation waits until what has begun is saved, at most `timeout`.
        """
        self._running.check_unbroken()
        effect = effect_of(
            name,
            params,
            apply,
            find,
            Terms(idempotent, timeout, quiet, remembers_for, witness, returns),
        )
        return cast("R", await self._waiting.perform(effect))

    async def step(
        self, name: str, function: Callable[[], Awaitable[R] | R], *, returns: type[R] | None = None
    ) -> R:
        """As `Attempt.step`; the function may be async, and a plain one is called on a thread."""
        self._begin_step(name)
        desk = self._running.around.desk
        known = await self._saved(desk.find_step(self.id, name))
        kind = returns or cast("type[R] | None", type_of_result(function))
        if known is not None:
            return _read_back(known.result, kind)
        result = to_json(await self._waiting.call(function), f"step {name}")
        await self._saved(desk.save_step(self.id, Saved(name, "step", result)))
        return _read_back(result, kind)

    async def checkpoint(self, value: object, *, portable: bool = True) -> None:
        """As `Attempt.checkpoint`."""
        self._running.check_unbroken()
        kept = to_json(value, "checkpoint")
        await self._saved(self._running.around.desk.save_checkpoint(self.id, kept, portable=portable))
        self._running.raise_if_cancelled()

    async def ensure_lease(self, seconds: Duration) -> None:
        """As `Attempt.ensure_lease`."""
        self._running.raise_if_cancelled()
        length = seconds_of("seconds", seconds)
        if self._running.holds_for(length):
            return
        if not await self._saved(self._running.around.desk.hold_lease(self.id, length)):
            raise self._lease_lost(length)

    async def poll(
        self, look: Callable[[], Awaitable[R] | R], until: Callable[[R], bool], *, every: Duration = 5
    ) -> R:
        """As `Attempt.poll`; a plain function is called on a thread."""
        pause_s = seconds_of("every", every)
        while True:
            self._running.raise_if_cancelled()
            seen = cast("R", await self._waiting.call(look))
            if until(seen):
                return seen
            await self._waiting.sleep(pause_s)

    async def _saved(self, reply: Reply[T]) -> T:
        try:
            return await self._waiting.answer(reply)
        except Unavailable as error:
            self._running.broken = error
            raise


def _read_back(result: object, kind: type[R] | None) -> R:
    return cast("R", result) if kind is None else from_json(result, kind)
