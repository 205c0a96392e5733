"""Events, witnesses and verdicts, over one store."""

import pytest

from tenure.core.capability import Capability, Recovery
from tenure.core.claim import LeaseBeat
from tenure.core.errors import Blocked, LeaseLost, OutcomeUnknown, StaleRevision, Terminal
from tenure.core.event import Answer, EventKind
from tenure.core.task import TaskSpec, TaskState
from tenure.core.verdict import Verdict, VerdictRequest
from tests.unit.service.desk import Desk, Started

DONE: dict[str, object] = {"result": 1}
ERROR: dict[str, object] = {"error": {"type": "X", "message": "no", "traceback": "", "retry": True}}


def applied(name: str = "charge", result: object = "receipt") -> dict[str, object]:
    """Return the body of an outcome."""
    return {"name": name, "request_id": f"r-{name}", "state": "applied", "result": result}


def test_an_event_is_applied_once_by_its_id(desk: Desk) -> None:
    """C081, C082: a lost answer leads to a resend, and the resend is a duplicate.

    Other content is invalid.
    """
    command = desk.begun()
    event = desk.event(command, EventKind.SUCCEEDED, DONE)
    assert desk.report(event)[0].answer is Answer.ACCEPTED
    assert desk.report(event)[0].answer is Answer.DUPLICATE
    other = desk.event(command, EventKind.SUCCEEDED, {"result": 2}, event_id=event.event_id)
    assert desk.report(other)[0].answer is Answer.INVALID
    assert desk.view(command.task_id).result == 1


def test_one_bad_event_never_spoils_its_batch(desk: Desk) -> None:
    """B28, C090."""
    one, two = desk.begun(), desk.begun()
    answers = desk.report(
        desk.event(one, EventKind.SUCCEEDED, {"nonsense": True}),
        desk.event(two, EventKind.SUCCEEDED, DONE),
        desk.event(one, EventKind.SUCCEEDED, DONE, token="tnr_c_never"),
        desk.event(one, EventKind.SUCCEEDED, DONE, task_id="gone", attempt_id="gone.1"),
        desk.event(one, EventKind.SUCCEEDED, DONE, attempt_id="other.1"),
    )
    assert [a.answer for a in answers] == [
        Answer.INVALID,
        Answer.ACCEPTED,
        Answer.INVALID,
        Answer.STALE,
        Answer.INVALID,
    ]
    assert answers[3].detail == "pruned"


def test_a_lower_sequence_is_kept_and_changes_nothing(desk: Desk) -> None:
    command = desk.begun()
    desk.report(desk.event(command, EventKind.CHECKPOINT, {"value": 5}, sequence=50))
    late = desk.report(desk.event(command, EventKind.CHECKPOINT, {"value": 1}, sequence=40))[0]
    assert late.answer is Answer.STALE
    saved = desk.run(lambda tx: tx.ledger.checkpoints([command.task_id]))
    assert saved[command.task_id].value == 5


def test_after_a_takeover_the_old_worker_changes_nothing(desk: Desk) -> None:
    """C012, C017, C019: the earlier token is dead at once, and its late result is kept beside."""
    command = desk.begun()
    desk.clock.advance(31)
    taken = desk.claim(command.task_id)
    assert desk.tell(command, EventKind.SUCCEEDED, DONE).answer is Answer.STALE
    desk.register()
    beat = desk.beat("w1", LeaseBeat(command.task_id, command.token, 30.0))
    assert beat.leases[0].state == "lost"
    assert desk.witness(command).standing == "lease_lost"
    assert desk.complete(taken, 2).result == 2


def test_a_result_after_expiry_counts_while_nobody_took_over(desk: Desk) -> None:
    """D1."""
    command = desk.begun()
    desk.clock.advance(300)
    assert desk.tell(command, EventKind.SUCCEEDED, DONE).answer is Answer.ACCEPTED
    assert desk.task(command.task_id).state is TaskState.DONE


