"""What a person's decision on an unknown subject does; applied once, fenced by revision and generation.

Contracts: C119 C120.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

import msgspec
from msgspec import Struct

from tenure.core.claim import REPORTED, Claim, ClaimEnd
from tenure.core.effect import (
    ATTEMPT_SUBJECT,
    EFFECT_MACHINE,
    QUIET_S,
    Effect,
    EffectStep,
)
from tenure.core.errors import Blocked, NotFound, StaleRevision, Terminal
from tenure.core.event import EventKind
from tenure.core.instants import after
from tenure.core.task import Ending, ErrorInfo, Task, TaskState, TaskStep
from tenure.core.witness import decide_subject


class Verdict(StrEnum):
    """The four answers a person can give."""

    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did_not_happen"
    STILL_UNKNOWN = "still_unknown"
    ABANDON = "abandon"


class VerdictRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A verdict with the revision it was based on; `anyway` goes on although the holder may still act."""

    subject: str
    verdict: Verdict
    revision: int
    result: object = None
    note: str = ""
    anyway: bool = False


class VerdictRow(Struct, frozen=True):
    """A verdict as it is kept: who, when, what and why."""

    task_id: str
    run: int
    subject: str
    verdict: Verdict
    given_by: str
    given_at: datetime
    revision: int
    result: object = None
    note: str = ""
    anyway: bool = False


class Decision(Struct, frozen=True):
    """What a verdict changes; `repeated` means that the same verdict was given before and nothing changes."""

    task: Task
    effect: Effect | None = None
    repeated: bool = False


def decide_verdict(
    task: Task,
    ledger: Sequence[Effect],
    given: VerdictRequest,
    before: VerdictRow | None,
    now: datetime,
    holder: Claim | None = None,
) -> Decision:
    """Return the task and the ledger's entry after a verdict, or raise the refusal.

    `before` is the last deciding verdict on the subject in this run, `holder` as for `may_still_act`. Allowed
    on unknown tasks, and on what is left in doubt of an abandoned one.

    Raises:
        Terminal: Another verdict on a subject that is decided.
        NotFound: The subject is not in doubt.
        StaleRevision: The task has changed since the person looked.
        Blocked: `did_not_happen` while the holder may still act, without `anyway`.
    """
    if given.subject not in task.subjects:
        return _decided_already(task, given, before)
    if given.revision != task.revision:
        raise StaleRevision(
            f"the verdict is based on revision {given.revision}, the task is at {task.revision}; look again"
        )
    effect = next((e for e in ledger if e.name == given.subject), None)
    if (
        given.verdict is Verdict.DID_NOT_HAPPEN
        and not given.anyway
        and may_still_act(task, effect, now, holder)
    ):
        raise Blocked(
            "the holder may still act; wait, or repeat the verdict with anyway", reason="may_still_act"
        )
    if given.verdict is Verdict.STILL_UNKNOWN:
        return Decision(task.changed(now))
    changed = None if effect is None else _entry(effect, given)
    fenced = msgspec.structs.replace(task, generation=task.generation + 1, claim=_closed(task, now))
    return Decision(_left(fenced, given, now), changed)


def may_still_act(task: Task, effect: Effect | None, now: datetime, holder: Claim | None = None) -> bool:
    """Say whether the holder could still do it.

    It has not reported its end, and too little time has passed. `holder` is the grant that the effect's
    permit belongs to: what a later one has reported says nothing of an earlier one that vanished.
    """
    claim = task.claim
    if effect is not None and holder is not None and effect.generation == holder.generation:
        claim = holder
    if claim is None or claim.ended in REPORTED:
        return False
    permit = effect.epoch if effect is not None and effect.generation == claim.generation else claim.epoch
    if claim.lost_epoch and claim.lost_epoch >= permit:
        return False
    last = max(claim.until, effect.witnessed_at) if effect is not None else claim.until
    return now < after(last, QUIET_S)


def _decided_already(task: Task, given: VerdictRequest, before: VerdictRow | None) -> Decision:
    if before is None:
        raise NotFound(f"{given.subject!r} of task {task.id} is not in doubt")
    if before.verdict is given.verdict and before.result == given.result:
        return Decision(task, repeated=True)
    raise Terminal(f"{given.subject!r} was decided {before.verdict} by {before.given_by}")


def _entry(effect: Effect, given: VerdictRequest) -> Effect:
    match given.verdict:
        case Verdict.HAPPENED:
            step, result = EffectStep.APPLY, given.result
        case Verdict.DID_NOT_HAPPEN:
            step, result = EffectStep.MISS, None
        case _:
            step, result = EffectStep.ABANDON, None
    return msgspec.structs.replace(
        effect, state=EFFECT_MACHINE.next(effect.state, step), result=result, decided_by="verdict"
    )


def _closed(task: Task, now: datetime) -> object:
    claim = task.claim
    if claim is None or claim.ended is not None:
        return claim
    return msgspec.structs.replace(claim, ended=ClaimEnd.DECIDED, ended_at=now)


def _left(task: Task, given: VerdictRequest, now: datetime) -> Task:
    left = tuple(name for name in task.subjects if name != given.subject)
    if task.state is not TaskState.UNKNOWN:
        return task.changed(now, subjects=left)
    if given.verdict is Verdict.ABANDON:
        error = ErrorInfo(
            type="abandoned", message=given.note or f"{given.subject} was given up", retry=False
        )
        step = TaskStep.CANCEL if task.cancel_requested else TaskStep.FAIL
        return task.after(step, now, error=error, subjects=left, ending=None)
    if given.subject == ATTEMPT_SUBJECT and given.verdict is Verdict.HAPPENED:
        task = msgspec.structs.replace(task, ending=Ending(str(EventKind.SUCCEEDED), result=given.result))
    happened = given.verdict is Verdict.HAPPENED
    return decide_subject(task, given.subject, now, 0.0, holder_goes_on=False, take_kept=happened)
