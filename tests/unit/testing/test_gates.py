"""Gates and the socket adapter of the fault points, with real processes at them."""

import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.core.faultpoints import FaultPoint
from tenure.system.faults import NoFaults, SocketFaults, faults_of
from tenure.testing.gates import Gate, hold_for, kill_visitor, then
from tenure.testing.processes import Managed, Processes

VISITOR = """
import json, sys
from tenure.core.faultpoints import FaultPoint
from tenure.system.faults import faults_of
faults = faults_of("executor")
print(json.dumps({"at": "start"}), flush=True)
for number, word in enumerate(sys.argv[1:], start=1):
    faults.reach(FaultPoint(word), f"s{number}")
    print(json.dumps({"at": number}), flush=True)
"""


@pytest.fixture
def gate() -> Iterator[Gate]:
    with Gate() as open_gate:
        yield open_gate


@pytest.fixture
def processes(tmp_path: Path, gate: Gate) -> Iterator[Processes]:
    with Processes(tmp_path, gate.environment) as started:
        yield started


def visitor(processes: Processes, *points: FaultPoint) -> Managed:
    return processes.start("visitor", [sys.executable, "-c", VISITOR, *points])


def test_a_held_visitor_goes_on_when_it_is_let_go(gate: Gate, processes: Processes) -> None:
    strike = gate.arm(FaultPoint.INSIDE_APPLY)
    process = visitor(processes, FaultPoint.APPLIED, FaultPoint.INSIDE_APPLY)
    visit = strike.wait_reached()
    assert (visit.pid, visit.role, visit.subject) == (process.pid, "executor", "s2")
    process.wait_document(lambda said: said["at"] == 1)
    strike.let_go()
    assert process.wait_exit() == 0
    assert gate.visited() == {FaultPoint.INSIDE_APPLY}


def test_a_killed_visitor_is_gone_when_the_wait_returns(gate: Gate, processes: Processes) -> None:
    strike = gate.arm(FaultPoint.INSIDE_APPLY, kill_visitor, nth=2)
    process = visitor(processes, *[FaultPoint.INSIDE_APPLY] * 3)
    assert strike.wait().subject == "s2"
    assert process.wait_exit() == -signal.SIGKILL
    assert "executor" in gate.seen()


def test_a_strike_falls_only_on_the_role_and_subject_it_is_for(gate: Gate, processes: Processes) -> None:
    other = gate.arm(FaultPoint.APPLIED, kill_visitor, role="supervisor")
    mine = gate.arm(FaultPoint.APPLIED, kill_visitor, subject="s3")
    visitor(processes, *[FaultPoint.APPLIED] * 4)
    assert mine.wait().subject == "s3"
    with pytest.raises(TimeoutError, match=r"waited 0\.01 s for supervisor at applied; seen: executor"):
        other.wait(0.01)


def test_something_else_can_happen_while_the_visitor_stands_there(gate: Gate, processes: Processes) -> None:
    other = processes.start("other", [sys.executable, "-c", "import signal; signal.pause()"])
    strike = gate.arm(FaultPoint.ACK_SENT, then(other.kill))
    process = visitor(processes, FaultPoint.ACK_SENT)
    strike.wait()
    assert other.exit_code == -signal.SIGKILL
    assert process.wait_exit() == 0


def test_an_error_in_what_happens_there_reaches_the_test(gate: Gate, processes: Processes) -> None:
    def act() -> None:
        raise ValueError("mine")

    strike = gate.arm(FaultPoint.ACK_SENT, then(act))
    process = visitor(processes, FaultPoint.ACK_SENT)
    with pytest.raises(ValueError, match="mine"):
        strike.wait()
    assert process.wait_exit() == 0


def test_a_process_that_is_connected_learns_of_a_new_strike(gate: Gate) -> None:
    faults = SocketFaults(gate.address, "server")
    assert gate.wait_guests("server")
    faults.reach(FaultPoint.CLAIM_COMMITTED)
    strike = gate.arm(FaultPoint.CLAIM_COMMITTED, hold_for(0.0))
    faults.reach(FaultPoint.CLAIM_COMMITTED, "task-1")
    assert strike.wait().subject == "task-1"
    assert len(gate.visits) == 1


def test_one_thread_is_held_while_another_passes(gate: Gate) -> None:
    strike = gate.arm(FaultPoint.EVENT_SENT)
    gate.arm(FaultPoint.ACK_SENT, nth=99)
    faults = SocketFaults(gate.address, "supervisor")
    held = threading.Thread(target=faults.reach, args=(FaultPoint.EVENT_SENT,))
    held.start()
    strike.wait_reached()
    faults.reach(FaultPoint.ACK_SENT)
    assert held.is_alive()
    gate.disarm()
    held.join(5)
    assert not held.is_alive()


def test_watched_points_are_recorded_and_passed() -> None:
    with Gate(watch=FaultPoint) as gate:
        faults = SocketFaults(gate.address, "supervisor")
        for point in FaultPoint:
            faults.reach(point)
        assert gate.visited() == set(FaultPoint)
        assert len(gate.wait_visits(len(FaultPoint))) == len(FaultPoint)


def test_the_end_of_the_gate_lets_everybody_go_for_good() -> None:
    gate = Gate(watch=[FaultPoint.REPORTED])
    faults = SocketFaults(gate.address, "supervisor")
    strike = gate.arm(FaultPoint.REPORTED)
    held = threading.Thread(target=faults.reach, args=(FaultPoint.REPORTED,))
    held.start()
    strike.wait_reached()
    gate.close()
    held.join(5)
    assert not held.is_alive()
    faults.reach(FaultPoint.REPORTED)


def test_without_a_gate_nothing_is_armed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TENURE_FAULTS", raising=False)
    faults = faults_of("server")
    assert isinstance(faults, NoFaults)
    for point in FaultPoint:
        faults.reach(point)


def test_an_address_where_nobody_listens_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        faults_of("server", str(tmp_path / "nobody"))
