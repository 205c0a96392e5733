"""One cell, run: struck, healed, decided where a person has to, and examined."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tenure.core.task import TaskState
from tenure.testing.gates import Strike
from tests.crash.blows import HOLDER, OTHER, Fall
from tests.crash.cells import RUNNING, SERVER, STAGES, Blow, Cell, Kind, Stage, expected, home_of
from tests.crash.course import Course, Findings
from tests.crash.invariants import examine, judge_unknown
from tests.crash.rig import Rig

LEASE_S = 3.0
"""The shortest lease that calm protects."""

TAKEN_OVER_S = 15.0
"""Bound on the time in which an ended lease is acted upon in calm."""

LATE_S = 3.0
"""Bound on the time that a late holder is held back further, while the other one goes on."""

APP = "tests.crash.work:app"


@dataclass
class Outcome(Findings):
    """What came of one cell."""

    cell: Cell | None = None


F = TypeVar("F", bound=Findings)


def run(cell: Cell, folder: Path, *, late: bool = False, app: str = APP) -> Outcome:
    """Run a cell in a folder of its own, which is removed unless something was violated.

    A `late` holder goes on only after the one that took over is done, where that is possible.
    """
    outcome = Outcome(str(cell), cell=cell)
    return in_rig(outcome, folder, lambda rig: _Trial(cell, rig, outcome, late=late).run(), app=app)


def in_rig(findings: F, folder: Path, course: Callable[[Rig], None], *, app: str = APP) -> F:
    """Run a course in a rig of its own; whatever goes wrong is a violation, told with all logs."""
    started = time.monotonic()
    rig: Rig | None = None
    try:
        with Rig(folder, app=app) as rig:
            course(rig)
            if findings.violations:
                findings.logs = rig.processes.report()
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in a trial is a finding, and the next one runs
        findings.violations.append(f"{type(error).__name__}: {error}")
        findings.logs = "\n".join(getattr(error, "__notes__", ()))
    if rig is not None:
        findings.kills = rig.kills
        if rig.left:
            findings.violations.append(f"left running: {rig.left}")
        if findings.passed:
            rig.remove()
    findings.seconds = time.monotonic() - started
    return findings


class _Trial:
    """The course of one cell."""

    def __init__(self, cell: Cell, rig: Rig, outcome: Outcome, *, late: bool) -> None:
        self.cell, self.rig, self.outcome, self.late = cell, rig, outcome, late
        self.course = Course(rig, outcome)
        self.fall = Fall(rig, cell, self.course.world)

    def run(self) -> None:
        self.rig.start_worker(HOLDER)
        self.fall.arm()
        lease_s = LEASE_S if self.cell.blow is Blow.DELAY else 30.0
        struck = self.course.submit(self.cell.kind, lease_ttl_s=lease_s)
        strike = self.fall.fall()
        if self.cell.blow is Blow.DELAY:
            self._delay(strike, struck)
        self.fall.heal()
        # What comes after shows that the worker is whole again: no slot stays taken, nothing is in the way.
        after = self.course.submit(Kind.RECOMPUTE)
        for task_id in (struck, after):
            self.course.finish(task_id)
        self.course.stop()
        needed = self.cell.kind in self.outcome.unknown
        self.outcome.violations += judge_unknown(expected(self.cell), needed)
        self.outcome.violations += examine(self.course.traces(self._item_times_max()))

    def _delay(self, strike: Strike, task_id: str) -> None:
        """Hold the visitor until its lease has ended and all that follows from it has, then let it go."""
        if home_of(self.cell.point) == "supervisor" and self.cell.stage is not Stage.SETTLED:
            self._until_acted_upon(task_id)
        else:
            assert strike.visit is not None
            if strike.visit.gone.wait(LEASE_S + 1.0):
                self.outcome.violations.append(f"the visitor has died while it was held: {strike.visit}")
        strike.let_go()

    def _until_acted_upon(self, task_id: str) -> None:
        before = self.rig.wait_task(task_id, lambda task: task.generation > 0, "to be granted").generation
        self.rig.start_worker(OTHER)
        self.rig.wait_task(
            task_id,
            lambda task: task.generation > before or task.state == TaskState.UNKNOWN,
            "to be taken over, void or unknown once its lease has ended",
            TAKEN_OVER_S,
        )
        if self.late:
            # Where it needs a verdict, or the word of the holder that is held back, it is not done in time.
            with suppress(TimeoutError):
                self.rig.wait_task(task_id, lambda task: task.state == TaskState.DONE, "to be done", LATE_S)

    def _item_times_max(self) -> int:
        """Say how often an item may have been done: once for each execution that can have been under way."""
        cell = self.cell
        stage = STAGES[cell.point]
        if cell.blow in {Blow.KILL_SUPERVISOR, Blow.KILL_EXECUTOR} and stage in RUNNING | {Stage.MARKED}:
            return 2
        return 2 if cell.blow is Blow.DELAY and cell.point not in SERVER else 1
