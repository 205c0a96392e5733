"""Who may be granted a task, and what the janitor does to a lease that ended."""

from datetime import timedelta

import pytest

from tenure.core.capability import Recovery
from tenure.core.claim import ClaimEnd
from tenure.core.claiming import Grantee, ended_lease, grant, refusal, void_start
from tenure.core.effect import EffectState
from tenure.core.errors import Blocked, OutcomeUnknown, Taken, Terminal
from tenure.core.task import Task, TaskState
from tests.unit.core.build import NOW, a_claim, a_task, an_effect

LATER = NOW + timedelta(seconds=31)
TO = Grantee(agent="w2", token_hash="h2", ttl_s=30.0)


def refused(task: Task, *ledger: object, deps: bool = True, calm: bool = True, at: object = NOW) -> object:
    """Ask for an explicit claim."""
    return refusal(task, list(ledger), dependencies_done=deps, calm=calm, now=at)  # pyright: ignore[reportArgumentType] - parametrised


def test_a_live_lease_is_taken_whoever_asks_and_an_ended_one_is_free_in_calm() -> None:
    """C011, C012, C020, D19."""
    assert isinstance(refused(a_task()), Taken)
    at_the_end = a_task(claim=a_claim(until=NOW))
    assert refused(at_the_end) is None
    assert isinstance(refused(at_the_end, calm=False), Taken)


def test_the_refusals_can_be_told_apart() -> None:
    """C014, C015, C016."""
    assert isinstance(refused(a_task(TaskState.DONE)), Terminal)
    assert isinstance(refused(a_task(TaskState.CANCELLED)), Terminal)
    assert isinstance(refused(a_task(TaskState.UNKNOWN)), OutcomeUnknown)
    waits = refused(a_task(TaskState.BLOCKED), deps=False)
    assert isinstance(waits, Blocked)
    assert waits.reason == "dependency"
    early = refused(a_task(TaskState.OPEN, not_before=LATER))
    assert isinstance(early, Blocked)
    assert early.reason == "not_due"
    assert refused(a_task(TaskState.FAILED)) is None


def test_an_ended_lease_with_a_hopeless_doubt_is_not_taken_over() -> None:
    """C042, C108: a takeover grants eligibility, not knowledge."""
    ended = a_task(claim=a_claim(until=NOW))
    assert isinstance(refused(ended, an_effect()), OutcomeUnknown)
    assert refused(ended, an_effect(settled_by=("find",))) is None
    assert isinstance(refused(a_task(claim=a_claim(until=NOW, rule=Recovery.MANUAL))), OutcomeUnknown)


def test_each_grant_is_a_new_generation_that_never_goes_back() -> None:
    """C012, C013."""
    first = grant(a_task(TaskState.OPEN), TO, NOW)
    assert (first.generation, first.state) == (1, TaskState.CLAIMED)
    second = grant(first, TO, LATER)
    assert second.generation == 2
    assert second.losses == 1


@pytest.mark.parametrize(
    ("claim", "losses"),
    [
        (a_claim(), 1),
        (a_claim(pushed=True, acknowledged=False), 0),
        (a_claim(epoch=1, lost_epoch=1), 0),
        (a_claim(epoch=2, lost_epoch=1), 1),
        (a_claim(request_id="r"), 1),
    ],
)
def test_a_takeover_counts_one_loss_unless_it_was_reported(claim: object, losses: int) -> None:
    """D21: once at the takeover unless the newest epoch was reported; an unacknowledged start counts none."""
    assert grant(a_task(claim=claim), TO, LATER).losses == losses  # pyright: ignore[reportArgumentType] - parametrised


def test_a_repeated_request_of_the_same_agent_counts_no_loss() -> None:
    """protocol.md: a repeat with the same request id counts no loss."""
    again = Grantee(agent="w1", token_hash="h", ttl_s=30.0, request_id="r")
    assert grant(a_task(claim=a_claim(request_id="r")), again, LATER).losses == 0


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        (Recovery.RECOMPUTE, None),
        (Recovery.RESUME, None),
        (Recovery.QUERY, None),
        (Recovery.MANUAL, TaskState.UNKNOWN),
        (None, None),
    ],
)
def test_what_the_janitor_makes_of_an_ended_lease(rule: Recovery | None, state: TaskState | None) -> None:
    """C042, C091, C116: the rule decides; without one it belongs to its host."""
    outcome = ended_lease(a_task(claim=a_claim(rule=rule)), [], LATER)
    assert (None if outcome is None else outcome.state) is state


def test_the_janitor_keeps_doubts_and_counts_losses() -> None:
    """architecture.md: unknown, failed and cancelled are all that it does."""
    hopeless = ended_lease(a_task(), [an_effect()], LATER)
    assert hopeless is not None
    assert (hopeless.state, hopeless.subjects) == (TaskState.UNKNOWN, ("charge",))
    worn_out = ended_lease(a_task(losses=2), [], LATER)
    assert worn_out is not None
    assert worn_out.state is TaskState.FAILED
    doubtful = ended_lease(a_task(losses=2), [an_effect(settled_by=("find",))], LATER)
    assert doubtful is not None
    assert doubtful.state is TaskState.UNKNOWN
    cancelled = ended_lease(a_task(cancel_requested=True), [an_effect(EffectState.APPLIED)], LATER)
    assert cancelled is not None
    assert cancelled.state is TaskState.CANCELLED


def test_a_start_without_an_answer_is_free_and_its_token_older() -> None:
    """D20: void raises the generation and counts nothing."""
    pushed = a_task(claim=a_claim(pushed=True, acknowledged=False))
    outcome = ended_lease(pushed, [], LATER)
    assert outcome is not None
    assert (outcome.state, outcome.generation, outcome.losses) == (TaskState.OPEN, 2, 0)
    assert outcome.claim is not None
    assert outcome.claim.ended is ClaimEnd.VOID
    asked = a_task(claim=a_claim(pushed=True, acknowledged=False), cancel_requested=True)
    assert void_start(asked, NOW).state is TaskState.CANCELLED
