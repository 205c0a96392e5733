"""Handlers that misbehave cost an attempt and never a heartbeat. C025 D15 B04."""

import os
import time

import pytest

from tenure import Recovery
from tests.crash.rig import Rig
from tests.crash.world import World
from tests.system.waiting import longest_gap_s, wait_began, wait_done, wait_state

LEASE_S = 3.0
LONG = bool(os.environ.get("TENURE_LONG"))
HELD_S = 60 if LONG else 8
"""The interpreter's lock is held so long; `make crash` tells the long version."""

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(HELD_S + 90)]


def test_a_handler_that_holds_the_interpreter_misses_no_heartbeat(rig: Rig, world: World) -> None:
    """B04: two workers, one run, and no gap between heartbeats as long as the lease."""
    rig.start_worker("one")
    rig.start_worker("two")
    work = {"folder": str(rig.folder / "world"), "seconds": HELD_S}
    task_id = rig.submit("hold-interpreter", work, lease_ttl_s=LEASE_S)
    wait_began(rig, world, task_id)
    began = time.monotonic()
    task = wait_done(rig, task_id, HELD_S + 20)
    assert (task.generation, task.losses, world.count("began", task_id)) == (1, 0, 1)
    assert longest_gap_s(rig, began, began + HELD_S) < LEASE_S


def test_two_busy_loops_a_processor_take_no_lease(rig: Rig, world: World) -> None:
    """B04: handlers that use every processor twice over still run once each."""
    count = 2 * (os.cpu_count() or 1)
    rig.start_worker("one", slots=count)
    work = {"folder": str(rig.folder / "world"), "seconds": LEASE_S * 2}
    tasks = [rig.submit("burn", work, lease_ttl_s=LEASE_S) for _ in range(count)]
    for task_id in tasks:
        task = wait_done(rig, task_id, 60)
        assert (task.generation, world.count("began", task_id)) == (1, 1)


@pytest.mark.parametrize("how", ["segfault", "eat-memory"])
def test_a_handler_that_dies_is_recovered_by_its_rule(rig: Rig, world: World, how: str) -> None:
    """C091 B34: the same death under four rules, four documented outcomes, one worker that lives on."""
    worker = rig.start_worker("one", slots=2)
    began = time.monotonic()
    work = {"folder": str(rig.folder / "world")}
    tasks = {rule: rig.submit(f"{how}-{rule}", work, lease_ttl_s=LEASE_S) for rule in Recovery}
    for rule in (Recovery.RECOMPUTE, Recovery.RESUME, Recovery.QUERY):
        task = wait_done(rig, tasks[rule])
        assert (task.result, task.losses, task.generation) == ("survived", 1, 1)
    manual = wait_state(rig, tasks[Recovery.MANUAL], "unknown")
    assert [subject.subject for subject in manual.unknown] == ["attempt"]
    assert world.count("ran", f"{tasks[Recovery.RESUME]}:reached") == 1
    assert world.count("ran", f"{tasks[Recovery.MANUAL]}:None") == 1
    assert worker.is_running
    assert wait_done(rig, rig.submit("echo", {"said": "hello"})).result == "hello"
    assert longest_gap_s(rig, began, time.monotonic()) < LEASE_S
