"""The effect protocol on the executor's side: recovery.md, Effects.

The protocol is written once, as generators that say what to do next and are told what came of it; how a step
is carried out, with blocking calls or awaited, is the business of `blocking` and `awaiting`.
"""

import warnings
from collections.abc import Callable, Generator
from typing import Final, Literal, TypeVar, cast

from msgspec import Struct

from tenure.app.errors import Absent, Failed, NotApplied
from tenure.app.reply import Reply
from tenure.app.running import Running
from tenure.app.values import from_json, to_json
from tenure.core.effect import QUIET_S
from tenure.core.errors import (
    Cancelled,
    EffectMismatch,
    LeaseLost,
    OutcomeUnknown,
    TenureError,
)
from tenure.core.execution import BeginEffect, EffectStanding, EndEffect

T = TypeVar("T")

APPLY_AGAIN_MAX: Final = 3  # Bound: how often an idempotent apply is repeated in one execution
LOOK_S_FIRST: Final = 0.25
LOOK_S_MAX: Final = 30.0
QUIET_SLACK_S: Final = 5.0
_JSON_OWN: Final = (type(None), bool, int, float, str, list, tuple, dict)


class Effect(Struct, frozen=True):
    """One effect as its capability declares it, checked."""

    wanted: BeginEffect
    apply: Callable[[str], object]
    find: Callable[[str], object] | None
    result_type: type | None
    timeout_s: float
    quiet_s: float
    remembers_for_s: float | None

    @property
    def name(self) -> str:
        """Its name, unique within a run."""
        return self.wanted.name

    @property
    def is_idempotent(self) -> bool:
        """Whether it may be applied again under the same request id."""
        return "idempotent" in self.wanted.settled_by

    def is_remembered(self, age_s: float | None) -> bool:
        """Say whether the other side certainly still knows the request id."""
        if self.remembers_for_s is None:
            return True
        return age_s is not None and age_s < self.remembers_for_s


class Ask(Struct, frozen=True):
    """Ask the supervisor whether to begin; told an `EffectStanding`."""

    wanted: BeginEffect


class Tell(Struct, frozen=True):
    """Have an outcome saved; goes on once it is durable."""

    ended: EndEffect


class Call(Struct, frozen=True):
    """Call the author's function with the request id; told a `Called`."""

    what: Literal["apply", "find"]
    function: Callable[[str], object]
    request_id: str
    timeout_s: float


class Pause(Struct, frozen=True):
    """Wait; told whether the whole time passed (False: cancelled meanwhile)."""

    seconds: float


class Ensure(Struct, frozen=True):
    """Ask whether the lease is held; told a bool."""

    seconds: float


class Called(Struct):
    """What came of a call; not done, it ran into its timeout and may still act."""

    reply: Reply[object]
    late: str = ""

    @property
    def error(self) -> BaseException | None:
        """What it raised, or a time-out."""
        return self.reply.error if self.reply.is_done else TimeoutError(self.late)


Action = Ask | Tell | Call | Pause | Ensure
Steps = Generator[Action, object, T]


def perform(effect: Effect, running: Running) -> Steps[object]:
    """Look, intend, apply, save; return the effect's result. C058 C078."""
    return (yield from _enter(effect, running, (yield from _ask(effect, absent=False))))


def _enter(effect: Effect, running: Running, standing: EffectStanding) -> Steps[object]:
    match standing.standing:
        case "go":
            return (yield from _apply(effect, running, standing.request_id, APPLY_AGAIN_MAX))
        case "applied":
            if standing.error:
                raise Failed(standing.error, retry=False)
            return _typed(effect, standing.result)
        case "in_doubt":
            return (yield from _settle_earlier(effect, running, standing))
        case "refused":
            raise _refusal(effect, standing)


def _apply(effect: Effect, running: Running, request_id: str, again: int) -> Steps[object]:
    """Act once, under a fresh `go`."""
    # 1. Between `go` and here this process may have been paused; a passed deadline forbids to begin (D14).
    if running.is_cancelled or not (yield Ensure(0)):
        yield Tell(EndEffect(effect.name, "absent"))
        running.raise_if_cancelled()
        raise LeaseLost(f"the lease of {running.work.task_id} ended before effect {effect.name!r} began")
    # 2. Act. A crash from here on leaves a doubt, which the saved intent makes visible.
    called = cast("Called", (yield Call("apply", effect.apply, request_id, effect.timeout_s)))
    if called.error is None:
        # 3. Save what came of it before anybody else learns of it.
        return (yield from _keep(effect, called.reply.result()))
    if isinstance(called.error, NotApplied):
        yield Tell(EndEffect(effect.name, "absent"))
        raise called.error
    return (yield from _settle_own(effect, running, request_id, called, again))


