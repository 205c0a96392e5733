"""What a report does to a task: result, token, state and ledger in; the task after it out.

The table is architecture.md's *What a report does*; each of its rows is one branch here, and a test compares
them pair by pair. Nothing is looked up and nothing is written: the caller loads under the store's write lock
and saves what comes back.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from tenure.core.capability import Recovery
from tenure.core.claim import Claim, ClaimEnd, Standing
from tenure.core.effect import ATTEMPT_SUBJECT, Effect
from tenure.core.event import (
    Body,
    EventKind,
    FailedBody,
    LostBody,
    ReasonBody,
    SucceededBody,
    SupersededBody,
    UnknownBody,
)
from tenure.core.instants import after
from tenure.core.task import Ending, ErrorInfo, Task, TaskState, TaskStep


class Settlement(Struct, frozen=True):
    """What a report came to: `stale` reports are kept beside and change nothing.

    `flagged` ones contradict.
    """

    task: Task
    accepted: bool
    detail: str = ""
    flagged: bool = False


def settle(
    task: Task,
    ledger: Sequence[Effect],
    kind: EventKind,
    body: Body,
    standing: Standing,
    epoch: int,
    now: datetime,
    jitter: float,
) -> Settlement:
    """Decide what a final report or a loss does. Effects, steps and checkpoints have their own functions.

    Contracts: C017, C018, C027, C071, C072.
    """
    if kind is EventKind.SUPERSEDED or standing is not Standing.NEWEST or task.claim is None:
        return _stale(task, kind, body)
    claim = task.claim
    if claim.ended is not None and task.state is not TaskState.UNKNOWN:
        if str(claim.ended) == str(kind):
            return Settlement(task, accepted=True, detail="repeated")
        return _stale(task, kind, body)
    if task.state not in (TaskState.CLAIMED, TaskState.UNKNOWN):
        return _stale(task, kind, body)
    if isinstance(body, LostBody):
        return Settlement(lose(task, claim, ledger, epoch, now), accepted=True)
    return Settlement(end(task, claim, ledger, ending_of(kind, body), body, now, jitter), accepted=True)


def ending_of(kind: EventKind, body: Body) -> Ending:
    """Return the ending that a final report states."""
    match body:
        case SucceededBody():
            return Ending(str(kind), result=body.result)
        case FailedBody():
            return Ending(str(kind), error=body.error)
        case _:
            return Ending(str(kind))


def end(
    task: Task,
    claim: Claim,
    ledger: Sequence[Effect],
    ending: Ending,
    body: Body,
    now: datetime,
    jitter: float,
) -> Task:
    """Return the task after a final report by the newest token.

    An ending never hides a doubt that running the capability again could not settle: then the task is
    unknown, and the ending is kept until the last subject is decided.
    """
    doubts = unsettled_subjects(ledger, claim.rule)
    if isinstance(body, UnknownBody):
        named = tuple(dict.fromkeys([*body.subjects, *doubts])) or (ATTEMPT_SUBJECT,)
        return doubt(task, claim, named, None, ClaimEnd.UNKNOWN, now)
    if doubts:
        return doubt(task, claim, doubts, ending, ClaimEnd(ending.kind), now)
    ended = msgspec.structs.replace(claim, ended=ClaimEnd(ending.kind), ended_at=now)
    return take_ending(msgspec.structs.replace(task, claim=ended), ending, now, jitter)


def take_ending(task: Task, ending: Ending, now: datetime, jitter: float) -> Task:
    """Return the task settled or opened as the ending says; counters are kept apart (D4)."""
    clean: dict[str, object] = {"subjects": (), "ending": None}
    if ending.kind == EventKind.SUCCEEDED:
        return task.after(TaskStep.SUCCEED, now, result=ending.result, error=None, **clean)
    if ending.kind == EventKind.CANCELLED or task.cancel_requested:
        return task.after(TaskStep.CANCEL, now, error=ending.error, **clean)
    if ending.kind == EventKind.HANDED_BACK:
        return task.after(TaskStep.GIVE_BACK, now, interruptions=task.interruptions + 1, **clean)
    error = ending.error or ErrorInfo(type="failed", message="the try failed without saying why")
    attempts = task.attempts + 1
    if not error.retry or attempts >= _tries(task):
        return task.after(TaskStep.FAIL, now, attempts=attempts, error=error, **clean)
    not_before = after(now, task.backoff.delay_s(attempts, jitter))
    return task.after(TaskStep.FAIL_TRY, now, attempts=attempts, error=error, not_before=not_before, **clean)


def lose(task: Task, claim: Claim, ledger: Sequence[Effect], epoch: int, now: datetime) -> Task:
    """Return the task after a reported death.

    Counted once per (generation, attempt epoch), else still claimed.
    """
    if epoch <= claim.lost_epoch:
        return task
    losses = task.losses + 1
    marked = msgspec.structs.replace(claim, lost_epoch=epoch, epoch=max(claim.epoch, epoch))
    counted = task.changed(now, losses=losses, claim=marked)
    if task.state is TaskState.UNKNOWN or losses < task.max_losses:
        return counted
    return too_many_losses(counted, marked, ledger, now)


def too_many_losses(task: Task, claim: Claim, ledger: Sequence[Effect], now: datetime) -> Task:
    """Return the task after its last allowed loss: failed, or unknown if anything is in doubt."""
    error = ErrorInfo(
        type="lost",
        message=f"{task.losses} executions died under this task; the limit is {task.max_losses}",
        retry=False,
    )
    in_doubt = tuple(effect.name for effect in ledger if effect.is_in_doubt)
    if in_doubt:
        return doubt(task, claim, in_doubt, Ending(str(EventKind.FAILED), error=error), ClaimEnd.LOST, now)
    ended = msgspec.structs.replace(claim, ended=ClaimEnd.LOST, ended_at=now)
    return task.after(TaskStep.FAIL, now, error=error, claim=ended, subjects=(), ending=None)


def doubt(
    task: Task, claim: Claim, subjects: tuple[str, ...], ending: Ending | None, how: ClaimEnd, now: datetime
) -> Task:
    """Return the task as unknown with these subjects; the holder's token stays the newest until a verdict."""
    ended = msgspec.structs.replace(claim, ended=how, ended_at=claim.ended_at or now)
    return task.after(TaskStep.DOUBT, now, subjects=subjects, ending=ending, claim=ended)


def unsettled_subjects(ledger: Sequence[Effect], rule: Recovery | None) -> tuple[str, ...]:
    """Name the effects in doubt that running the capability again could not settle."""
    return tuple(e.name for e in ledger if e.is_in_doubt and not e.reentry_settles(rule))


def contradicts(task: Task, kind: EventKind, body: Body) -> bool:
    """Say whether a late report tells another story than the settled one."""
    if task.state is TaskState.DONE:
        if isinstance(body, SucceededBody):
            return body.result != task.result
        return kind in (EventKind.FAILED, EventKind.UNKNOWN)
    if task.state in (TaskState.FAILED, TaskState.CANCELLED):
        return isinstance(body, SucceededBody) or (
            isinstance(body, SupersededBody) and body.outcome == "succeeded"
        )
    return False


def _stale(task: Task, kind: EventKind, body: Body) -> Settlement:
    detail = body.reason if isinstance(body, ReasonBody) else ""
    return Settlement(task, accepted=False, detail=detail, flagged=contradicts(task, kind, body))


def _tries(task: Task) -> int:
    rule = task.claim.rule if task.claim else None
    return 1 if rule is Recovery.MANUAL else task.max_attempts
