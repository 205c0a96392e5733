"""A worker that is cut off for longer than its lease: what each rule promises. D14 D19."""

from collections.abc import Iterator

import psutil
import pytest

from tenure import Recovery
from tenure.core.effect import request_id
from tenure.testing.proxy import Proxy
from tenure.testing.traffic import Side
from tests.crash.rig import Rig, until
from tests.crash.world import World
from tests.system.waiting import held_to, wait_began, wait_done, wait_state

LEASE_S = 3.0

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.fixture
def away(rig: Rig) -> Iterator[Proxy]:
    """The way of the worker that is going to be cut off."""
    with Proxy(rig.url) as proxy:
        yield proxy


class Held:
    """One task of a rule, held by worker `one` behind `away`, while worker `two` is ready to take over."""

    def __init__(self, rig: Rig, world: World, away: Proxy, rule: Recovery, work: str = "wait") -> None:
        self.rig, self.world, self.away = rig, world, away
        self.one = rig.start_worker("one", url=away.url)
        self.id = rig.submit(f"{work}-{rule}", {"folder": str(rig.folder / "world")}, lease_ttl_s=LEASE_S)
        wait_began(rig, world, f"{self.id}:1")
        rig.start_worker("two")

    def go(self, generation: int) -> None:
        """Give the execution of a generation the word to act."""
        (self.rig.folder / "world" / f"go-{generation}").touch()

    @property
    def acts(self) -> int:
        return self.world.count("act", request_id(self.id, 1, "act"))

    def is_alive(self, generation: int) -> bool:
        """Say whether the process in which a generation began is still there."""
        began = (line for line in self.world.lines("began") if line["name"] == f"{self.id}:{generation}")
        return psutil.pid_exists(next(began)["pid"])


@pytest.mark.parametrize("rule", [Recovery.RECOMPUTE, Recovery.RESUME, Recovery.QUERY])
def test_in_calm_another_worker_takes_over_and_the_former_is_fenced(
    rig: Rig, world: World, away: Proxy, rule: Recovery
) -> None:
    """C026 C027 C059: past its deadline no effect begins; the late holder changes nothing."""
    held = Held(rig, world, away, rule)
    away.black_hole()
    wait_began(rig, world, f"{held.id}:2")
    assert held.is_alive(1)  # its results are fenced, so it may go on in vain
    held.go(1)  # the former holder goes on to its effect, which may not begin
    assert held_to(rig, lambda: held.acts == 0, 1.0)
    held.go(2)
    assert wait_done(rig, held.id).generation == 2
    away.heal()
    rig.wait_idle("one")
    assert held.acts == 1
    assert world.count("ended", f"{held.id}:1") == 0
    task = wait_done(rig, held.id)
    assert (task.generation, task.losses) == (2, 1)
    assert wait_done(rig, rig.submit("echo", {"said": "whole again"})).result == "whole again"
    assert held.one.is_running


def test_manual_work_is_ended_by_its_deadline(rig: Rig, world: World, away: Proxy) -> None:
    """D14: under MANUAL nothing may still act here once the store may say that the lease has ended."""
    held = Held(rig, world, away, Recovery.MANUAL)
    away.black_hole()
    task = wait_state(rig, held.id, "unknown")
    assert [subject.subject for subject in task.unknown] == ["attempt"]
    held.go(1)
    assert held_to(rig, lambda: world.count("act", request_id(held.id, 1, "act")) == 0, 1.0)
    assert world.count("began", f"{held.id}:2") == 0
    away.heal()
    rig.wait_idle("one")
    assert wait_state(rig, held.id, "unknown").generation == task.generation


def test_manual_work_that_does_not_listen_is_dead_before_its_lease_ends(
    rig: Rig, world: World, away: Proxy
) -> None:
    """D14: cancelled a grace before its deadline, killed at it, by the worker's own clock alone."""
    held = Held(rig, world, away, Recovery.MANUAL, "deaf")
    assert held.is_alive(1)
    away.black_hole()
    wait_state(rig, held.id, "unknown")
    assert not held.is_alive(1)
    away.heal()
    rig.wait_idle("one")
    assert held.one.is_running


@pytest.mark.parametrize("rule", list(Recovery))
def test_after_an_outage_calm_protects_the_holder(
    rig: Rig, world: World, away: Proxy, rule: Recovery
) -> None:
    """D19: an outage longer than every lease lets nobody take over from a worker that comes back."""
    held = Held(rig, world, away, rule)
    rig.kill_server()
    assert held_to(rig, lambda: held.one.is_running, LEASE_S + 1.5)
    rig.start_server()
    away.retarget(rig.url)
    if rule is Recovery.MANUAL:
        # It could not know how long the outage would be, so it was ended at its deadline.
        assert [subject.subject for subject in wait_state(rig, held.id, "unknown").unknown] == ["attempt"]
        return
    assert held_to(rig, lambda: world.count("began", f"{held.id}:2") == 0, LEASE_S * 2)
    held.go(1)
    task = wait_done(rig, held.id)
    assert (task.generation, task.losses, held.acts) == (1, 0, 1)


def test_a_holder_that_only_cannot_hear_is_fenced_too(rig: Rig, world: World, away: Proxy) -> None:
    """One-way loss: what it sends arrives, so its lease is renewed; what it asks is never answered."""
    held = Held(rig, world, away, Recovery.QUERY)
    away.black_hole(Side.DOWN)
    held.go(1)
    assert held_to(rig, lambda: held.acts == 0, LEASE_S + 1.0)
    away.heal()
    held.go(2)
    wait_done(rig, held.id)
    until(lambda: held.acts == 1, "the effect to be there once")
