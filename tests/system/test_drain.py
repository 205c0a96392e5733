"""Leaving and coming back: a signal drains, a second one cancels, a drained mark lasts. C051 to C057 C111."""

import pytest

from tests.crash.rig import Rig
from tests.crash.world import World
from tests.system.waiting import held_to, wait_began, wait_done, wait_state

pytestmark = [pytest.mark.crash, pytest.mark.slow]


def test_sigterm_ends_what_runs_and_hands_back_what_waits(rig: Rig, world: World) -> None:
    """C051 C053 C055: what has started is carried to its end, what has not is open again and free."""
    worker = rig.start_worker("one", grace_s=30)
    folder = {"folder": str(rig.folder / "world")}
    running = rig.submit("wait-recompute", folder)
    wait_began(rig, world, f"{running}:1")
    waiting = rig.submit("echo", {"said": "later"})
    wait_state(rig, waiting, "claimed")
    worker.terminate()
    handed_back = wait_state(rig, waiting, "open")
    assert (handed_back.attempts, handed_back.losses) == (0, 0)
    assert worker.is_running
    (rig.folder / "world" / "go-1").touch()
    assert wait_done(rig, running).generation == 1
    assert worker.wait_exit() == 0
    assert [one.alive for one in rig.client.workers()] == [False]
    rig.start_worker("one")
    assert wait_done(rig, waiting).result == "later"


def test_a_second_signal_cancels_what_runs(rig: Rig, world: World) -> None:
    worker = rig.start_worker("one", grace_s=30)
    task = rig.submit("wait-recompute", {"folder": str(rig.folder / "world")})
    wait_began(rig, world, f"{task}:1")
    worker.terminate()
    assert held_to(rig, lambda: worker.is_running, 1.0)
    worker.terminate()
    assert worker.wait_exit() == 0
    handed_back = wait_state(rig, task, "open")
    assert (handed_back.attempts, handed_back.losses) == (0, 0)
    assert world.count("ended", f"{task}:1") == 0


def test_a_drained_mark_survives_a_restart_until_it_is_undone(rig: Rig, world: World) -> None:
    """C111 C112: drained by a person is not the same as recovering; what has started still ends."""
    worker = rig.start_worker("one")
    running = rig.submit("wait-recompute", {"folder": str(rig.folder / "world")})
    wait_began(rig, world, f"{running}:1")
    rig.client.drain("one", note="maintenance")
    later = rig.submit("echo", {"said": "later"})
    worker.kill()
    rig.start_worker("one")
    (rig.folder / "world" / "go-1").touch()
    assert wait_done(rig, running).generation == 1
    assert held_to(rig, lambda: rig.client.task(later).generation == 0, 2.0)
    assert [one.drained for one in rig.client.workers()] == [True]
    rig.client.drain("one", drained=False)
    assert wait_done(rig, later).result == "later"
