"""The ledger's two decisions: permits, and reported outcomes."""

from datetime import timedelta

import pytest

from tenure.core.claim import ClaimEnd, Standing
from tenure.core.effect import EffectState, WitnessStanding
from tenure.core.event import EffectBody
from tenure.core.task import Ending, TaskState
from tenure.core.witness import take_outcome, witness
from tests.unit.core.build import NOW, a_claim, a_task, an_ask, an_effect

SECOND = a_claim(2, agent="w2", instance_id="i2")


def test_the_first_execution_gets_the_permit_and_the_same_one_again() -> None:
    """D16: the first (generation, epoch) holds the permit; a lost reply is not a doubt."""
    first = witness(a_task(), Standing.NEWEST, None, None, an_ask(), NOW)
    assert first.standing is WitnessStanding.GO
    again = witness(a_task(), Standing.NEWEST, first.effect, None, an_ask(), NOW)
    assert again.standing is WitnessStanding.GO
    assert again.effect is None


def test_another_execution_gets_in_doubt() -> None:
    """B24: what may have been applied is never applied blindly."""
    answer = witness(a_task(claim=SECOND), Standing.NEWEST, an_effect(), a_claim(), an_ask(), NOW)
    assert answer.standing is WitnessStanding.IN_DOUBT
    assert answer.predecessor == "may_still_act"


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (a_claim(ended=ClaimEnd.HANDED_BACK), NOW),
        (a_claim(lost_epoch=1), NOW),
        (a_claim(instance_id="i2"), NOW),
        (a_claim(), NOW + timedelta(minutes=6)),
    ],
)
def test_an_absence_is_believed_once_the_predecessor_has_ended(earlier: object, later: object) -> None:
    """C109: reported over, reported lost, ended on the same instance, or quiet has passed."""
    ask = an_ask(after="absent", settled_by=("find",))
    answer = witness(a_task(claim=SECOND), Standing.NEWEST, an_effect(), earlier, ask, later)  # pyright: ignore[reportArgumentType] - parametrised
    assert answer.standing is WitnessStanding.GO
    assert answer.effect is not None
    assert (answer.effect.generation, answer.effect.after) == (2, "absent")


def test_an_absence_is_not_believed_while_the_predecessor_may_still_act() -> None:
    """C109, C122: an executor paused inside apply could act after the look-up said absent."""
    ask = an_ask(after="absent", settled_by=("find",))
    answer = witness(a_task(claim=SECOND), Standing.NEWEST, an_effect(), a_claim(), ask, NOW)
    assert answer.standing is WitnessStanding.IN_DOUBT
    idempotent = an_ask(after="absent", settled_by=("find", "idempotent"))
    allowed = witness(a_task(claim=SECOND), Standing.NEWEST, an_effect(), a_claim(), idempotent, NOW)
    assert allowed.standing is WitnessStanding.GO


@pytest.mark.parametrize(
    ("state", "standing"),
    [
        (EffectState.APPLIED, WitnessStanding.APPLIED),
        (EffectState.ABANDONED, WitnessStanding.ABANDONED),
        (EffectState.ABSENT, WitnessStanding.GO),
    ],
)
def test_a_settled_effect_is_answered_from_the_ledger(state: EffectState, standing: WitnessStanding) -> None:
    """recovery.md: applied returns its result; abandoned never re-enters as absent."""
    answer = witness(a_task(claim=SECOND), Standing.NEWEST, an_effect(state), None, an_ask(), NOW)
    assert answer.standing is standing


def test_other_params_are_a_mismatch() -> None:
    """C110: the same name with other parameters is an error to surface."""
    answer = witness(a_task(), Standing.NEWEST, an_effect(), None, an_ask(digest="other"), NOW)
    assert answer.standing is WitnessStanding.MISMATCH


@pytest.mark.parametrize("standing", [Standing.OLDER, Standing.UNMINTED])
def test_no_permit_without_the_newest_token(standing: Standing) -> None:
    """C059: the generation travels with every protected write."""
    answer = witness(a_task(), standing, None, None, an_ask(), NOW)
    assert answer.standing is WitnessStanding.LEASE_LOST


def test_no_new_effect_begins_after_a_cancel() -> None:
    """C058, C073."""
    answer = witness(a_task(cancel_requested=True), Standing.NEWEST, None, None, an_ask(), NOW)
    assert answer.standing is WitnessStanding.CANCELLED


def applied(state: str = "applied") -> EffectBody:
    return EffectBody("charge", "t1.1.charge", state, {"id": 1})  # pyright: ignore[reportArgumentType] - parametrised


def test_an_older_tokens_evidence_counts_while_no_newer_permit_exists() -> None:
    """C082, D16: into the ledger as evidence; the last subject of an unknown settled opens the task."""
    unknown = a_task(TaskState.UNKNOWN, claim=SECOND, generation=3)
    outcome = take_outcome(unknown, an_effect(), applied(), Standing.OLDER, 1, 1, NOW, 0.0)
    assert outcome.accepted
    assert outcome.task.state is TaskState.OPEN
    assert outcome.effect is not None
    assert outcome.effect.state is EffectState.APPLIED


def test_an_older_tokens_evidence_is_flagged_beside_a_newer_permit() -> None:
    """C120: changes only the permit that it reports."""
    newer = an_effect(generation=2)
    outcome = take_outcome(a_task(claim=SECOND), newer, applied(), Standing.OLDER, 1, 1, NOW, 0.0)
    assert not outcome.accepted
    assert outcome.flagged
    assert outcome.effect is None


def test_the_newest_tokens_evidence_brings_an_unknown_back_to_its_holder() -> None:
    """D16: the last subject settled, claimed again."""
    outcome = take_outcome(
        a_task(TaskState.UNKNOWN), an_effect(EffectState.IN_DOUBT), applied(), Standing.NEWEST, 1, 1, NOW, 0.0
    )
    assert outcome.task.state is TaskState.CLAIMED
    assert outcome.task.holder is not None


def test_a_kept_ending_is_taken_by_evidence() -> None:
    """recovery.md, Endings."""
    task = a_task(TaskState.UNKNOWN, ending=Ending("succeeded", result=7))
    outcome = take_outcome(task, an_effect(), applied(), Standing.NEWEST, 1, 1, NOW, 0.0)
    assert outcome.task.state is TaskState.DONE
    assert outcome.task.result == 7


@pytest.mark.parametrize("state", [TaskState.OPEN, TaskState.CLAIMED, TaskState.UNKNOWN, TaskState.FAILED])
def test_evidence_against_did_not_happen_opens_the_doubt_again(state: TaskState) -> None:
    """C120: before the effect is witnessed again, nobody may act on the false verdict."""
    denied = an_effect(EffectState.ABSENT, decided_by="verdict")
    task = a_task(state, claim=SECOND)
    outcome = take_outcome(task, denied, applied(), Standing.OLDER, 1, 1, NOW, 0.0)
    assert outcome.flagged
    assert outcome.task.state is TaskState.UNKNOWN
    assert outcome.effect is not None
    assert outcome.effect.is_in_doubt


def test_an_applied_effect_never_becomes_anything_else() -> None:
    """C071."""
    for state in ("absent", "in_doubt"):
        outcome = take_outcome(
            a_task(),
            an_effect(EffectState.APPLIED, result={"id": 1}),
            applied(state),
            Standing.NEWEST,
            1,
            1,
            NOW,
            0.0,
        )
        assert outcome.effect is None
        assert outcome.flagged
