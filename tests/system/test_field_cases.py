"""Failures that others had in the field, told again with ours."""

import os

import apsw
import pytest

from tenure.core.effect import request_id
from tests.crash.rig import Rig, until
from tests.crash.stores import query
from tests.crash.world import World
from tests.system.waiting import is_settled, wait_began, wait_done, wait_state

LEASE_S = 3.0
LONG = bool(os.environ.get("TENURE_LONG"))

OUTLASTING_S = 9

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(600 if LONG else 150)]


def alter(rig: Rig, *scripts: str) -> None:
    """Change the store behind everybody's back, as a fault or a careless person does."""
    connection = apsw.Connection(str(rig.store))
    for script in scripts:
        connection.execute(script).fetchall()  # pyright: ignore[reportUnknownMemberType]  - as in tests.crash.stores
    connection.close()


def test_a_claim_left_behind_never_unsettles_a_task(rig: Rig, world: World) -> None:
    """B02: the claim's data are put back as they were; the janitor's rounds change nothing of the settled."""
    rig.start_worker("one")
    task_id = rig.submit("echo", {"said": "done"}, lease_ttl_s=LEASE_S)
    before = wait_done(rig, task_id)
    facts = len(list(rig.client.history(task_id)))
    rig.wait_idle("one")
    rig.kill_server()
    alter(rig, "update claim set ended = null, ended_at = null, until = 0, alarm_at = 0")
    rig.start_server()
    # The janitor has gone round once it has judged another task whose holder is dead.
    lost = rig.submit("wait-manual", {"folder": str(rig.folder / "world")}, lease_ttl_s=LEASE_S)
    wait_began(rig, world, f"{lost}:1")
    rig.kill_worker("one")
    wait_state(rig, lost, "unknown")
    after = rig.client.task(task_id)
    assert (after.state, after.result, after.revision) == ("done", "done", before.revision)
    assert len(list(rig.client.history(task_id))) == facts


@pytest.mark.parametrize("is_forgotten", [False, True], ids=["registered", "forgotten"])
def test_a_worker_that_comes_back_under_its_name_recovers(rig: Rig, world: World, is_forgotten: bool) -> None:
    """B06: each start is a new incarnation, and recovery asks no registry whether the old one lives."""
    rig.start_worker("one")
    task_id = rig.submit("wait-query", {"folder": str(rig.folder / "world")}, lease_ttl_s=LEASE_S)
    wait_began(rig, world, f"{task_id}:1")
    rig.kill_worker("one")
    if is_forgotten:
        rig.kill_server()
        alter(rig, "delete from session", "delete from worker")
        rig.start_server()
    rig.start_worker("one")
    for generation in (1, 2):
        (rig.folder / "world" / f"go-{generation}").touch()
    wait_done(rig, task_id, 2 * LEASE_S + 4)
    assert world.count("act", request_id(task_id, 1, "act")) == 1


def test_a_kill_in_the_middle_of_a_drain_is_an_ordinary_crash(rig: Rig, world: World) -> None:
    """B07: TERM, then KILL after t seconds; every task ends once, and no slot stays taken."""
    delays_s = [t / 10 for t in range(31)] if LONG else [0.0, 0.1, 0.4, 0.9, 1.1, 3.0]
    folder = str(rig.folder / "world")
    for delay_s in delays_s:
        worker = rig.start_worker("one")
        task_id = rig.submit("last", {"folder": folder, "seconds": 1.0})
        wait_began(rig, world, task_id)
        worker.terminate()
        try:
            worker.wait_exit(delay_s)
        except TimeoutError:
            worker.kill()
        worker = rig.start_worker("one")
        task = wait_done(rig, task_id)
        assert task.losses <= 1, f"after {delay_s} s: {task}"
        assert wait_done(rig, rig.submit("echo", {"said": str(delay_s)})).result == str(delay_s)
        worker.kill()
    ends = query(rig.store, "select task_id, count(*) from fact where kind = 'succeeded' group by task_id")
    assert {count for _, count in ends} == {1}
    assert len(ends) == 2 * len(delays_s)


def test_a_handler_that_never_ends_is_gone_after_its_silence(rig: Rig, world: World) -> None:
    """B10: alive is not at work; the silent one is killed, recorded so, and its lease renewed no more."""
    worker = rig.start_worker("one")
    rig.wait_idle("one")
    task_id = rig.submit(
        "deaf-recompute",
        {"folder": str(rig.folder / "world")},
        lease_ttl_s=LEASE_S,
        silence_s=2.0,
        max_attempts=1,
    )
    wait_began(rig, world, f"{task_id}:1")
    deaf = {int(line["pid"]) for line in world.lines("began")}
    task = rig.wait_task(task_id, is_settled, "to be settled", 40)
    assert task.state == "failed"
    assert task.error is not None
    assert task.error.type == "silent"
    until(lambda: not deaf & {child.pid for child in worker.children()}, "the deaf executor to be gone")
    lease = "select until from claim"
    ended = query(rig.store, lease)
    wait_done(rig, rig.submit("last", {"folder": str(rig.folder / "world"), "seconds": LEASE_S}))
    assert query(rig.store, f"{lease} where task = 1")[0] == ended[0]


def test_a_cancel_around_the_end_has_one_outcome(rig: Rig, world: World) -> None:
    """B33: cancels land before, within and after the end; one state each, and no child lives on."""
    count = 500 if LONG else 40
    worker = rig.start_worker("one", slots=2)
    folder = str(rig.folder / "world")
    tasks = [rig.submit("brief", {"folder": folder, "seconds": 0.01 * (n % 7)}) for n in range(count)]
    for task_id in tasks:
        until(
            lambda id_=task_id: world.count("began", id_) or is_settled(rig.client.task(id_)), "a beginning"
        )
        rig.client.cancel(task_id)
    ends = [rig.wait_task(task_id, is_settled, "to be settled", 60) for task_id in tasks]
    rig.wait_idle("one")
    assert {task.state for task in ends} <= {"done", "cancelled"}
    for task in ends:
        accepted = [line.kind for line in rig.client.history(task.id) if line.answer == "accepted"]
        assert accepted.count("succeeded") == (task.state == "done")
        assert rig.client.task(task.id).state == task.state
    assert len(worker.children()) <= 3


def test_work_that_outlasts_its_lease_many_times_over_starts_once(rig: Rig, world: World) -> None:
    """B01 C025: the length of a lease says nothing about that of a task; it is renewed while that runs."""
    rig.start_worker("one")
    rig.start_worker("two")
    work = {"folder": str(rig.folder / "world"), "seconds": OUTLASTING_S}
    task = wait_done(rig, rig.submit("last", work, lease_ttl_s=2.0), OUTLASTING_S + 20)
    assert (task.generation, task.losses, world.count("began", task.id)) == (1, 0, 1)
