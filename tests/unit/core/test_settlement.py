"""The settlement table of architecture.md, pair by pair."""

from datetime import timedelta

import pytest

from tenure.core.capability import Recovery
from tenure.core.claim import ClaimEnd, Standing
from tenure.core.effect import EffectState
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
from tenure.core.settlement import Settlement, settle
from tenure.core.task import ErrorInfo, Task, TaskState
from tests.unit.core.build import NOW, a_claim, a_task, an_effect

BODIES: dict[EventKind, Body] = {
    EventKind.SUCCEEDED: SucceededBody(42),
    EventKind.FAILED: FailedBody(ErrorInfo("ValueError", "no")),
    EventKind.CANCELLED: ReasonBody("asked"),
    EventKind.UNKNOWN: UnknownBody(["charge"]),
    EventKind.HANDED_BACK: ReasonBody("drain"),
}


def taken(task: Task, kind: EventKind, standing: Standing = Standing.NEWEST, *ledger: object) -> Settlement:
    """Settle a report of that kind with an ordinary body."""
    effects = [e for e in ledger if e is not None]
    return settle(task, effects, kind, BODIES[kind], standing, 1, NOW, 0.5)  # pyright: ignore[reportArgumentType] - effects only


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        (EventKind.SUCCEEDED, TaskState.DONE),
        (EventKind.FAILED, TaskState.OPEN),
        (EventKind.CANCELLED, TaskState.CANCELLED),
        (EventKind.UNKNOWN, TaskState.UNKNOWN),
        (EventKind.HANDED_BACK, TaskState.OPEN),
    ],
)
@pytest.mark.parametrize("lease", ["live", "ended"])
def test_the_newest_token_settles_a_claim_whether_its_lease_is_live_or_ended(
    kind: EventKind, state: TaskState, lease: str
) -> None:
    """C017, D1: the generation is the criterion, never the end of the lease."""
    until = NOW + timedelta(seconds=30 if lease == "live" else -30)
    outcome = taken(a_task(claim=a_claim(until=until)), kind)
    assert outcome.accepted
    assert outcome.task.state is state


@pytest.mark.parametrize("kind", list(BODIES))
@pytest.mark.parametrize("state", list(TaskState))
def test_an_older_token_changes_nothing(kind: EventKind, state: TaskState) -> None:
    """C017: the late old worker neither completes nor reopens the new holder's run."""
    task = a_task(state)
    outcome = taken(task, kind, Standing.OLDER)
    assert not outcome.accepted
    assert outcome.task is task


@pytest.mark.parametrize("kind", list(BODIES))
@pytest.mark.parametrize("state", [TaskState.DONE, TaskState.FAILED, TaskState.CANCELLED])
def test_a_settled_task_keeps_its_state(kind: EventKind, state: TaskState) -> None:
    """C071, B02: terminal states absorb; a late report is kept beside."""
    task = a_task(state, claim=a_claim(ended=ClaimEnd.LOST))
    outcome = taken(task, kind)
    assert not outcome.accepted
    assert outcome.task is task


def test_a_late_other_result_is_flagged_and_the_same_one_is_not() -> None:
    """C120: a real result that contradicts is recorded beside, never over."""
    done = a_task(TaskState.DONE, claim=a_claim(ended=ClaimEnd.SUCCEEDED), result=42)
    assert not taken(done, EventKind.SUCCEEDED, Standing.OLDER).flagged
    other = a_task(TaskState.DONE, claim=a_claim(ended=ClaimEnd.SUCCEEDED), result=41)
    assert taken(other, EventKind.SUCCEEDED, Standing.OLDER).flagged


@pytest.mark.parametrize("kind", [EventKind.FAILED, EventKind.HANDED_BACK])
def test_the_same_release_again_gets_the_same_answer(kind: EventKind) -> None:
    """C018: a lost reply to a release is answered again and counts nothing twice."""
    once = taken(a_task(), kind).task
    again = taken(once, kind)
    assert again.accepted
    assert again.task is once


def test_a_completion_after_a_release_is_stale() -> None:
    """C018: open, given back with this token: complete is lease lost."""
    once = taken(a_task(), EventKind.HANDED_BACK).task
    assert not taken(once, EventKind.SUCCEEDED).accepted


def test_three_counters_are_kept_apart() -> None:
    """D4: a failed try counts, a hand-back is free, a loss is its own."""
    failed = taken(a_task(), EventKind.FAILED).task
    assert (failed.attempts, failed.losses, failed.interruptions) == (1, 0, 0)
    assert failed.not_before is not None
    assert failed.not_before > NOW
    back = taken(a_task(), EventKind.HANDED_BACK).task
    assert (back.attempts, back.losses, back.interruptions) == (0, 0, 1)
    lost = settle(a_task(), [], EventKind.LOST, LostBody("executor_died"), Standing.NEWEST, 1, NOW, 0.0).task
    assert (lost.attempts, lost.losses, lost.interruptions) == (0, 1, 0)
    assert lost.state is TaskState.CLAIMED