def _keep(effect: Effect, value: object) -> Steps[object]:
    """Save the result and return it as re-entry will: read back from JSON."""
    _warn_untyped(effect, value)
    try:
        result = to_json(value, f"effect {effect.name}")
    except TenureError as error:
        text = f"effect {effect.name!r} was applied and its result could not be kept: {error.text}"
        yield Tell(EndEffect(effect.name, "applied", kept=False, error=text))
        raise Failed(text, retry=False) from error
    yield Tell(EndEffect(effect.name, "applied", result))
    return _typed(effect, result)


def _settle_own(
    effect: Effect, running: Running, request_id: str, called: Called, again: int
) -> Steps[object]:
    """Settle what this execution's own `apply` left open by raising or by taking too long."""
    error = cast("BaseException", called.error)
    if effect.find is not None:
        found = yield from _look(effect, running, request_id, called)
        if isinstance(found, Absent):
            yield Tell(EndEffect(effect.name, "absent"))
            raise error
        if found is not None:
            return (yield from _keep(effect, found))
    yield Tell(EndEffect(effect.name, "in_doubt"))
    if not effect.is_idempotent:
        running.raise_if_cancelled()
        raise _unknown(effect, f"{type(error).__name__}: {error}") from error
    if again == 0 or not effect.is_remembered(effect.timeout_s * APPLY_AGAIN_MAX):
        raise error  # a failed try; the next one applies it again under the same id
    if not (yield Pause(_delay_s(APPLY_AGAIN_MAX - again))):
        running.raise_if_cancelled()
        raise error
    standing = yield from _ask(effect, absent=True)
    if standing.standing == "go":
        return (yield from _apply(effect, running, standing.request_id, again - 1))
    if standing.standing == "in_doubt":
        raise error
    return (yield from _enter(effect, running, standing))


def _look(effect: Effect, running: Running, request_id: str, called: Called) -> Steps[object]:
    """Look until there is an answer that counts; None: none came in time, or a cancel came first."""
    until = running.now() + effect.quiet_s
    looks = 0
    while True:
        found = yield from _find(effect, request_id)
        if called.reply.is_done and called.reply.error is None:
            return called.reply.result()  # the call that took too long has come back after all
        # An absence counts only once our own call can no longer act.
        if found is not None and not (isinstance(found, Absent) and not _is_over(effect, called)):
            return found
        looks += 1
        if running.now() >= until or not (yield Pause(_delay_s(looks))):
            return None


def _settle_earlier(effect: Effect, running: Running, standing: EffectStanding) -> Steps[object]:
    """Settle what an earlier execution left open: by `find`, by applying again, or not at all."""
    if not effect.wanted.settled_by:
        yield Tell(EndEffect(effect.name, "in_doubt"))
        raise _unknown(effect, "an earlier execution ended in the middle of it")
    doubt = _Doubt(effect, running, standing)
    while effect.find is not None:
        found = yield from _find(effect, doubt.standing.request_id)
        if found is not None and not isinstance(found, Absent):
            return (yield from _keep(effect, found))
        # Only an absence that can be believed is told: the permit that follows is recorded as such.
        told_absent = isinstance(found, Absent) and doubt.absence_counts
        if doubt.is_asked_again or told_absent:
            shown_absent = told_absent and doubt.absence_is_shown
            doubt.standing = yield from _ask(effect, absent=told_absent)
            if shown_absent and doubt.standing.code == "cancelled":
                yield Tell(EndEffect(effect.name, "absent"))  # so that the cancel leaves no doubt behind
            if doubt.standing.standing != "in_doubt":
                return (yield from _enter(effect, running, doubt.standing))
        if doubt.is_over or not (yield Pause(doubt.next_delay_s())):
            break
    if effect.is_idempotent and effect.is_remembered(doubt.age_s) and not running.is_cancelled:
        again = yield from _ask(effect, absent=True)
        if again.standing != "in_doubt":
            return (yield from _enter(effect, running, again))
    yield Tell(EndEffect(effect.name, "in_doubt"))
    running.raise_if_cancelled()
    raise _unknown(effect, "an earlier execution may have applied it, and no answer settles it")


