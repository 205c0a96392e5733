"""Blows at random moments, for what nobody thought of: many tasks, and processes that die any time."""

import random
import threading
from pathlib import Path

from tests.crash.blows import HOLDER, OTHER
from tests.crash.cells import Kind
from tests.crash.course import Course, Findings
from tests.crash.invariants import examine
from tests.crash.rig import Rig
from tests.crash.trial import in_rig

BLOWS = 4
EACH_KIND = 3
SPREAD_S = 0.4
"""How long after the one before a blow falls at most; a task takes about as long from end to end."""

VICTIMS = ("supervisor", "supervisor", "executor", "executor", "server", "connection", "pause")


def run_round(seed: int, folder: Path) -> Findings:
    """Run one round; the same seed draws the same blows at the same moments."""
    findings = Findings(f"chance {seed}")
    return in_rig(findings, folder, lambda rig: _Round(rig, findings, random.Random(seed)).run())


class _Round:
    """Two workers, some tasks of every kind, and blows among them."""

    def __init__(self, rig: Rig, findings: Findings, draw: random.Random) -> None:
        self.rig, self.findings, self.draw = rig, findings, draw
        self.course = Course(rig, findings)

    def run(self) -> None:
        for name in (HOLDER, OTHER):
            self.rig.start_worker(name, slots=2)
        kinds = [kind for kind in Kind for _ in range(EACH_KIND)]
        self.draw.shuffle(kinds)
        # A task that is hit by every blow must still not run out of losses.
        tasks = [self.course.submit(kind, max_losses=2 * BLOWS) for kind in kinds]
        pause = threading.Event()
        for _ in range(BLOWS):
            pause.wait(self.draw.uniform(0.0, SPREAD_S))
            self._strike(self.draw.choice(VICTIMS), self.draw.choice((HOLDER, OTHER)))
        for task_id in tasks:
            self.course.finish(task_id)
        self.course.stop()
        doubtful = {Kind.QUERY_BLIND, Kind.MANUAL}
        self.findings.violations += [
            f"a task of {kind} became unknown" for kind in self.findings.unknown - doubtful
        ]
        self.findings.violations += examine(self.course.traces(1 + BLOWS))

    def _strike(self, victim: str, name: str) -> None:
        match victim:
            case "supervisor":
                self.rig.kill_worker(name)
                self.rig.start_worker(name, slots=2, ready=False)
            case "executor":
                self.rig.kill_executors(name)
            case "server":
                self.rig.kill_server()
                self.rig.start_server()
            case "connection":
                self.rig.proxy.cut()
            case _:
                worker = self.rig.workers[name]
                worker.pause()
                threading.Event().wait(self.draw.uniform(0.0, SPREAD_S))
                worker.go_on()
