"""The edges of the decisions: exact instants, epochs, and what is kept beside."""

from datetime import timedelta

import pytest

from tenure.core.capability import Recovery
from tenure.core.claim import ClaimEnd, Standing
from tenure.core.claiming import Grantee, ended_lease, grant, refusal
from tenure.core.effect import QUIET_S, EffectState, WitnessStanding
from tenure.core.event import Body, EffectBody, EventKind, FailedBody, LostBody, SucceededBody, UnknownBody
from tenure.core.settlement import contradicts, settle
from tenure.core.task import ErrorInfo, TaskState
from tenure.core.verdict import Verdict, VerdictRequest, decide_verdict, may_still_act
from tenure.core.witness import take_outcome, witness
from tests.unit.core.build import NOW, a_claim, a_task, an_ask, an_effect

QUIET = timedelta(seconds=QUIET_S)
TICK = timedelta(microseconds=1)
SECOND = a_claim(2, agent="w2", instance_id="i2")
APPLIED = EffectBody("charge", "t1.1.charge", "applied", "receipt")
ABSENT = EffectBody("charge", "t1.1.charge", "absent")


def test_an_unknown_report_without_subjects_is_about_the_attempt() -> None:
    """recovery.md: every unknown names its subjects."""
    outcome = settle(a_task(), [], EventKind.UNKNOWN, UnknownBody([]), Standing.NEWEST, 1, NOW, 0.0)
    assert outcome.task.subjects == ("attempt",)


def test_an_unknown_report_takes_what_the_ledger_holds_in_doubt_with_it() -> None:
    outcome = settle(
        a_task(), [an_effect()], EventKind.UNKNOWN, UnknownBody(["mail"]), Standing.NEWEST, 1, NOW, 0.0
    )
    assert outcome.task.subjects == ("mail", "charge")


def test_a_loss_on_an_unknown_task_is_counted_and_fails_nothing() -> None:
    """C072: nothing but evidence or a verdict moves an unknown task."""
    body = LostBody("executor_died")
    unknown = a_task(TaskState.UNKNOWN, losses=2)
    outcome = settle(unknown, [], EventKind.LOST, body, Standing.NEWEST, 1, NOW, 0.0)
    assert (outcome.task.state, outcome.task.losses) == (TaskState.UNKNOWN, 3)


def test_the_first_end_of_a_claim_keeps_its_instant() -> None:
    early = a_claim(ended=ClaimEnd.UNKNOWN, ended_at=NOW - timedelta(hours=1))
    outcome = settle(
        a_task(TaskState.UNKNOWN, claim=early),
        [an_effect()],
        EventKind.SUCCEEDED,
        SucceededBody(1),
        Standing.NEWEST,
        1,
        NOW,
        0.0,
    )
    assert outcome.task.claim is not None
    assert outcome.task.claim.ended_at == early.ended_at


@pytest.mark.parametrize(
    ("state", "kind", "body", "flagged"),
    [
        (TaskState.DONE, EventKind.FAILED, FailedBody(ErrorInfo("X", "no")), True),
        (TaskState.DONE, EventKind.UNKNOWN, UnknownBody(["charge"]), True),
        (TaskState.DONE, EventKind.LOST, LostBody("executor_died"), False),
        (TaskState.FAILED, EventKind.SUCCEEDED, SucceededBody(1), True),
        (TaskState.FAILED, EventKind.FAILED, FailedBody(ErrorInfo("X", "no")), False),
        (TaskState.CANCELLED, EventKind.SUCCEEDED, SucceededBody(1), True),
        (TaskState.OPEN, EventKind.SUCCEEDED, SucceededBody(1), False),
    ],
)
def test_what_contradicts_a_settled_task(
    state: TaskState, kind: EventKind, body: Body, flagged: bool
) -> None:
    """C120: a late real result is flagged where it tells another story."""
    assert contradicts(a_task(state), kind, body) is flagged


def test_quiet_is_over_at_its_very_end() -> None:
    """C109: until then an absence is not believed."""
    ask = an_ask(after="absent", settled_by=("find",))
    task = a_task(claim=SECOND)
    early = witness(task, Standing.NEWEST, an_effect(), a_claim(), ask, NOW + QUIET - TICK)
    assert early.standing is WitnessStanding.IN_DOUBT
    assert witness(task, Standing.NEWEST, an_effect(), a_claim(), ask, NOW + QUIET).standing == "go"


@pytest.mark.parametrize(
    ("generation", "epoch", "asking", "standing"),
    [(1, 1, 2, "go"), (1, 2, 2, "go"), (1, 3, 2, "in_doubt"), (2, 1, 2, "in_doubt")],
)
def test_only_an_earlier_execution_of_the_same_claim_has_ended_for_sure(
    generation: int, epoch: int, asking: int, standing: str
) -> None:
    """C121, C122: a later epoch begins only after the earlier one was shown dead."""
    ask = an_ask(after="absent", attempt_epoch=asking)
    known = an_effect(generation=generation, epoch=epoch)
    earlier = a_claim(generation, instance_id="other") if generation == 2 else a_claim()
    claim = a_claim(1, instance_id=None)
    answer = witness(a_task(claim=claim), Standing.NEWEST, known, earlier, ask, NOW)
    assert answer.standing == standing


