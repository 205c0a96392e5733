"""Registering, heartbeats, leaving."""

from datetime import datetime

import pytest

from tenure.core.claim import LeaseBeat
from tenure.core.errors import Forked, Invalid, NotRegistered
from tenure.core.task import TaskSpec, TaskState
from tenure.service import sessions
from tenure.service.principal import LOCAL
from tests.unit.service.desk import Desk


def test_registering_again_always_succeeds_and_displaces(desk: Desk) -> None:
    """C001, C002, C003: a different token; every heartbeat with the replaced one fails and moves nothing."""
    first = desk.register()
    second = desk.register()
    assert first.token != second.token
    desk.clock.advance(1)
    with pytest.raises(NotRegistered) as caught:
        desk.beat(token=first.token)
    assert caught.value.reason == "displaced"
    assert desk.run(lambda tx: tx.registry.latest(["w1"]))["w1"].expires_at == second.expires_at


def test_a_late_heartbeat_does_not_resurrect(desk: Desk) -> None:
    """C005, C020: expired at the very instant, even if nobody displaced the worker."""
    desk.register()
    desk.clock.advance(30)
    with pytest.raises(NotRegistered) as caught:
        desk.beat()
    assert caught.value.reason == "expired"


def test_a_heartbeat_sets_the_end_from_the_stores_now(desk: Desk) -> None:
    """C006, C007."""
    desk.register()
    desk.clock.advance(10)
    assert (desk.beat().expires_at - desk.clock.wall()).total_seconds() == 30
    with pytest.raises(Invalid):
        desk.run(lambda tx: sessions.heartbeat(tx, desk.injected, "w1", desk.tokens["w1"], 0, 4, {}, []))


def test_leaving_needs_the_current_token(desk: Desk) -> None:
    """C008: the dying old process does not unregister its own replacement."""
    first = desk.register()
    desk.register()
    with pytest.raises(NotRegistered):
        desk.run(lambda tx: sessions.deregister(tx, desk.injected, "w1", first.token))
    assert desk.run(sessions.workers)[0].alive
    desk.run(lambda tx: sessions.deregister(tx, desk.injected, "w1", desk.tokens["w1"]))
    assert not desk.run(sessions.workers)[0].alive


def test_lists_judge_now_and_give_copies_without_tokens(desk: Desk) -> None:
    """C009, C118."""
    desk.register(labels={"gpu": "a"})
    shown = desk.run(sessions.workers)[0]
    shown.labels["gpu"] = "changed"
    again = desk.run(sessions.workers)[0]
    assert again.labels == {"gpu": "a"}
    assert desk.tokens["w1"] not in repr(again)
    desk.clock.advance(30)
    assert not desk.run(sessions.workers)[0].alive


def test_registration_and_lease_are_independent(desk: Desk) -> None:
    """C022: neither call touches the other's end."""
    command = desk.begun()
    until = held_until(desk, command.task_id)
    desk.clock.advance(5)
    desk.beat()
    assert held_until(desk, command.task_id) == until
    answer = desk.beat("w1", LeaseBeat(command.task_id, command.token, 30.0))
    assert answer.leases[0].state == "held"
    assert held_until(desk, command.task_id) > until


def test_a_refused_heartbeat_renews_no_lease(desk: Desk) -> None:
    """D24."""
    command = desk.begun()
    until = held_until(desk, command.task_id)
    desk.clock.advance(30)
    with pytest.raises(NotRegistered):
        desk.beat("w1", LeaseBeat(command.task_id, command.token, 30.0))
    assert held_until(desk, command.task_id) == until


def test_progress_counts_by_number_and_a_bad_one_costs_no_lease(desk: Desk) -> None:
    """C022, C076: an older number changes nothing."""
    command = desk.begun()
    id_, token = command.task_id, command.token
    desk.beat("w1", LeaseBeat(id_, token, 30.0, {"percent": 50.0}, 2))
    desk.beat("w1", LeaseBeat(id_, token, 30.0, {"percent": 20.0}, 1))
    progress = desk.view(id_).progress
    assert progress is not None
    assert progress.percent == 50
    answer = desk.beat("w1", LeaseBeat(id_, token, 30.0, {"percent": 140.0}, 3))
    assert answer.leases[0].state == "held"
    assert answer.leases[0].progress_refused is not None


def test_a_copied_folder_is_told_that_it_is_forked(desk: Desk) -> None:
    """C117: of two copies exactly one goes on, and a refusal changes nothing."""
    desk.register(incarnation="a")
    desk.register(incarnation="b", predecessors=["a"])
    with pytest.raises(Forked):
        desk.register(incarnation="c", predecessors=["a"])
    desk.beat()
    desk.register(incarnation="b", predecessors=["a"], try_number=2)
    with pytest.raises(NotRegistered):
        desk.register(incarnation="b", predecessors=["a"], try_number=1)


def test_another_instance_hands_the_formers_unanswered_starts_back(desk: Desk) -> None:
    """D24: its unacknowledged commands are void, nothing is counted."""
    desk.submit(TaskSpec("work", id="a"))
    desk.register()
    command = desk.start("a")
    desk.register(instance_id="instance-new")
    task = desk.task("a")
    assert task.state is TaskState.OPEN
    assert (task.losses, task.interruptions, task.attempts) == (0, 0, 0)
    assert desk.ack(command).standing == "void"


def test_the_drained_mark_is_numbered_and_survives_registration(desk: Desk) -> None:
    """C111: only an explicit undrain removes it."""
    desk.register()
    desk.run(lambda tx: sessions.drain(tx, desk.injected, LOCAL, "w1", drained=True, note="", revision=None))
    assert desk.register().drained
    desk.submit(TaskSpec("work"))
    assert desk.dispatch() == {}
    desk.run(lambda tx: sessions.drain(tx, desk.injected, LOCAL, "w1", drained=False, note="", revision=1))
    assert desk.beat().drained_number == 2
    assert len(desk.dispatch()["w1"]) == 1


def held_until(desk: Desk, task_id: str) -> datetime:
    """Return the end of a claimed task's lease."""
    claim = desk.view(task_id).claim
    assert claim is not None
    return claim.until
