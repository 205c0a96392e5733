"""The local side of an effect: what is saved before it is asked for, and after it is answered.

Each function is one transaction. An execution that is not the newest of its attempt is refused. C071
"""

from typing import Literal

import msgspec
from msgspec import Struct

from tenure.core.attempt import Attempt, AttemptState, LocalEffect, LocalEffectState
from tenure.core.checkpoint import Progress
from tenure.core.effect import request_id
from tenure.core.errors import EffectMismatch, LeaseLost
from tenure.core.event import CheckpointBody, EffectBody, Event, EventKind, StepBody
from tenure.core.execution import BeginEffect, EndEffect, Saved
from tenure.core.restart import Apply, Doubt, Mismatch, decide_entry
from tenure.core.restart import Saved as Applied
from tenure.ports.local import LocalTransaction
from tenure.worker.endings import Stamp, tell


class Writing(Struct, frozen=True):
    """Who writes: one execution of an attempt, with the newest progress that is to be saved along."""

    attempt_id: str
    epoch: int
    progress: Progress | None = None
    progress_number: int = 0


class Entrance(Struct, frozen=True):
    """What the local ledger says of an effect that is about to begin; `entry` is as it is saved now.

    `applied`: the result is there. `ask`: the intent is saved, the witness decides. `settle`: this
    execution's own act is in doubt. `certain`: an earlier execution of this attempt intended it and
    certainly did not act.
    """

    kind: Literal["applied", "ask", "settle", "abandoned", "mismatch"]
    entry: LocalEffect
    certain: bool = False
    text: str = ""


def enter_effect(tx: LocalTransaction, who: Writing, wanted: BeginEffect) -> Entrance:
    """Look into the ledger, and save the intent if the effect may be asked for: look, then intend."""
    attempt = _newest(tx, who)
    known = _find(tx, attempt, wanted.name)
    match decide_entry(known, attempt.epoch, wanted.digest):
        case Applied(effect):
            return Entrance("applied", effect)
        case Mismatch(text):
            return Entrance("mismatch", known or _new(attempt, wanted), text=text)
        case Doubt(effect):
            return _enter_doubt(attempt, effect, wanted)
        case Apply():
            # Only an absence of this claim's own permit may be claimed later; an older generation's record
            # says nothing of what others did since.
            certain = known is not None and known.generation == attempt.generation
            return Entrance("ask", _intend(tx, attempt, wanted), certain)


def _enter_doubt(attempt: Attempt, known: LocalEffect, wanted: BeginEffect) -> Entrance:
    if known.state is LocalEffectState.ABANDONED:
        return Entrance("abandoned", known)
    own = known.generation == attempt.generation and known.epoch == attempt.epoch
    if own and not wanted.absent:
        return Entrance("settle", known)
    # The entry stays as it is until there is a permit: it is the record of the doubt.
    return Entrance("ask", known)


def permit(tx: LocalTransaction, who: Writing, wanted: BeginEffect) -> LocalEffect:
    """Save that this execution holds the permit, before it acts: the doubt is its own from here on.

    Needed where nothing else could settle it, since a `go` that was not saved is none; and where the entry
    was still an earlier execution's.
    """
    return _intend(tx, _newest(tx, who), wanted, go_saved=True)


def take_standing(
    tx: LocalTransaction, who: Writing, wanted: BeginEffect, state: LocalEffectState, result: object
) -> LocalEffect:
    """Save what the control plane knows of an effect better than this worker. Others' doubts stay others'."""
    attempt = _newest(tx, who)
    known = _find(tx, attempt, wanted.name) or _new(attempt, wanted)
    others = state in (LocalEffectState.IN_DOUBT, LocalEffectState.ABANDONED)
    saved = msgspec.structs.replace(
        known,
        state=state,
        result=result,
        epoch=min(known.epoch, attempt.epoch - 1) if others else known.epoch,
        generation=known.generation,
    )
    tx.effects.save([saved])
    return saved