def test_workers_without_an_instance_are_never_taken_for_the_same() -> None:
    """C117: two pull workers without an instance prove nothing about each other."""
    ask = an_ask(after="absent")
    nobody = a_claim(2, agent="w2", instance_id=None)
    answer = witness(a_task(claim=nobody), Standing.NEWEST, an_effect(), a_claim(instance_id=None), ask, NOW)
    assert answer.standing is WitnessStanding.IN_DOUBT


def test_a_step_and_an_effect_never_share_a_name() -> None:
    answer = witness(a_task(), Standing.NEWEST, an_effect(kind="step"), None, an_ask(), NOW)
    assert answer.standing is WitnessStanding.MISMATCH


def test_no_permit_for_a_claim_that_ended() -> None:
    """C017: given back is given back."""
    ended = a_task(TaskState.OPEN, claim=a_claim(ended=ClaimEnd.HANDED_BACK))
    assert witness(ended, Standing.NEWEST, None, None, an_ask(), NOW).standing == "lease_lost"


def test_the_holder_of_an_unknown_task_may_go_on() -> None:
    """architecture.md: newest, unknown, no verdict yet: a witness is answered go."""
    assert witness(a_task(TaskState.UNKNOWN), Standing.NEWEST, None, None, an_ask(), NOW).standing == "go"


def test_what_the_holder_itself_called_doubtful_is_not_go_again() -> None:
    """recovery.md: the same question is answered go only with no outcome known."""
    doubtful = an_effect(EffectState.IN_DOUBT)
    assert witness(a_task(), Standing.NEWEST, doubtful, None, an_ask(), NOW).standing == "in_doubt"
    permitted = witness(a_task(), Standing.NEWEST, doubtful, None, an_ask(after="absent"), NOW)
    assert permitted.effect is not None
    assert permitted.effect.after == "absent"


def test_the_same_evidence_again_is_no_contradiction() -> None:
    known = an_effect(EffectState.APPLIED, result="receipt")
    outcome = take_outcome(a_task(), known, APPLIED, Standing.NEWEST, 1, 1, NOW, 0.0)
    assert (outcome.accepted, outcome.flagged) == (True, False)
    other = an_effect(EffectState.APPLIED, result="other")
    assert take_outcome(a_task(), other, APPLIED, Standing.NEWEST, 1, 1, NOW, 0.0).flagged


def test_evidence_after_the_end_is_flagged_only_where_it_differs() -> None:
    done = a_task(TaskState.DONE)
    same = an_effect(EffectState.APPLIED, result="receipt")
    assert not take_outcome(done, same, APPLIED, Standing.NEWEST, 1, 1, NOW, 0.0).flagged
    assert take_outcome(done, an_effect(EffectState.ABSENT), APPLIED, Standing.NEWEST, 1, 1, NOW, 0.0).flagged
    assert take_outcome(done, None, APPLIED, Standing.NEWEST, 1, 1, NOW, 0.0).flagged


def test_an_unwitnessed_outcome_counts_for_the_newest_token_alone() -> None:
    """D16: witness=False only together with idempotent."""
    kept = take_outcome(a_task(), None, APPLIED, Standing.NEWEST, 1, 1, NOW, 0.0)
    assert kept.effect is not None
    assert (kept.effect.state, kept.effect.settled_by) == (EffectState.APPLIED, ("idempotent",))
    assert take_outcome(a_task(), None, APPLIED, Standing.OLDER, 1, 1, NOW, 0.0).effect is None


def test_evidence_of_absence_settles_and_a_doubt_does_not() -> None:
    unknown = a_task(TaskState.UNKNOWN)
    absent = take_outcome(unknown, an_effect(), ABSENT, Standing.NEWEST, 1, 1, NOW, 0.0)
    assert absent.effect is not None
    assert (absent.effect.state, absent.effect.decided_by) == (EffectState.ABSENT, "evidence")
    assert absent.task.state is TaskState.CLAIMED
    doubt = EffectBody("charge", "t1.1.charge", "in_doubt")
    still = take_outcome(unknown, an_effect(), doubt, Standing.NEWEST, 1, 1, NOW, 0.0)
    assert still.effect is not None
    assert still.effect.decided_by is None
    assert still.task.state is TaskState.UNKNOWN


def test_evidence_for_something_else_leaves_the_subjects() -> None:
    unknown = a_task(TaskState.UNKNOWN, subjects=("attempt",))
    outcome = take_outcome(unknown, an_effect(), APPLIED, Standing.NEWEST, 1, 1, NOW, 0.0)
    assert (outcome.task.state, outcome.task.subjects) == (TaskState.UNKNOWN, ("attempt",))


