"""What is found by index is what a look at every task would find, after any story."""

from pathlib import Path
from random import Random

import msgspec
import pytest

from tenure.core.capability import fits, meets
from tenure.core.claim import ClaimEnd
from tenure.core.instants import after
from tenure.core.task import Task, TaskState, TaskStep
from tenure.ports.board import Wanted
from tests.unit.stores.sqlite_control.making import Bench, ended, ids, renewal, spec

STEPS = 250
WORKERS: list[dict[str, object]] = [
    {},
    {"queues": ["night"]},
    {"capabilities": [("render", "2"), ("scan", "1")]},
    {"labels": {"gpu": "a"}, "resources": {"licence": 1.0}},
    {"labels": {}, "resources": {}},
]
ENDINGS = [
    (TaskStep.SUCCEED, ClaimEnd.SUCCEEDED, None),
    (TaskStep.FAIL, ClaimEnd.FAILED, None),
    (TaskStep.FAIL_TRY, ClaimEnd.FAILED, 4.0),
    (TaskStep.GIVE_BACK, ClaimEnd.HANDED_BACK, None),
    (TaskStep.DOUBT, ClaimEnd.UNKNOWN, None),
]


class Story:
    """A store through which tasks, claims and time move; the model is every task as it was last saved."""

    def __init__(self, bench: Bench, chance: Random) -> None:
        self.bench = bench
        self.chance = chance
        self.tasks: dict[str, Task] = {}
        self.found = 0

    def step(self) -> None:
        """Let one thing happen, and compare what is found with what there is."""
        kinds = [self.submit, self.claim, self.settle, self.resume, self.open, self.renew, self.renew]
        self.chance.choice(kinds)()
        self.bench.clock.advance(self.chance.choice([0.0, 0.0, 0.5, 1.0, 2.0, -1.0]))
        self.look_for_open_tasks()
        self.look_for_ended_leases()

    def one_of(self, *states: TaskState) -> str | None:
        fit = [id_ for id_, task in self.tasks.items() if task.state in states]
        return self.chance.choice(fit) if fit else None

    def submit(self) -> None:
        pick = self.chance.choice
        id_ = f"t{len(self.tasks):03}"
        wait_s = pick([None, -1.0, 3.0, 9.0])
        stated = spec(
            id_,
            queue=pick(["default", "night"]),
            capability=pick(["render", "scan"]),
            version=pick([None, "1", "2"]),
            priority=pick([-1, 0, 1]),
            requires=pick([{}, {"gpu": "*"}, {"gpu": "b"}]),
            resources=pick([{}, {"licence": 1.0}, {"licence": 2.0}]),
            not_before=None if wait_s is None else after(self.bench.clock.wall(), wait_s),
        )
        self.bench.add(stated, state=pick([TaskState.OPEN, TaskState.OPEN, TaskState.BLOCKED]))
        self.tasks[id_] = self.bench.load(id_)

    def claim(self) -> None:
        id_ = self.one_of(TaskState.OPEN, TaskState.CLAIMED, TaskState.FAILED)
        if id_ is not None:
            [self.tasks[id_]] = self.bench.claim(id_, ttl_s=self.chance.choice([2.0, 5.0]))

    def settle(self) -> None:
        id_ = self.one_of(TaskState.CLAIMED)
        if id_ is None:
            return
        step, how, wait_s = self.chance.choice(ENDINGS)
        due = None if wait_s is None else after(self.bench.clock.wall(), wait_s)
        subjects = ("attempt",) if step is TaskStep.DOUBT else ()
        self.tasks[id_] = self.bench.change(
            id_, lambda task: ended(task, step, how, not_before=due, subjects=subjects)
        )

    def resume(self) -> None:
        id_ = self.one_of(TaskState.UNKNOWN)
        if id_ is None:
            return
        claim = self.tasks[id_].claim
        assert claim is not None
        again = msgspec.structs.replace(claim, ended=None, ended_at=None)
        now = self.bench.clock.wall()
        self.tasks[id_] = self.bench.change(
            id_, lambda task: task.after(TaskStep.RESUME, now, claim=again, subjects=())
        )

    def open(self) -> None:
        step = self.chance.choice([TaskStep.UNBLOCK, TaskStep.REOPEN])
        states = (TaskState.BLOCKED,) if step is TaskStep.UNBLOCK else (TaskState.FAILED, TaskState.UNKNOWN)
        id_ = self.one_of(*states)
        if id_ is not None:
            now = self.bench.clock.wall()
            self.tasks[id_] = self.bench.change(id_, lambda task: task.after(step, now, subjects=()))

    def renew(self) -> None:
        id_ = self.one_of(TaskState.CLAIMED, TaskState.UNKNOWN)
        if id_ is None:
            return
        task, ttl_s = self.tasks[id_], self.chance.choice([0.5, 2.0, 7.0])
        held = self.bench.do(lambda tx: tx.board.renew([renewal(id_, task.generation, ttl_s)]))
        assert task.claim is not None
        claim = msgspec.structs.replace(task.claim, until=held[id_].until, ttl_s=ttl_s)
        self.tasks[id_] = msgspec.structs.replace(task, claim=claim)

    def look_for_open_tasks(self) -> None:
        plain = Wanted(queues=None, capabilities=None, limit=self.chance.choice([1, 3, 99]))
        wanted = msgspec.structs.replace(plain, **self.chance.choice(WORKERS))
        found = ids(self.bench.do(lambda tx: tx.selection.open_and_due(wanted)))
        fit = sorted((-t.priority, id_) for id_, t in self.tasks.items() if self.is_wanted(t, wanted))
        assert found == [id_ for _, id_ in fit][: wanted.limit]
        self.found += len(found)

    def is_wanted(self, task: Task, wanted: Wanted) -> bool:
        now = self.bench.clock.wall()
        return (
            task.state is TaskState.OPEN
            and (task.not_before is None or task.not_before <= now)
            and (wanted.queues is None or task.queue in wanted.queues)
            and (
                wanted.capabilities is None
                or any(
                    name == task.capability and task.version in (None, version)
                    for name, version in wanted.capabilities
                )
            )
            and (wanted.labels is None or meets(task.requires, wanted.labels))
            and (wanted.resources is None or fits(task.resources, wanted.resources))
        )

    def look_for_ended_leases(self) -> None:
        now = self.bench.clock.wall()
        over = sorted(
            (holder.until, task.id)
            for task in self.tasks.values()
            if (holder := task.holder) is not None and not holder.lease_is_live(now)
        )
        limit = self.chance.choice([1, 3, 99])
        found = ids(self.bench.do(lambda tx: tx.selection.ended_leases(None, limit)))
        assert found == [id_ for _, id_ in over][:limit]
        self.found += len(found)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_story_leaves_the_indexes_true(tmp_path: Path, seed: int) -> None:
    """C010 C019 C020: what is due, what has ended, every task as it was saved, and how many there are."""
    bench = Bench(tmp_path)
    with bench.store:
        story = Story(bench, Random(seed))
        for _ in range(STEPS):
            story.step()
        assert bench.look(lambda tx: tx.board.load(story.tasks)) == story.tasks
        counts = bench.look(lambda tx: tx.upkeep.counts())
        assert counts == {str(s): sum(t.state is s for t in story.tasks.values()) for s in TaskState}
    assert story.found > STEPS, "the story is too dull to show anything"
