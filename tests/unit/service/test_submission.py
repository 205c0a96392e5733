"""Submission: all or none, the same id or key, dependencies."""

import pytest

from tenure.core.errors import Forbidden, Invalid, KeyConflict
from tenure.core.event import EventKind
from tenure.core.task import TaskSpec, TaskState
from tenure.service import submission
from tenure.service.principal import Principal
from tests.unit.service.desk import Desk


def test_the_same_id_or_key_names_the_same_task(desk: Desk) -> None:
    """B25: the same content replays the answer, other content is a conflict, also while the first runs."""
    first = desk.submit(TaskSpec("work", id="a", key="k", input={"n": 1}))[0]
    assert first.created
    assert not desk.submit(TaskSpec("work", id="a", input={"n": 1}))[0].created
    assert desk.submit(TaskSpec("work", key="k", input={"n": 1}))[0].id == "a"
    with pytest.raises(KeyConflict):
        desk.submit(TaskSpec("work", id="a", input={"n": 2}))
    with pytest.raises(KeyConflict):
        desk.submit(TaskSpec("work", key="k", input={"n": 2}))
    assert desk.history("a") == ["submitted"]


def test_a_batch_is_added_as_a_whole_or_not_at_all(desk: Desk) -> None:
    with pytest.raises(Invalid) as caught:
        desk.submit(TaskSpec("work", id="a"), TaskSpec("work", id="b", max_attempts=0))
    assert caught.value.path == "tasks[1].max_attempts"
    assert desk.submit(TaskSpec("work", id="a"))[0].created


def test_the_same_key_twice_in_one_call_is_one_task(desk: Desk) -> None:
    one, two = desk.submit(TaskSpec("work", key="k"), TaskSpec("work", key="k"))
    assert one.id == two.id
    assert (one.created, two.created) == (True, False)


def test_unknown_and_cyclic_dependencies_are_refused(desk: Desk) -> None:
    """C016: when the task is created, not silently for ever."""
    with pytest.raises(Invalid, match="there is no task"):
        desk.submit(TaskSpec("work", depends_on=["nowhere"]))
    with pytest.raises(Invalid, match="cycle"):
        desk.submit(TaskSpec("work", id="a", depends_on=["b"]), TaskSpec("work", id="b", depends_on=["a"]))


def test_a_task_opens_when_all_it_depends_on_is_done(desk: Desk) -> None:
    """C016: a failed dependency counts as not done."""
    desk.submit(
        TaskSpec("work", id="a"), TaskSpec("work", id="b"), TaskSpec("work", id="c", depends_on=["a", "b"])
    )
    assert desk.task("c").state is TaskState.BLOCKED
    desk.register()
    for command in desk.dispatch()["w1"]:
        desk.ack(command)
        assert desk.task("c").state is TaskState.BLOCKED
        desk.tell(command, EventKind.SUCCEEDED, {"result": 1})
    assert desk.task("c").state is TaskState.OPEN


def test_a_failed_dependency_blocks_or_cancels_as_was_asked(desk: Desk) -> None:
    desk.submit(TaskSpec("work", id="a", max_attempts=1))
    desk.submit(TaskSpec("work", id="b", depends_on=["a"]))
    desk.submit(TaskSpec("work", id="c", depends_on=["a"], on_dependency_failure="cancel"))
    desk.submit(TaskSpec("work", id="d", depends_on=["c"], on_dependency_failure="cancel"))
    desk.register()
    command = desk.start("a")
    desk.ack(command)
    error = {"type": "X", "message": "no", "traceback": "", "retry": True}
    desk.tell(command, EventKind.FAILED, {"error": error})
    assert [desk.task(t).state for t in "abcd"] == [
        TaskState.FAILED,
        TaskState.BLOCKED,
        TaskState.CANCELLED,
        TaskState.CANCELLED,
    ]


def test_a_credential_reaches_only_its_queues_and_role(desk: Desk) -> None:
    """C118."""
    for who in (Principal("r", "read"), Principal("s", "submit", queues=("other",))):
        with pytest.raises(Forbidden):
            desk.run(lambda tx, who=who: submission.submit(tx, desk.injected, who, [TaskSpec("work")]))


def test_a_delayed_task_is_not_dispatched_before_it_is_due(desk: Desk) -> None:
    desk.register()
    desk.submit(TaskSpec("work", delay_s=5))
    assert desk.dispatch() == {}
    desk.clock.advance(5)
    assert len(desk.dispatch()["w1"]) == 1