def test_the_next_attempt_gets_the_evidence(desk: Desk) -> None:
    """B08, C042: checkpoint, ledger and earlier attempts travel with the next start."""
    command = desk.begun()
    desk.tell(command, EventKind.CHECKPOINT, {"value": {"offset": 7}})
    desk.witness(command)
    desk.tell(command, EventKind.EFFECT, applied())
    desk.tell(command, EventKind.STEP, {"name": "plan", "result": [1]})
    desk.tell(command, EventKind.HANDED_BACK, {"reason": "drain"})
    evidence = desk.start(command.task_id).command.evidence
    assert evidence is not None
    assert evidence.checkpoint is not None
    assert evidence.checkpoint.value == {"offset": 7}
    assert [(e.name, e.kind, e.state, e.result) for e in evidence.effects] == [
        ("charge", "effect", "applied", "receipt"),
        ("plan", "step", "applied", [1]),
    ]
    assert [(a.generation, a.ended) for a in evidence.attempts] == [(1, "handed_back")]


def test_a_checkpoint_of_local_files_goes_only_to_the_instance_that_made_it(desk: Desk) -> None:
    """protocol.md, Claim: not portable."""
    command = desk.begun()
    desk.tell(command, EventKind.CHECKPOINT, {"value": "part-7", "portable": False})
    desk.tell(command, EventKind.HANDED_BACK)
    desk.register("w2")
    evidence = desk.start(command.task_id, "w2").command.evidence
    assert evidence is not None
    assert evidence.checkpoint is None


def test_a_witness_is_recorded_before_its_go_and_renews(desk: Desk) -> None:
    """D16."""
    command = desk.begun()
    before = desk.task(command.task_id).claim
    desk.clock.advance(10)
    assert desk.witness(command).standing == "go"
    assert desk.witness(command).standing == "go"
    after = desk.task(command.task_id).claim
    assert before is not None
    assert after is not None
    assert after.until > before.until
    assert desk.history(command.task_id).count("witnessed") == 1


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (EventKind.SUPERSEDED, {"outcome": "cancelled"}),
        (EventKind.LOST, {"cause": "worker_restarted"}),
        (EventKind.FAILED, ERROR),
    ],
)
def test_an_end_that_is_told_after_a_takeover_still_lets_an_absence_be_believed(
    desk: Desk, kind: EventKind, body: dict[str, object]
) -> None:
    """C109: too late to change the task, and yet its worker says that the execution acts no more."""
    command = desk.begun()
    desk.witness(command, settled_by=("find",))
    desk.pass_calmly(62)
    desk.register("w2")
    taken = desk.sweep("w2")["w2"][0]
    desk.ack(taken, "w2")
    doubt = desk.witness(taken, settled_by=("find",))
    assert (doubt.standing, doubt.predecessor) == ("in_doubt", "may_still_act")
    assert desk.witness(taken, settled_by=("find",), after="absent").standing == "in_doubt"
    assert desk.tell(command, kind, body).answer is Answer.STALE
    assert desk.witness(taken, settled_by=("find",)).predecessor == "ended"
    assert desk.witness(taken, settled_by=("find",), after="absent").standing == "go"


def test_a_verdict_knows_who_holds_the_permit(desk: Desk) -> None:
    """recovery.md: the one that took over and found nothing is not the one that may still act."""
    command = desk.begun()
    desk.witness(command, settled_by=("find",))
    desk.pass_calmly(62)
    desk.register("w2")
    taken = desk.sweep("w2")["w2"][0]
    desk.ack(taken, "w2")
    desk.tell(taken, EventKind.UNKNOWN, {"subjects": ["charge"]})
    shown = desk.view(command.task_id)
    assert shown.unknown[0].may_still_act
    given = VerdictRequest("charge", Verdict.DID_NOT_HAPPEN, shown.revision)
    with pytest.raises(Blocked):
        desk.verdict(command.task_id, given)
    desk.tell(command, EventKind.SUPERSEDED, {"outcome": "cancelled"})
    assert not desk.view(command.task_id).unknown[0].may_still_act
    assert desk.verdict(command.task_id, given).state == "open"


