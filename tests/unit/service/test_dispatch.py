"""Starts, their acknowledgements, and what voids them."""

from tenure.core.capability import Capability, Recovery
from tenure.core.task import TaskSpec, TaskState
from tenure.service import dispatch
from tests.unit.service.desk import Desk


def test_a_worker_gets_no_more_starts_than_its_room(desk: Desk) -> None:
    """D21: by credit; unacknowledged starts count against it."""
    desk.register(room=2)
    desk.submit(*[TaskSpec("work") for _ in range(5)])
    assert len(desk.dispatch()["w1"]) == 2
    assert desk.dispatch() == {}
    desk.beat(room=3)
    assert len(desk.dispatch()["w1"]) == 1


def test_only_what_it_can_run_and_never_hidden_behind_what_it_cannot(desk: Desk) -> None:
    """B05, D21: capability, version, labels and free resources."""
    desk.register(
        labels={"zone": "a"},
        resources={"gpu": 1},
        capabilities=[Capability("work", "2", Recovery.QUERY)],
        room=10,
    )
    desk.submit(*[TaskSpec("other") for _ in range(30)])
    desk.submit(*[TaskSpec("work", version="1") for _ in range(30)])
    desk.submit(*[TaskSpec("work", requires={"zone": "b"}) for _ in range(30)])
    desk.submit(*[TaskSpec("work", resources={"gpu": 2}) for _ in range(30)])
    desk.submit(TaskSpec("work", id="fits", requires={"zone": "*"}, resources={"gpu": 1}))
    desk.submit(TaskSpec("work", id="no-more", resources={"gpu": 1}))
    assert [c.task_id for c in desk.dispatch()["w1"]] == ["fits"]


def test_higher_priority_first_then_older(desk: Desk) -> None:
    desk.register(room=3)
    desk.submit(TaskSpec("work", id="a"), TaskSpec("work", id="b"), TaskSpec("work", id="c", priority=1))
    assert [c.task_id for c in desk.dispatch()["w1"]] == ["c", "a", "b"]


def test_an_expired_worker_gets_nothing(desk: Desk) -> None:
    """D21: only while its registration is live."""
    desk.register()
    desk.submit(TaskSpec("work"))
    desk.clock.advance(30)
    assert desk.dispatch() == {}


def test_acknowledgements_are_answered_from_the_present_for_ever(desk: Desk) -> None:
    """C064, D13: go while the claim is held, void once it is not; an unknown command is void."""
    command = desk.begun()
    desk.clock.advance(10)
    assert desk.ack(command).standing == "go"
    assert desk.view(command.task_id).claim is not None
    desk.cancel(command.task_id)
    assert desk.ack(command).cancel_requested
    desk.clock.advance(31)
    taken = desk.claim(command.task_id)
    desk.register()
    assert desk.ack(command).standing == "void"
    assert taken.generation == 2


def test_an_acknowledgement_renews_and_leaves_the_revision(desk: Desk) -> None:
    """D13: the claim's first renewal; protocol.md: renewal never raises the revision."""
    command = desk.begun()
    before = desk.task(command.task_id)
    desk.clock.advance(10)
    desk.ack(command)
    after = desk.task(command.task_id)
    assert after.revision == before.revision
    assert after.claim is not None
    assert before.claim is not None
    assert after.claim.until > before.claim.until


def test_the_token_is_erased_once_a_start_is_answered(desk: Desk) -> None:
    """D26: only digests at rest, except in a command that waits for its answer."""
    desk.submit(TaskSpec("work", id="a"))
    desk.register()
    command = desk.start("a")
    rows = desk.run(lambda tx: tx.commands.load([command.command_id]))
    assert rows[command.command_id].token == command.token
    desk.ack(command)
    rows = desk.run(lambda tx: tx.commands.load([command.command_id]))
    assert rows[command.command_id].token is None


def test_every_unanswered_command_is_offered_again(desk: Desk) -> None:
    """C115, B13: whatever the stream says it has seen."""
    desk.submit(TaskSpec("work"), TaskSpec("work"))
    desk.register()
    one, two = desk.dispatch()["w1"]
    offered = desk.run(lambda tx: dispatch.offer_again(tx, "w1", 0, 10))
    assert [c.command_id for c in offered] == [one.command_id, two.command_id]
    assert offered[0].token == one.token
    desk.ack(one)
    offered = desk.run(lambda tx: dispatch.offer_again(tx, "w1", 0, 10))
    assert [c.command_id for c in offered] == [two.command_id]


def test_a_refused_start_is_handed_back_and_not_offered_to_the_same_worker_again(desk: Desk) -> None:
    """C067, D21: unsupported excludes this worker from this task; others may have it."""
    desk.submit(TaskSpec("work", id="a"))
    desk.register()
    desk.ack(desk.start("a"), accepted=False, reason="unsupported")
    task = desk.task("a")
    assert (task.state, task.attempts, task.losses) == (TaskState.OPEN, 0, 0)
    assert desk.dispatch() == {}
    desk.register("w2")
    assert desk.dispatch("w2")["w2"][0].task_id == "a"


def test_input_that_cannot_be_is_a_failed_try_without_retry(desk: Desk) -> None:
    """protocol.md: invalid_input."""
    desk.submit(TaskSpec("work", id="a"))
    desk.register()
    desk.ack(desk.start("a"), accepted=False, reason="invalid_input", detail="source: missing")
    task = desk.task("a")
    assert task.state is TaskState.FAILED
    assert task.error is not None
    assert task.error.type == "invalid_input"


def test_the_first_recorded_answer_stays(desk: Desk) -> None:
    """C064: a later refusal does not undo an acceptance."""
    command = desk.begun()
    assert desk.ack(command, accepted=False, reason="capacity").standing == "go"
    assert desk.task(command.task_id).state is TaskState.CLAIMED


def test_a_cancel_before_the_answer_is_one_transaction(desk: Desk) -> None:
    """B33: command void, task cancelled."""
    desk.submit(TaskSpec("work", id="a"))
    desk.register()
    command = desk.start("a")
    assert desk.cancel("a").state == "cancelled"
    assert desk.ack(command).standing == "void"


def test_a_start_without_an_answer_is_void_in_calm(desk: Desk) -> None:
    """D20, hatchet's lesson: a claim is confirmed only by the worker's inbox."""
    desk.submit(TaskSpec("work", id="a"))
    desk.register()
    command = desk.start("a")
    desk.pulse()
    desk.clock.advance(11)
    desk.pulse()
    desk.sweep("w1")
    assert desk.task("a").state is TaskState.CLAIMED
    desk.pass_calmly(11)
    desk.sweep("w1")
    assert (desk.task("a").state, desk.task("a").losses) == (TaskState.OPEN, 0)
    assert desk.ack(command).standing == "void"