@pytest.mark.parametrize("state", [EffectState.ABANDONED, EffectState.ABSENT])
def test_evidence_that_agrees_with_a_verdict_changes_nothing(state: EffectState) -> None:
    """C120: recorded next to it, not over it."""
    decided = an_effect(state, decided_by="verdict")
    outcome = take_outcome(a_task(TaskState.OPEN), decided, ABSENT, Standing.OLDER, 1, 1, NOW, 0.0)
    assert (outcome.accepted, outcome.flagged, outcome.effect) == (False, False, None)


def test_evidence_against_an_abandoned_effect_is_flagged_and_not_acted_upon() -> None:
    decided = an_effect(EffectState.ABANDONED, decided_by="verdict")
    outcome = take_outcome(a_task(TaskState.FAILED), decided, APPLIED, Standing.OLDER, 1, 1, NOW, 0.0)
    assert (outcome.accepted, outcome.flagged, outcome.effect) == (False, True, None)


def test_the_first_start_is_remembered() -> None:
    to = Grantee("w2", "h", 30.0)
    first = grant(a_task(TaskState.OPEN), to, NOW)
    assert first.started_at == NOW
    assert grant(first, to, NOW + timedelta(minutes=1)).started_at == NOW


def test_another_agents_request_id_is_no_repetition() -> None:
    """protocol.md: a request id counts per agent; another one's takeover is a loss."""
    held = a_task(claim=a_claim(request_id="r1"))
    assert grant(held, Grantee("w1", "h", 30.0, request_id="r2"), NOW).losses == 1


def test_due_means_at_the_very_instant() -> None:
    """C020's rule, for the start of eligibility."""
    due = a_task(TaskState.OPEN, not_before=NOW)
    assert refusal(due, [], dependencies_done=True, calm=True, now=NOW) is None


def test_a_failed_manual_task_may_be_claimed_again_on_purpose() -> None:
    """C015: an explicit claim opens failed."""
    failed = a_task(TaskState.FAILED, claim=a_claim(rule=Recovery.MANUAL, ended=ClaimEnd.FAILED))
    assert refusal(failed, [], dependencies_done=True, calm=True, now=NOW) is None


def test_a_hosts_claim_is_left_alone_unless_a_cancel_was_asked_for() -> None:
    """protocol.md: the janitor leaves it, but cancels it if nothing is in doubt."""
    later = NOW + timedelta(minutes=1)
    host = a_claim(rule=None)
    assert ended_lease(a_task(claim=host), [], later) is None
    asked = a_task(claim=host, cancel_requested=True)
    outcome = ended_lease(asked, [], later)
    assert outcome is not None
    assert outcome.state is TaskState.CANCELLED
    assert ended_lease(asked, [an_effect()], later) is None


def test_a_reported_loss_is_not_counted_at_the_takeover_too() -> None:
    """D21: and so does not bring the task over its limit."""
    later = NOW + timedelta(minutes=1)
    reported = a_task(claim=a_claim(epoch=2, lost_epoch=2), losses=2)
    assert ended_lease(reported, [], later) is None
    again = a_task(claim=a_claim(epoch=3, lost_epoch=2), losses=2)
    outcome = ended_lease(again, [], later)
    assert outcome is not None
    assert (outcome.state, outcome.losses) == (TaskState.FAILED, 3)


def test_when_a_holder_may_still_act() -> None:
    """recovery.md: not once it told its end, nor once the permit's execution was reported dead."""
    gone = a_task(TaskState.UNKNOWN, claim=a_claim(ended=ClaimEnd.LOST, epoch=2))
    until = NOW + timedelta(seconds=30)
    assert may_still_act(gone, an_effect(epoch=2), until + QUIET - TICK)
    assert not may_still_act(gone, an_effect(epoch=2), until + QUIET)
    dead = a_task(TaskState.UNKNOWN, claim=a_claim(ended=ClaimEnd.LOST, epoch=2, lost_epoch=1))
    assert not may_still_act(dead, an_effect(epoch=1), NOW)
    assert may_still_act(dead, an_effect(epoch=2), NOW)
    assert may_still_act(dead, None, NOW)


def test_only_did_not_happen_asks_whether_the_holder_may_still_act() -> None:
    gone = a_task(TaskState.UNKNOWN, claim=a_claim(ended=ClaimEnd.LOST))
    given = VerdictRequest("charge", Verdict.HAPPENED, 5, result=1)
    assert decide_verdict(gone, [an_effect()], given, None, NOW).task.state is TaskState.OPEN


def test_a_verdict_ends_a_claim_that_was_still_held() -> None:
    """C120: every earlier token is older from then on."""
    held = a_task(TaskState.UNKNOWN, claim=a_claim())
    given = VerdictRequest("charge", Verdict.HAPPENED, 5)
    decided = decide_verdict(held, [an_effect()], given, None, NOW).task
    assert decided.claim is not None
    assert (decided.claim.ended, decided.generation) == (ClaimEnd.DECIDED, 2)


def test_a_note_becomes_the_reason_of_giving_up() -> None:
    unknown = a_task(TaskState.UNKNOWN)
    given = VerdictRequest("charge", Verdict.ABANDON, 5, note="too old")
    task = decide_verdict(unknown, [an_effect()], given, None, NOW).task
    assert task.error is not None
    assert task.error.message == "too old"
