"""May this execution begin this effect, and what does a reported outcome change? The ledger's two decisions.

Contracts: D16.
"""

from datetime import datetime
from typing import Literal

import msgspec
from msgspec import Struct

from tenure.core.claim import REPORTED, Claim, Standing
from tenure.core.effect import (
    EFFECT_MACHINE,
    QUIET_S,
    Effect,
    EffectState,
    EffectStep,
    WitnessRequest,
    WitnessStanding,
)
from tenure.core.event import EffectBody
from tenure.core.instants import after
from tenure.core.settlement import take_ending
from tenure.core.task import Task, TaskState, TaskStep


class Witness(Struct, frozen=True):
    """The answer to a witness request; `effect` is the entry to save, or None when nothing changes."""

    standing: WitnessStanding
    effect: Effect | None = None
    known: Effect | None = None
    predecessor: Literal["ended", "may_still_act"] | None = None


def witness(
    task: Task | None,
    standing: Standing,
    known: Effect | None,
    earlier: Claim | None,
    asked: WitnessRequest,
    now: datetime,
) -> Witness:
    """Decide whether a generation and attempt epoch may begin an effect.

    The first (generation, epoch) recorded holds the permit. The same one asking again with no outcome known
    is answered `go` again: a lost reply is not a doubt. Another one gets `in_doubt`, and a new permit only
    after an absence that can be believed: the predecessor has ended, the create is idempotent, or `quiet` has
    passed.
    """
    claim = task.claim if task is not None else None
    if task is None or claim is None or not _may_ask(task, standing):
        return Witness(WitnessStanding.LEASE_LOST)
    if known is None:
        return _permit(task, claim, None, asked, now)
    if known.digest != asked.digest or known.kind != "effect":
        return Witness(WitnessStanding.MISMATCH, known=known)
    match known.state:
        case EffectState.APPLIED:
            return Witness(WitnessStanding.APPLIED, known=known)
        case EffectState.ABANDONED:
            return Witness(WitnessStanding.ABANDONED, known=known)
        case EffectState.ABSENT:
            return _permit(task, claim, known, asked, now)
        case EffectState.INTENDED | EffectState.IN_DOUBT:
            return _in_doubt(task, claim, earlier, known, asked, now)


def predecessor(
    effect: Effect, earlier: Claim | None, claim: Claim, epoch: int, now: datetime
) -> Literal["ended", "may_still_act"]:
    """Say whether the execution that holds an effect's permit can still act, as far as can be shown.

    It has ended when its own worker said so, by a final report or by a loss of that epoch or a later one;
    when the same instance asks for a later execution, which it never begins beside an earlier one (C121,
    C122); or when `quiet` has passed since the permit. `earlier` is the grant that the permit belongs to.
    """
    if effect.generation == claim.generation and effect.epoch < epoch:
        return "ended"
    if earlier is not None:
        same_instance = claim.instance_id is not None and earlier.instance_id == claim.instance_id
        if same_instance or earlier.ended in REPORTED or earlier.lost_epoch >= effect.epoch:
            return "ended"
    return "ended" if now >= after(effect.witnessed_at, QUIET_S) else "may_still_act"


def _may_ask(task: Task, standing: Standing) -> bool:
    if standing is not Standing.NEWEST or task.claim is None:
        return False
    return task.state is TaskState.UNKNOWN or (task.state is TaskState.CLAIMED and task.claim.ended is None)


def _permit(task: Task, claim: Claim, known: Effect | None, asked: WitnessRequest, now: datetime) -> Witness:
    if task.cancel_requested:
        return Witness(WitnessStanding.CANCELLED, known=known)
    permitted = Effect(
        task_id=task.id,
        run=task.run,
        name=asked.name,
        request_id=asked.request_id,
        digest=asked.digest,
        state=EffectState.INTENDED if known is None else EFFECT_MACHINE.next(known.state, EffectStep.PERMIT),
        generation=claim.generation,
        epoch=asked.attempt_epoch,
        agent=claim.agent,
        witnessed_at=now,
        params=asked.params,
        settled_by=asked.settled_by,
        after=asked.after,
    )
    return Witness(WitnessStanding.GO, effect=permitted)


def _in_doubt(
    task: Task, claim: Claim, earlier: Claim | None, known: Effect, asked: WitnessRequest, now: datetime
) -> Witness:
    own = (known.generation, known.epoch) == (claim.generation, asked.attempt_epoch)
    if own and known.state is EffectState.INTENDED and asked.after is None:
        return Witness(WitnessStanding.GO, known=known)
    before = "ended" if own else predecessor(known, earlier, claim, asked.attempt_epoch, now)
    if asked.after == "absent" and (before == "ended" or "idempotent" in asked.settled_by):
        return _permit(task, claim, known, asked, now)
    return Witness(WitnessStanding.IN_DOUBT, known=known, predecessor=before)