class _Doubt:
    """How long an earlier execution has been asked after, and whether its absence can be believed."""

    def __init__(self, effect: Effect, running: Running, standing: EffectStanding) -> None:
        self.standing = standing
        self._effect = effect
        self._now = running.now
        self._began = running.now()
        self._age_s = standing.age_s
        self._looks = 0
        # The store believes an absence once its own quiet has passed, so a short one of ours does not help.
        patience_s = effect.quiet_s if self._has_ended else max(effect.quiet_s, QUIET_S + QUIET_SLACK_S)
        self._until = self._began + patience_s

    @property
    def age_s(self) -> float | None:
        """Seconds since the permit, as far as they are known."""
        return None if self._age_s is None else self._age_s + self._now() - self._began

    @property
    def absence_is_shown(self) -> bool:
        """Whether whoever began it can no longer act."""
        passed_s = (self._age_s or 0.0) + self._now() - self._began
        return self._has_ended or passed_s >= self._effect.quiet_s

    @property
    def absence_counts(self) -> bool:
        """Whether it is shown, or acting again would be the same act."""
        return self.absence_is_shown or self._effect.is_idempotent

    @property
    def is_asked_again(self) -> bool:
        """Whether the supervisor may know more by now: the earlier execution may have ended meanwhile."""
        return self._looks > 0 and not self._has_ended

    @property
    def is_over(self) -> bool:
        """Whether it has been looked for long enough."""
        return self._now() >= self._until

    def next_delay_s(self) -> float:
        """Return the time until the next look."""
        self._looks += 1
        return _delay_s(self._looks)

    @property
    def _has_ended(self) -> bool:
        return self.standing.predecessor == "ended"


def _ask(effect: Effect, *, absent: bool) -> Steps[EffectStanding]:
    wanted = effect.wanted
    if absent:
        wanted = BeginEffect(
            wanted.name, wanted.digest, wanted.params, wanted.settled_by, wanted.witness, absent=True
        )
    return cast("EffectStanding", (yield Ask(wanted)))


def _find(effect: Effect, request_id: str) -> Steps[object]:
    """Ask the outside once; None: no answer, whether said, raised or timed out. C109."""
    find = cast("Callable[[str], object]", effect.find)
    called = cast("Called", (yield Call("find", find, request_id, effect.timeout_s)))
    return None if called.error is not None else called.reply.result()


def _is_over(effect: Effect, called: Called) -> bool:
    return called.reply.is_done or effect.is_idempotent


def _delay_s(looks: int) -> float:
    """Return 0.25, 0.5, 1 … 30 seconds."""
    return min(LOOK_S_FIRST * 2.0 ** min(looks, 16), LOOK_S_MAX)


def _warn_untyped(effect: Effect, value: object) -> None:
    if effect.result_type is None and not isinstance(value, _JSON_OWN):
        kind = type(value).__name__
        warnings.warn(
            f"effect {effect.name!r} returned a {kind}, and without a type its result is read back as plain "
            f"JSON; annotate find or apply, or pass returns={kind}",
            stacklevel=2,
        )


def _typed(effect: Effect, result: object) -> object:
    if effect.result_type is None:
        return result
    return cast("object", from_json(result, effect.result_type))


def _unknown(effect: Effect, why: str) -> OutcomeUnknown:
    return OutcomeUnknown(f"effect {effect.name!r} may have been applied; {why}", subjects=(effect.name,))


def _refusal(effect: Effect, standing: EffectStanding) -> TenureError:
    text = standing.text or f"effect {effect.name!r} may not begin: {standing.code}"
    match standing.code:
        case "cancelled":
            return Cancelled(text)
        case "mismatch":
            return EffectMismatch(text)
        case "abandoned" | "outcome_unknown":
            return OutcomeUnknown(text, subjects=(effect.name,))
        case _:
            return LeaseLost(text, reason=standing.code or None)