def leave_effect(tx: LocalTransaction, who: Writing, ended: EndEffect, stamp: Stamp) -> Attempt:
    """Save an effect's outcome and its event."""
    attempt = _newest(tx, who)
    known = _find(tx, attempt, ended.name)
    if known is None or known.kind != "effect":
        raise EffectMismatch(f"effect {ended.name!r} ends without having begun")
    saved = msgspec.structs.replace(
        known,
        state=LocalEffectState(ended.state),
        result=ended.result,
        kept=ended.kept,
        error=ended.error,
    )
    tx.effects.save([saved])
    body = EffectBody(ended.name, known.request_id, ended.state, ended.result)
    return _told(tx, attempt, EventKind.EFFECT, body, stamp)


def find_step(tx: LocalTransaction, task_id: str, run: int, name: str) -> Saved | None:
    """Return the saved result of a step of this run."""
    found = (e for e in tx.effects.load(task_id, run) if e.name == name and e.kind == "step")
    return next((Saved(e.name, "step", e.result) for e in found), None)


def save_step(tx: LocalTransaction, who: Writing, step: Saved, stamp: Stamp) -> Attempt:
    """Save a step's result and its event."""
    attempt = _newest(tx, who)
    known = _find(tx, attempt, step.name)
    if known is not None and known.kind != "step":
        raise EffectMismatch(f"{step.name!r} is an effect of this run; a step needs another name")
    entry = LocalEffect(
        task_id=attempt.task_id,
        run=attempt.run,
        name=step.name,
        request_id="",
        digest="",
        state=LocalEffectState.APPLIED,
        epoch=attempt.epoch,
        generation=attempt.generation,
        kind="step",
        result=step.result,
    )
    tx.effects.save([entry])
    return _told(tx, attempt, EventKind.STEP, StepBody(step.name, step.result), stamp)


def save_checkpoint(
    tx: LocalTransaction, who: Writing, value: object, *, portable: bool, stamp: Stamp
) -> Attempt:
    """Save where to continue, and its event, which replaces one that was not confirmed yet. C075."""
    attempt = msgspec.structs.replace(
        _newest(tx, who), checkpoint=value, checkpoint_saved=True, checkpoint_portable=portable
    )
    return _told(tx, attempt, EventKind.CHECKPOINT, CheckpointBody(value, portable), stamp)


def _newest(tx: LocalTransaction, who: Writing) -> Attempt:
    """Return the attempt with the newest progress, or refuse an execution that is not its newest. C071."""
    attempt = tx.attempts.load([who.attempt_id]).get(who.attempt_id)
    if attempt is None or attempt.state is not AttemptState.RUNNING or attempt.epoch != who.epoch:
        raise LeaseLost(f"execution {who.epoch} of attempt {who.attempt_id} is not its newest")
    if who.progress is None:
        return attempt
    attempt = msgspec.structs.replace(attempt, progress=who.progress, progress_number=who.progress_number)
    tx.attempts.save([attempt])
    return attempt


def _find(tx: LocalTransaction, attempt: Attempt, name: str) -> LocalEffect | None:
    ledger = tx.effects.load(attempt.task_id, attempt.run)
    return next((entry for entry in ledger if entry.name == name), None)


def _intend(
    tx: LocalTransaction, attempt: Attempt, wanted: BeginEffect, *, go_saved: bool = False
) -> LocalEffect:
    entry = msgspec.structs.replace(_new(attempt, wanted), go_saved=go_saved)
    tx.effects.save([entry])
    return entry


def _new(attempt: Attempt, wanted: BeginEffect) -> LocalEffect:
    return LocalEffect(
        task_id=attempt.task_id,
        run=attempt.run,
        name=wanted.name,
        request_id=request_id(attempt.task_id, attempt.run, wanted.name),
        digest=wanted.digest,
        state=LocalEffectState.INTENDED,
        epoch=attempt.epoch,
        generation=attempt.generation,
        params=wanted.params,
        settled_by=wanted.settled_by,
    )


def _told(
    tx: LocalTransaction,
    attempt: Attempt,
    kind: EventKind,
    body: CheckpointBody | StepBody | EffectBody,
    stamp: Stamp,
) -> Attempt:
    events: list[Event] = []
    attempt = tell(attempt, kind, body, stamp, events)
    tx.attempts.save([attempt])
    tx.outbox.add(events)
    return attempt