def in_doubt(desk: Desk) -> Started:
    """Return a task whose worker died in the window of a charge that cannot be asked for."""
    command = desk.begun()
    desk.witness(command)
    desk.tell(command, EventKind.LOST, {"cause": "worker_restarted"})
    desk.tell(command, EventKind.UNKNOWN, {"subjects": ["charge"]})
    return command


def test_what_cannot_be_known_is_unknown_and_settled_by_a_person(desk: Desk) -> None:
    """C072, C108, C119, C120: the story of the paid call."""
    command = in_doubt(desk)
    shown = desk.view(command.task_id)
    assert shown.state == "unknown"
    assert [s.subject for s in shown.unknown] == ["charge"]
    assert not shown.unknown[0].may_still_act
    with pytest.raises(OutcomeUnknown):
        desk.claim(command.task_id)
    with pytest.raises(StaleRevision):
        desk.verdict(command.task_id, VerdictRequest("charge", Verdict.HAPPENED, shown.revision - 1))
    given = VerdictRequest("charge", Verdict.HAPPENED, shown.revision, result="receipt")
    assert desk.verdict(command.task_id, given).state == "open"
    assert desk.verdict(command.task_id, given).state == "open"
    with pytest.raises(Terminal):
        desk.verdict(command.task_id, VerdictRequest("charge", Verdict.DID_NOT_HAPPEN, shown.revision))
    again = desk.start(command.task_id)
    assert again.generation == 3
    desk.ack(again)
    answer = desk.witness(again)
    assert (answer.standing, answer.result) == ("applied", "receipt")
    assert desk.tell(command, EventKind.SUCCEEDED, DONE).answer is Answer.STALE


def test_did_not_happen_allows_it_under_the_same_request(desk: Desk) -> None:
    """C106, C120."""
    command = in_doubt(desk)
    revision = desk.view(command.task_id).revision
    desk.verdict(command.task_id, VerdictRequest("charge", Verdict.DID_NOT_HAPPEN, revision))
    again = desk.start(command.task_id)
    desk.ack(again)
    assert desk.witness(again).standing == "go"


def test_evidence_against_did_not_happen_stops_the_next_attempt(desk: Desk) -> None:
    """C120: contradiction, before it is witnessed again: unknown, with both shown."""
    command = in_doubt(desk)
    revision = desk.view(command.task_id).revision
    desk.verdict(command.task_id, VerdictRequest("charge", Verdict.DID_NOT_HAPPEN, revision))
    again = desk.start(command.task_id)
    desk.ack(again)
    assert desk.tell(command, EventKind.EFFECT, applied()).answer is Answer.ACCEPTED
    assert desk.task(command.task_id).state is TaskState.UNKNOWN
    assert desk.witness(again).standing == "in_doubt"


def test_the_holders_own_evidence_ends_the_doubt(desk: Desk) -> None:
    """recovery.md: the worker returns with its local store and reports what happened."""
    command = in_doubt(desk)
    desk.tell(command, EventKind.EFFECT, applied())
    assert desk.task(command.task_id).state is TaskState.CLAIMED
    assert desk.tell(command, EventKind.SUCCEEDED, DONE).answer is Answer.ACCEPTED


def test_abandoned_is_failed_and_a_plain_retry_of_another_doubt_is_refused(desk: Desk) -> None:
    """recovery.md: a plain retry is refused as outcome unknown until it is decided; afresh is a new run."""
    command = desk.begun()
    desk.witness(command, "charge")
    desk.witness(command, "mail")
    desk.tell(command, EventKind.UNKNOWN, {"subjects": ["charge"]})
    revision = desk.view(command.task_id).revision
    desk.verdict(command.task_id, VerdictRequest("charge", Verdict.ABANDON, revision))
    assert desk.task(command.task_id).state is TaskState.FAILED
    with pytest.raises(OutcomeUnknown):
        desk.retry(command.task_id)
    assert desk.retry(command.task_id, afresh=True).run == 2