class Outcome(Struct, frozen=True):
    """What a reported outcome of an effect changes; not accepted ones are kept beside."""

    task: Task
    effect: Effect | None
    accepted: bool
    flagged: bool = False


_STEPS = {"applied": EffectStep.APPLY, "absent": EffectStep.MISS, "in_doubt": EffectStep.DOUBT}


def take_outcome(
    task: Task,
    known: Effect | None,
    body: EffectBody,
    standing: Standing,
    generation: int,
    epoch: int,
    now: datetime,
    jitter: float,
) -> Outcome:
    """Decide what a reported outcome of an effect does to the ledger and to its task.

    The newest token's outcome counts. An older token's changes only the permit that it reports, and only
    while no newer permit exists; evidence that contradicts a verdict opens the doubt again or, if acted upon,
    is flagged.
    """
    if task.state.is_settled and standing is Standing.NEWEST:
        return Outcome(task, None, accepted=False, flagged=known is None or str(known.state) != body.state)
    if known is None:
        known = _unwitnessed(task, body, standing, generation, epoch, now)
        if known is None:
            return Outcome(task, None, accepted=False)
    if standing is Standing.OLDER and known.generation != generation:
        return Outcome(task, None, accepted=False, flagged=str(known.state) != body.state)
    if known.state is EffectState.APPLIED:
        same = body.state == "applied" and body.result == known.result
        return Outcome(task, None, accepted=same, flagged=not same)
    if known.decided_by == "verdict":
        return _against_verdict(task, known, body, now)
    step = _STEPS[body.state]
    settled = msgspec.structs.replace(
        known,
        state=EFFECT_MACHINE.next(known.state, step),
        result=body.result if step is EffectStep.APPLY else None,
        decided_by=None if step is EffectStep.DOUBT else "evidence",
    )
    return Outcome(_after_evidence(task, settled, standing, now, jitter), settled, accepted=True)


def _unwitnessed(
    task: Task, body: EffectBody, standing: Standing, generation: int, epoch: int, now: datetime
) -> Effect | None:
    """Return an entry for an effect that was declared idempotent and therefore not witnessed."""
    if standing is not Standing.NEWEST or task.claim is None:
        return None
    return Effect(
        task_id=task.id,
        run=task.run,
        name=body.name,
        request_id=body.request_id,
        digest="",
        state=EffectState.INTENDED,
        generation=generation,
        epoch=epoch,
        agent=task.claim.agent,
        witnessed_at=now,
        settled_by=("idempotent",),
    )


def _against_verdict(task: Task, known: Effect, body: EffectBody, now: datetime) -> Outcome:
    """Keep evidence that arrives after a verdict beside it.

    A false `did_not_happen` opens the doubt again.
    """
    if known.state is not EffectState.ABSENT or body.state != "applied":
        return Outcome(task, None, accepted=False, flagged=body.state == "applied")
    if task.state in (TaskState.DONE, TaskState.CANCELLED):
        return Outcome(task, None, accepted=False, flagged=True)
    doubted = msgspec.structs.replace(known, state=EffectState.IN_DOUBT, decided_by=None)
    subjects = tuple(dict.fromkeys([*task.subjects, known.name]))
    return Outcome(task.after(TaskStep.DOUBT, now, subjects=subjects), doubted, accepted=True, flagged=True)


def _after_evidence(task: Task, effect: Effect, standing: Standing, now: datetime, jitter: float) -> Task:
    if effect.is_in_doubt or task.state is not TaskState.UNKNOWN or effect.name not in task.subjects:
        return task.changed(now)
    return decide_subject(task, effect.name, now, jitter, holder_goes_on=standing is Standing.NEWEST)


def decide_subject(
    task: Task, subject: str, now: datetime, jitter: float, *, holder_goes_on: bool, take_kept: bool = True
) -> Task:
    """Return the unknown task with one subject decided; with the last one it leaves the state.

    A kept ending is taken (`take_kept`, not after `did_not_happen`); without one the holder goes on with its
    claim, or the task opens for a continuation.
    """
    left = tuple(name for name in task.subjects if name != subject)
    if left:
        return task.changed(now, subjects=left)
    if task.ending is not None and take_kept:
        return take_ending(task, task.ending, now, jitter)
    claim = task.claim
    if holder_goes_on and claim is not None and claim.generation == task.generation:
        again = msgspec.structs.replace(claim, ended=None, ended_at=None)
        return task.after(TaskStep.RESUME, now, subjects=(), ending=None, claim=again)
    if task.cancel_requested:
        return task.after(TaskStep.CANCEL, now, subjects=(), ending=None)
    return task.after(TaskStep.REOPEN, now, subjects=(), ending=None, not_before=None)
