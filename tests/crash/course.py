"""What every trial has in common: tasks that are submitted, decided where a person has to, and examined."""

from dataclasses import dataclass, field

from tenure.core.effect import ATTEMPT_SUBJECT, request_id
from tenure.core.task import TaskState
from tenure.core.verdict import Verdict, VerdictRequest
from tenure.core.view import TaskView
from tests.crash.cells import Kind
from tests.crash.invariants import Submitted, Traces
from tests.crash.rig import Rig, until
from tests.crash.stores import query
from tests.crash.work import EFFECT, Done
from tests.crash.world import World

DECIDED_MAX = 6
"""Bound: verdicts on one task; an effect and the attempt, for each death that may have hit it."""


@dataclass
class Findings:
    """What came of a trial."""

    name: str
    seconds: float = 0.0
    kills: int = 0
    unknown: set[Kind] = field(default_factory=set[Kind])
    """The kinds of which a task needed a verdict."""
    generations: int = 0
    violations: list[str] = field(default_factory=list[str])
    logs: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing was violated."""
        return not self.violations


class Course:
    """The tasks of one trial in one rig, and what the world knows of them."""

    def __init__(self, rig: Rig, findings: Findings) -> None:
        """Make the world; nothing is submitted yet."""
        self.rig, self.findings = rig, findings
        folder = rig.folder / "world"
        folder.mkdir(exist_ok=True)
        self.world = World(folder)
        self.kinds: dict[str, Kind] = {}
        self._labels: dict[str, str] = {}
        self._settled: dict[str, tuple[str, object]] = {}

    def submit(self, kind: Kind, *, lease_ttl_s: float = 30.0, max_losses: int = 3) -> str:
        """Submit a task of a kind, and return its id."""
        label = f"task {len(self.kinds)}"
        work = {"folder": str(self.rig.folder / "world"), "label": label}
        task_id = self.rig.submit(kind, work, lease_ttl_s=lease_ttl_s, max_losses=max_losses)
        self.kinds[task_id], self._labels[task_id] = kind, label
        return task_id

    def finish(self, task_id: str) -> None:
        """Wait until the task is settled; what stays unknown is decided by what really happened."""
        task = self._wait_end(task_id)
        for _ in range(DECIDED_MAX):
            if task.state != TaskState.UNKNOWN:
                break
            self.findings.unknown.add(self.kinds[task_id])
            self._decide(task)
            task = self._wait_end(task_id)
        self.findings.generations = max(self.findings.generations, task.generation)
        self._settled[task_id] = _settled(self.rig, task_id)

    def stop(self) -> None:
        """Wait until every worker has told all it knows, then have all processes leave in order."""
        for name in self.rig.names:
            self.rig.wait_idle(name)
        self.findings.violations += [
            f"{name} ended with {code} when it was asked to leave"
            for name, code in self.rig.stop().items()
            if code
        ]

    def traces(self, item_times_max: int) -> Traces:
        """Return where to look once every process has ended."""
        return Traces(
            store=self.rig.store,
            locals={name: self.rig.local(name) for name in self.rig.names},
            world=self.world,
            tasks=[Submitted(task_id, kind, item_times_max) for task_id, kind in self.kinds.items()],
            settled=self._settled,
        )

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
            verdict, result = Verdict.HAPPENED, Done(label=self._labels[task.id], receipt=receipt)
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


def _settled(rig: Rig, task_id: str) -> tuple[str, object]:
    """Return state and result as the store has them now."""

    def look() -> tuple[str, object] | None:
        rows = query(rig.store, "select state, result from task where id = ?", (task_id,))
        return (str(rows[0][0]), rows[0][1]) if rows else None

    return until(look, f"task {task_id} in the store")
