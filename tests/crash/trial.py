"""One cell, run: struck, healed, decided where a person has to, and examined."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from tenure.core.effect import ATTEMPT_SUBJECT, request_id
from tenure.core.task import TaskState
from tenure.core.verdict import Verdict, VerdictRequest
from tenure.core.view import TaskView
from tenure.testing.gates import Strike
from tests.crash.blows import HOLDER, OTHER, Fall
from tests.crash.cells import RUNNING, SERVER, STAGES, Blow, Cell, Kind, Stage, expected, home_of
from tests.crash.invariants import Submitted, Traces, examine, judge_unknown
from tests.crash.rig import Rig, until
from tests.crash.stores import query
from tests.crash.work import EFFECT
from tests.crash.world import World

LEASE_S = 3.0
"""The shortest lease that calm protects."""

TAKEN_OVER_S = 15.0
"""Bound on the time in which an ended lease is acted upon in calm."""

DECIDED_MAX = 4


@dataclass
class Outcome:
    """What came of one cell."""

    cell: Cell
    seconds: float = 0.0
    kills: int = 0
    unknown: bool = False
    generations: int = 0
    violations: list[str] = field(default_factory=list[str])
    logs: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing was violated."""
        return not self.violations


def run(cell: Cell, folder: Path, *, keep: bool = False) -> Outcome:
    """Run a cell in a folder of its own, which is removed unless something was violated."""
    outcome, started = Outcome(cell), time.monotonic()
    try:
        rig = Rig(folder)
        with rig:
            try:
                _Trial(cell, rig, outcome).run()
            finally:
                outcome.kills = rig.kills
                if outcome.violations:
                    outcome.logs = rig.processes.report()
        if rig.left:
            outcome.violations.append(f"left running: {rig.left}")
        if outcome.passed and not keep:
            rig.remove()
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in a cell is a violation, and the next one runs
        outcome.violations.append(f"{type(error).__name__}: {error}")
        outcome.logs = outcome.logs or "\n".join(getattr(error, "__notes__", ()))
    outcome.seconds = time.monotonic() - started
    return outcome


class _Trial:
    """The course of one cell."""

    def __init__(self, cell: Cell, rig: Rig, outcome: Outcome) -> None:
        self.cell, self.rig, self.outcome = cell, rig, outcome
        world = rig.folder / "world"
        world.mkdir(exist_ok=True)
        self.world = World(world)
        self.fall = Fall(rig, cell, self.world)
        self.settled: dict[str, tuple[str, object]] = {}

    def run(self) -> None:
        self.rig.start_worker(HOLDER)
        self.fall.arm()
        struck = self._submit(self.cell.kind, "struck", LEASE_S if self.cell.blow is Blow.DELAY else 30.0)
        strike = self.fall.fall()
        if self.cell.blow is Blow.DELAY:
            self._delay(strike, struck)
        self.fall.heal()
        # What comes after shows that the worker is whole again: no slot stays taken, nothing is in the way.
        after = self._submit(Kind.RECOMPUTE, "after", 30.0)
        self._finish(struck)
        self._finish(after)
        for name in self.rig.names:
            self.rig.wait_idle(name)
        self._stop()
        self.outcome.violations += judge_unknown(expected(self.cell), self.outcome.unknown)
        self.outcome.violations += examine(self._traces(struck, after))

    def _submit(self, kind: Kind, label: str, lease_s: float) -> str:
        work = {"folder": str(self.rig.folder / "world"), "label": label}
        return self.rig.submit(kind, work, lease_ttl_s=lease_s)

    # Delay past the TTL.

    def _delay(self, strike: Strike, task_id: str) -> None:
        """Hold the visitor until its lease has ended and all that follows from it has, then let it go."""
        if home_of(self.cell.point) == "supervisor" and self.cell.stage is not Stage.SETTLED:
            before = self.rig.wait_task(task_id, lambda task: task.generation > 0, "to be granted").generation
            self.rig.start_worker(OTHER)
            self.rig.wait_task(
                task_id,
                lambda task: task.generation > before or task.state == TaskState.UNKNOWN,
                "to be taken over, void or unknown once its lease has ended",
                TAKEN_OVER_S,
            )
        else:
            assert strike.visit is not None
            if strike.visit.gone.wait(LEASE_S + 1.0):
                self.outcome.violations.append(f"the visitor has died while it was held: {strike.visit}")
        strike.let_go()

    # Until everything is settled.

    def _finish(self, task_id: str) -> None:
        """Wait until the task is settled; what stays unknown is decided by what really happened."""
        task = self._wait_end(task_id)
        for _ in range(DECIDED_MAX):
            if task.state != TaskState.UNKNOWN:
                break
            self.outcome.unknown = True
            self._decide(task)
            task = self._wait_end(task_id)
        self.outcome.generations = max(self.outcome.generations, task.generation)
        self.settled[task_id] = _settled(self.rig, task_id)

    def _wait_end(self, task_id: str) -> TaskView:
        return self.rig.wait_task(task_id, self._has_ended, "to be settled or to stay unknown")

    def _has_ended(self, task: TaskView) -> bool:
        """Say whether nothing more happens by itself; unknown counts once the workers have told it all."""
        if TaskState(task.state).is_settled:
            return True
        return task.state == TaskState.UNKNOWN and all(map(self.rig.is_idle, self.rig.names))

    def _decide(self, task: TaskView) -> None:
        """Give the verdict on one subject according to the world; the rest follows in the next round."""
        subjects = [subject.subject for subject in task.unknown]
        # Effects first: whether the attempt as a whole has to run again follows from them.
        subject = next((name for name in subjects if name != ATTEMPT_SUBJECT), ATTEMPT_SUBJECT)
        receipt = self.world.find(request_id(task.id, task.run, EFFECT))
        if receipt is None:
            verdict, result = Verdict.DID_NOT_HAPPEN, None
        elif subject == ATTEMPT_SUBJECT:
            verdict, result = Verdict.HAPPENED, {"label": "struck", "receipt": receipt}
        else:
            verdict, result = Verdict.HAPPENED, receipt
        given = VerdictRequest(
            subject=subject,
            verdict=verdict,
            revision=task.revision,
            result=result,
            note="looked into the ledger",
            anyway=True,
        )
        self.rig.client.verdict(task.id, given)

    def _stop(self) -> None:
        ends = self.rig.stop()
        self.outcome.violations += [
            f"{name} ended with {code} when it was asked to leave" for name, code in ends.items() if code
        ]

    def _traces(self, struck: str, after: str) -> Traces:
        return Traces(
            store=self.rig.store,
            locals={name: self.rig.local(name) for name in self.rig.names},
            world=self.world,
            tasks=(
                Submitted(struck, self.cell.kind, self._item_times_max()),
                Submitted(after, Kind.RECOMPUTE),
            ),
            settled=self.settled,
        )

    def _item_times_max(self) -> int:
        """Say how often an item may have been done: once for each execution that can have been under way."""
        cell = self.cell
        stage = STAGES[cell.point]
        if cell.blow in {Blow.KILL_SUPERVISOR, Blow.KILL_EXECUTOR} and stage in RUNNING | {Stage.MARKED}:
            return 2
        return 2 if cell.blow is Blow.DELAY and cell.point not in SERVER else 1


def _settled(rig: Rig, task_id: str) -> tuple[str, object]:
    """Return state and result as the store has them now."""

    def look() -> tuple[str, object] | None:
        rows = query(rig.store, "select state, result from task where id = ?", (task_id,))
        return (str(rows[0][0]), rows[0][1]) if rows else None

    return until(look, f"task {task_id} in the store")