def test_cancelling_an_unknown_task_gives_it_up(desk: Desk) -> None:
    """architecture.md, Cancel: the verdict abandon, shown as cancelled."""
    command = in_doubt(desk)
    assert desk.cancel(command.task_id).state == "cancelled"


def test_whoever_settles_first_wins_against_a_cancel(desk: Desk) -> None:
    """B33, C073."""
    command = desk.begun()
    assert desk.cancel(command.task_id).cancel_requested
    assert desk.tell(command, EventKind.SUCCEEDED, DONE).answer is Answer.ACCEPTED
    assert desk.cancel(command.task_id).state == "done"


def test_a_retry_continues_the_run(desk: Desk) -> None:
    command = desk.begun(TaskSpec("work", max_attempts=1))
    desk.witness(command)
    desk.tell(command, EventKind.EFFECT, applied())
    desk.tell(command, EventKind.FAILED, ERROR)
    assert desk.retry(command.task_id).attempts == 0
    again = desk.start(command.task_id)
    desk.ack(again)
    assert desk.witness(again).standing == "applied"


@pytest.mark.parametrize("rule", list(Recovery))
def test_a_vanished_worker_by_rule(desk: Desk, rule: Recovery) -> None:
    """C091, C116, D19, B06: silence alone moves nothing.

    In calm another worker takes over, or a person decides.
    """
    declared = [Capability("work", "1", rule)]
    desk.register(capabilities=declared)
    command = desk.begun(TaskSpec("work", lease_ttl_s=5))
    desk.pulse()
    desk.register("w2", capabilities=declared)
    desk.clock.advance(6)
    assert desk.sweep("w2") == {}
    assert desk.task(command.task_id).state is TaskState.CLAIMED
    desk.pass_calmly(6)
    starts = desk.sweep("w2").get("w2", [])
    if rule is Recovery.MANUAL:
        assert starts == []
        assert desk.view(command.task_id).unknown[0].may_still_act
        return
    assert [s.generation for s in starts] == [2]
    assert desk.task(command.task_id).losses == 1


def test_a_task_that_kills_workers_does_not_walk_through_the_fleet(desk: Desk) -> None:
    """B02, field 3b: losses are counted on the task and capped."""
    command = desk.begun(TaskSpec("work", lease_ttl_s=5, max_losses=2))
    for expected in (1, 2):
        desk.register()
        desk.register("w2")
        desk.pass_calmly(6)
        starts = desk.sweep("w2").get("w2", [])
        if expected == 1:
            desk.ack(starts[0], "w2")
    task = desk.task(command.task_id)
    assert task.state is TaskState.FAILED
    assert task.error is not None
    assert task.error.type == "lost"


def test_pull_workers_claim_renew_complete_and_release(desk: Desk) -> None:
    """C010, C011, C013, C015, C018, C021."""
    task_id = desk.submit(TaskSpec("work"))[0].id
    first = desk.claim(task_id)
    released = desk.release(first, "handed_back")
    assert released.state == "open"
    assert desk.release(first, "handed_back").state == "open"
    with pytest.raises(LeaseLost):
        desk.renew(first)
    with pytest.raises(LeaseLost):
        desk.complete(first)
    second = desk.claim(task_id)
    assert second.generation == 2
    desk.clock.advance(20)
    assert (desk.renew(second, 10).until - desk.clock.wall()).total_seconds() == 10
    assert desk.complete(second, "r").state == "done"
    assert desk.complete(second, "other").result == "r"
    with pytest.raises(Terminal):
        desk.release(second)
    with pytest.raises(Terminal):
        desk.claim(task_id)
