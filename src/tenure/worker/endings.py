"""How attempts end: what came of an execution becomes a final state and its event, saved in one transaction.

Event ids are drawn before the transaction and fixed by it; after that a crash costs only a resend. C070.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from tenure.core.attempt import FINAL_STEP, Attempt, AttemptStep
from tenure.core.capability import Recovery
from tenure.core.checkpoint import Progress
from tenure.core.effect import ATTEMPT_SUBJECT
from tenure.core.event import (
    Body,
    Event,
    EventKind,
    FailedBody,
    LostBody,
    ReasonBody,
    SucceededBody,
    SupersededBody,
    UnknownBody,
)
from tenure.core.execution import Finished
from tenure.core.task import ErrorInfo
from tenure.ports.local import LocalTransaction
from tenure.worker.books import Why

Outcome = tuple[EventKind, Body]


class Stamp(Struct, frozen=True):
    """The identity that an event gets, drawn before the transaction that saves it."""

    event_id: str
    at: datetime


class Ending(Struct, frozen=True):
    """The end of one attempt, as this epoch's execution (or nobody's) brought it about.

    No `outcome` means superseded without a word: the claim was void before anything was executed.
    """

    attempt_id: str
    epoch: int
    stamp: Stamp
    outcome: Outcome | None = None
    progress: Progress | None = None
    progress_number: int = 0


def save_endings(tx: LocalTransaction, endings: Sequence[Ending]) -> dict[str, Attempt]:
    """Save final states and their events, and return the attempts as they are now.

    An ending of an execution that is not the newest one changes nothing, nor does a second one. C071.
    """
    attempts = tx.attempts.load([ending.attempt_id for ending in endings])
    events: list[Event] = []
    changed: list[Attempt] = []
    for ending in endings:
        attempt = attempts.get(ending.attempt_id)
        if attempt is None or attempt.state.is_final or attempt.epoch != ending.epoch:
            continue
        if ending.progress is not None:  # The newest progress is always written before a final state (C075)
            attempt = msgspec.structs.replace(
                attempt, progress=ending.progress, progress_number=ending.progress_number
            )
        attempt = end(attempt, ending.outcome, ending.stamp, events)
        attempts[attempt.id] = attempt
        changed.append(attempt)
    tx.attempts.save(changed)
    tx.outbox.add(events)
    return attempts


def end(attempt: Attempt, outcome: Outcome | None, stamp: Stamp, events: list[Event]) -> Attempt:
    """Return the attempt in its final state, and append the event that tells of it."""
    if outcome is None:
        return attempt.after(AttemptStep.SUPERSEDE, ended_at=stamp.at, lease_kept=False)
    kind, body = outcome
    attempt = tell(attempt, kind, body, stamp, events)
    return attempt.after(FINAL_STEP[kind], ended_at=stamp.at)


def tell(attempt: Attempt, kind: EventKind, body: Body, stamp: Stamp, events: list[Event]) -> Attempt:
    """Return the attempt with its next event numbered, and append the event."""
    sequence = attempt.event_sequence + 1
    events.append(
        Event(
            event_id=stamp.event_id,
            sequence=sequence,
            task_id=attempt.task_id,
            attempt_id=attempt.id,
            generation=attempt.generation,
            token=attempt.token,
            attempt_epoch=attempt.epoch,
            kind=kind,
            at=stamp.at,
            body=msgspec.to_builtins(body),
        )
    )
    return msgspec.structs.replace(attempt, event_sequence=sequence)


def outcome_of(finished: Finished, why: Why | None, host_fault: str = "") -> Outcome:
    """Return what an execution's end means, given why it was told to stop, if it was.

    A success is a success whatever was asked meanwhile (C055, C073); only a lost lease overrules it. A
    failure that this host caused goes back unharmed (B37).
    """
    if why is Why.LOST:
        return _superseded(finished.outcome, finished.result, finished.error)
    match finished.outcome:
        case "succeeded":
            return EventKind.SUCCEEDED, SucceededBody(finished.result)
        case "unknown":
            return EventKind.UNKNOWN, UnknownBody(list(finished.subjects) or [ATTEMPT_SUBJECT], finished.note)
        case "failed" if host_fault:
            return handed_back(host_fault)
        case "failed" if why in (None, Why.CANCELLED, Why.STOPPING, Why.FENCED):
            return EventKind.FAILED, FailedBody(finished.error or _silent_failure())
        case _:
            return _stopped(why, finished.error)


def outcome_of_kill(why: Why, rule: Recovery | None) -> Outcome:
    """Return what an execution comes to that did not stop by itself and was killed for it.

    Under `MANUAL` nobody knows what it did; otherwise its ledger says what is in doubt, and the control plane
    keeps the ending from hiding that.
    """
    if why is Why.LOST:
        return _superseded("killed", None, None)
    if rule is Recovery.MANUAL or why is Why.FENCED:
        return EventKind.UNKNOWN, UnknownBody([ATTEMPT_SUBJECT], f"killed ({why.value}) in the middle of it")
    return _stopped(why, None)


def handed_back(reason: str) -> Outcome:
    """Return the ending of an attempt that others may take, at no cost to it."""
    return EventKind.HANDED_BACK, ReasonBody(reason)


def cancelled(reason: str) -> Outcome:
    """Return the ending of an attempt that was cancelled."""
    return EventKind.CANCELLED, ReasonBody(reason)


def unknown(subjects: Sequence[str], note: str) -> Outcome:
    """Return the ending of an attempt of which nobody can show what happened."""
    return EventKind.UNKNOWN, UnknownBody(list(subjects), note)


def lost_for_good(losses: int, limit: int) -> Outcome:
    """Return the ending of an attempt under which too many executions died."""
    text = f"{losses} executions died under this task; the limit is {limit}"
    return EventKind.FAILED, FailedBody(ErrorInfo(type="lost", message=text, retry=False))


def superseded(outcome: str) -> Outcome:
    """Return the ending of an attempt whose claim is somebody else's by now."""
    return _superseded(outcome, None, None)


def died(cause: str, signal: int | None) -> LostBody:
    """Return the body that tells of a death."""
    known = cause if cause in ("executor_died", "worker_restarted", "out_of_memory") else "executor_died"
    return msgspec.convert({"cause": known, "signal": signal}, LostBody)


def _stopped(why: Why | None, error: ErrorInfo | None) -> Outcome:
    said = f"; it ended with {error.type}: {error.message}" if error is not None else ""
    match why:
        case Why.CANCELLED:
            return cancelled("a cancel was asked for")
        case Why.TIMEOUT:
            text = f"the run took longer than its timeout_s{said}"
            return EventKind.FAILED, FailedBody(ErrorInfo(type="timeout", message=text))
        case Why.SILENT:
            text = f"no sign of life for longer than its silence_s{said}"
            return EventKind.FAILED, FailedBody(ErrorInfo(type="silent", message=text))
        case Why.STOPPING | Why.FENCED | Why.LOST:
            return handed_back("the worker is stopping")
        case None:
            text = "the code ended as cancelled, and nobody had asked for that"
            return EventKind.FAILED, FailedBody(error or ErrorInfo(type="cancelled", message=text))


def _superseded(outcome: str, result: object, error: ErrorInfo | None) -> Outcome:
    return EventKind.SUPERSEDED, SupersededBody(outcome, result, error)


def _silent_failure() -> ErrorInfo:
    return ErrorInfo(type="failed", message="the try failed without saying why")
