"""What a person's decision on an unknown subject does."""

from datetime import timedelta

import pytest

from tenure.core.claim import ClaimEnd
from tenure.core.effect import EffectState
from tenure.core.errors import Blocked, NotFound, StaleRevision, Terminal
from tenure.core.task import Ending, Task, TaskState
from tenure.core.verdict import Decision, Verdict, VerdictRequest, VerdictRow, decide_verdict, may_still_act
from tests.unit.core.build import NOW, a_claim, a_task, an_effect

DOUBT = an_effect(EffectState.IN_DOUBT)


def unknown(**fields: object) -> Task:
    """Return a task whose holder reported that the charge is in doubt."""
    return a_task(TaskState.UNKNOWN, **fields)  # pyright: ignore[reportArgumentType] - a builder takes any field


def give(
    task: Task, verdict: Verdict, subject: str = "charge", *, revision: int = 5, anyway: bool = False
) -> Decision:
    """Give a verdict on the charge, with a result where it happened."""
    result = {"id": 9} if verdict is Verdict.HAPPENED else None
    asked = VerdictRequest(subject, verdict, revision, result=result, anyway=anyway)
    return decide_verdict(task, [DOUBT], asked, None, NOW)


def test_happened_opens_the_task_for_a_continuation() -> None:
    """C120: after "took effect" the next attempt continues with the saved result."""
    decided = give(unknown(), Verdict.HAPPENED)
    assert decided.task.state is TaskState.OPEN
    assert decided.task.generation == 2
    assert decided.effect is not None
    assert (decided.effect.state, decided.effect.result) == (EffectState.APPLIED, {"id": 9})


def test_did_not_happen_allows_a_rerun() -> None:
    """C120: a rerun only after "had no effect"."""
    decided = give(unknown(ending=Ending("succeeded", 1)), Verdict.DID_NOT_HAPPEN)
    assert decided.task.state is TaskState.OPEN
    assert decided.task.ending is None
    assert decided.effect is not None
    assert decided.effect.state is EffectState.ABSENT


def test_happened_takes_a_kept_ending() -> None:
    """recovery.md, Endings: taken when the last subject is decided happened."""
    assert give(unknown(ending=Ending("succeeded", 1)), Verdict.HAPPENED).task.state is TaskState.DONE


def test_a_verdict_on_the_attempt_is_about_the_task() -> None:
    """recovery.md: happened on `attempt` is done, did not happen is open again."""
    task = unknown(subjects=("attempt",))
    done = give(task, Verdict.HAPPENED, "attempt").task
    assert (done.state, done.result) == (TaskState.DONE, {"id": 9})
    assert give(task, Verdict.DID_NOT_HAPPEN, "attempt").task.state is TaskState.OPEN


def test_still_unknown_changes_nothing_but_the_record() -> None:
    """C119: a look is recorded."""
    decided = give(unknown(), Verdict.STILL_UNKNOWN)
    assert decided.task.state is TaskState.UNKNOWN
    assert decided.task.generation == 1
    assert decided.effect is None


def test_abandon_fails_the_task_at_once_and_leaves_the_other_doubts() -> None:
    """recovery.md: what else is in doubt stays so."""
    decided = give(unknown(subjects=("charge", "mail")), Verdict.ABANDON)
    assert decided.task.state is TaskState.FAILED
    assert decided.task.subjects == ("mail",)
    assert decided.effect is not None
    assert decided.effect.state is EffectState.ABANDONED


def test_every_subject_must_be_decided() -> None:
    """recovery.md: a task leaves unknown when each subject is decided."""
    decided = give(unknown(subjects=("charge", "mail")), Verdict.HAPPENED)
    assert decided.task.state is TaskState.UNKNOWN
    assert decided.task.subjects == ("mail",)


def test_a_verdict_is_compared_with_the_present_revision() -> None:
    """C120: compare and set."""
    with pytest.raises(StaleRevision):
        give(unknown(), Verdict.HAPPENED, revision=4)


def test_did_not_happen_while_the_holder_may_still_act_needs_anyway() -> None:
    """recovery.md: a vanished holder could be paused inside apply."""
    vanished = unknown(claim=a_claim(ended=ClaimEnd.LOST))
    with pytest.raises(Blocked) as caught:
        give(vanished, Verdict.DID_NOT_HAPPEN)
    assert caught.value.reason == "may_still_act"
    assert give(vanished, Verdict.DID_NOT_HAPPEN, anyway=True).task.state is TaskState.OPEN
    assert not may_still_act(vanished, DOUBT, NOW + timedelta(minutes=6))


def test_what_a_later_holder_reported_says_nothing_of_the_one_with_the_permit() -> None:
    """recovery.md: the first holder vanished inside apply; the one that took over only looked, in vain."""
    later = unknown(claim=a_claim(2, ended=ClaimEnd.UNKNOWN))
    vanished = a_claim(1, epoch=1, ended=ClaimEnd.TAKEN_OVER)
    assert may_still_act(later, DOUBT, NOW, vanished)
    asked = VerdictRequest("charge", Verdict.DID_NOT_HAPPEN, later.revision)
    with pytest.raises(Blocked):
        decide_verdict(later, [DOUBT], asked, None, NOW, vanished)
    told = a_claim(1, epoch=1, lost_epoch=1, ended=ClaimEnd.TAKEN_OVER)
    assert not may_still_act(later, DOUBT, NOW, told)


def test_the_same_verdict_again_gets_the_same_answer_and_another_is_refused() -> None:
    """C120: applied once."""
    done = a_task(TaskState.OPEN, claim=a_claim(ended=ClaimEnd.UNKNOWN))
    row = VerdictRow("t1", 1, "charge", Verdict.HAPPENED, "me", NOW, 5, result={"id": 9})
    same = VerdictRequest("charge", Verdict.HAPPENED, 5, result={"id": 9})
    assert decide_verdict(done, [], same, row, NOW).repeated
    with pytest.raises(Terminal):
        decide_verdict(done, [], VerdictRequest("charge", Verdict.DID_NOT_HAPPEN, 5), row, NOW)
    with pytest.raises(NotFound):
        decide_verdict(done, [], VerdictRequest("mail", Verdict.HAPPENED, 5), None, NOW)