def test_the_last_try_fails_the_task_and_so_does_retry_false() -> None:
    """C015: one failure never nails a task down, the last one does."""
    assert taken(a_task(attempts=2), EventKind.FAILED).task.state is TaskState.FAILED
    body = FailedBody(ErrorInfo("Failed", "no", retry=False))
    outcome = settle(a_task(), [], EventKind.FAILED, body, Standing.NEWEST, 1, NOW, 0.0)
    assert outcome.task.state is TaskState.FAILED


def test_a_manual_task_has_one_try() -> None:
    """recovery.md: under MANUAL, max_attempts is 1."""
    task = a_task(claim=a_claim(rule=Recovery.MANUAL))
    assert taken(task, EventKind.FAILED).task.state is TaskState.FAILED


@pytest.mark.parametrize("kind", [EventKind.FAILED, EventKind.HANDED_BACK, EventKind.CANCELLED])
def test_after_a_cancel_request_what_did_not_succeed_is_cancelled(kind: EventKind) -> None:
    """B33: one transition decides between cancel and completion."""
    assert taken(a_task(cancel_requested=True), kind).task.state is TaskState.CANCELLED
    assert taken(a_task(cancel_requested=True), EventKind.SUCCEEDED).task.state is TaskState.DONE


@pytest.mark.parametrize("kind", [k for k in BODIES if k is not EventKind.UNKNOWN])
def test_an_ending_never_hides_a_doubt_that_reentry_cannot_settle(kind: EventKind) -> None:
    """recovery.md, Endings: the task is unknown whatever the ending was, and the ending is kept."""
    outcome = taken(a_task(), kind, Standing.NEWEST, an_effect())
    assert outcome.task.state is TaskState.UNKNOWN
    assert outcome.task.subjects == ("charge",)
    assert outcome.task.ending is not None
    assert outcome.task.ending.kind == kind


def test_a_doubt_that_reentry_settles_does_not_stand_in_the_way() -> None:
    """recovery.md: with find or idempotency the next attempt settles it."""
    asked = an_effect(settled_by=("find",))
    assert taken(a_task(), EventKind.HANDED_BACK, Standing.NEWEST, asked).task.state is TaskState.OPEN
    manual = a_task(claim=a_claim(rule=Recovery.MANUAL))
    assert taken(manual, EventKind.HANDED_BACK, Standing.NEWEST, asked).task.state is TaskState.UNKNOWN


def test_a_loss_is_counted_once_per_epoch_and_the_last_one_fails() -> None:
    """D21: a loss is counted once per reported death (generation, attempt epoch)."""
    body = LostBody("worker_restarted")
    once = settle(a_task(), [], EventKind.LOST, body, Standing.NEWEST, 2, NOW, 0.0).task
    twice = settle(once, [], EventKind.LOST, body, Standing.NEWEST, 2, NOW, 0.0).task
    assert twice.losses == 1
    third = settle(a_task(losses=2), [], EventKind.LOST, body, Standing.NEWEST, 1, NOW, 0.0).task
    assert third.state is TaskState.FAILED
    doubtful = settle(
        a_task(losses=2), [an_effect()], EventKind.LOST, body, Standing.NEWEST, 1, NOW, 0.0
    ).task
    assert doubtful.state is TaskState.UNKNOWN


@pytest.mark.parametrize(
    ("kind", "state"), [(EventKind.SUCCEEDED, TaskState.DONE), (EventKind.CANCELLED, TaskState.CANCELLED)]
)
def test_a_final_report_of_the_newest_token_ends_an_unknown(kind: EventKind, state: TaskState) -> None:
    """C072, C119: evidence by the holder ends the doubt; nothing else restarts it."""
    outcome = taken(a_task(TaskState.UNKNOWN, subjects=("attempt",)), kind)
    assert outcome.task.state is state
    assert outcome.task.subjects == ()


def test_what_is_applied_stays_in_doubt_for_an_unknown_until_its_own_evidence() -> None:
    """A final report does not settle an effect that the ledger holds in doubt."""
    outcome = taken(
        a_task(TaskState.UNKNOWN), EventKind.SUCCEEDED, Standing.NEWEST, an_effect(EffectState.IN_DOUBT)
    )
    assert outcome.task.state is TaskState.UNKNOWN
    assert outcome.task.ending is not None


@pytest.mark.parametrize("standing", list(Standing))
def test_superseded_reports_are_always_kept_beside(standing: Standing) -> None:
    """C027: a superseded attempt's result is reported and changes nothing."""
    body = SupersededBody("succeeded", 1)
    outcome = settle(a_task(), [], EventKind.SUPERSEDED, body, standing, 1, NOW, 0.0)
    assert not outcome.accepted
