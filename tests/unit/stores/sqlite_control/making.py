"""A control store on a real file with a clock that a test moves, and tasks in any state in one line."""

from collections.abc import Callable, Collection
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from tenure.core.capability import Recovery
from tenure.core.claim import ClaimEnd
from tenure.core.claiming import Grantee, grant
from tenure.core.ids import attempt_id
from tenure.core.registration import Session
from tenure.core.task import Task, TaskSpec, TaskState, TaskStep
from tenure.ports.board import NewTask, Presented, Renewal, Wanted
from tenure.ports.store import Transaction
from tenure.stores.sqlite.control.store import SqliteControlStore, open_control_store
from tenure.system.ids import SystemIds
from tests.support.worker.clock import START, VirtualClock

T = TypeVar("T")

WAIT_S = 20.0  # Bound: how long a test waits for a commit
NAME = "control.db"


class Bench:
    """A store and its clock."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self.clock = VirtualClock()
        self.store: SqliteControlStore = open_control_store(self.path, self.clock, SystemIds())

    def do(self, operation: Callable[[Transaction], T]) -> T:
        """Run an operation and wait until it is durable."""
        return self.store.write(operation).result(WAIT_S)

    def look(self, query: Callable[[Transaction], T]) -> T:
        """Run a query beside the writer."""
        return self.store.read(query).result(WAIT_S)

    def add(self, *specs: TaskSpec, state: TaskState = TaskState.OPEN) -> None:
        """Add tasks as they come from a submitter."""
        self.do(lambda tx: tx.board.add([new_task(spec, tx.now(), state) for spec in specs]))

    def load(self, id_: str) -> Task:
        """Return one task."""
        return self.do(lambda tx: tx.board.load([id_])[id_])

    def change(self, id_: str, change: Callable[[Task], Task]) -> Task:
        """Load, decide, save; return the task as it was saved."""

        def step(tx: Transaction) -> Task:
            task = change(tx.board.load([id_])[id_])
            tx.board.save([task])
            return task

        return self.do(step)

    def claim(self, *ids: str, agent: str = "w1", ttl_s: float = 30.0, **fields: object) -> list[Task]:
        """Grant tasks to an agent; each one's token hash is its attempt's id."""

        def step(tx: Transaction) -> list[Task]:
            granted = [
                grant(task, grantee(task, agent=agent, ttl_s=ttl_s, **fields), tx.now())
                for task in tx.board.load(ids).values()
            ]
            tx.board.save(granted)
            return granted

        return self.do(step)

    def open_and_due(self, **fields: object) -> list[str]:
        """Return the ids of what may be handed out; anything fits unless a field says otherwise."""
        wanted = msgspec.structs.replace(Wanted(queues=None, capabilities=None, limit=100), **fields)
        return [task.id for task in self.do(lambda tx: tx.selection.open_and_due(wanted))]


def spec(id_: str, **fields: object) -> TaskSpec:
    return msgspec.structs.replace(TaskSpec(capability="render", version="1", id=id_), **fields)


def new_task(stated: TaskSpec, now: datetime, state: TaskState = TaskState.OPEN) -> NewTask:
    task = Task(
        id=stated.id or "",
        capability=stated.capability,
        version=stated.version,
        queue=stated.queue,
        priority=stated.priority,
        state=state,
        revision=1,
        generation=0,
        run=1,
        attempts=0,
        losses=0,
        interruptions=0,
        max_attempts=stated.max_attempts,
        max_losses=stated.max_losses,
        backoff=stated.backoff,
        lease_ttl_s=stated.lease_ttl_s,
        created_at=now,
        updated_at=now,
        not_before=stated.not_before,
        deadline=stated.deadline,
        on_dependency_failure=stated.on_dependency_failure,
        requires=stated.requires,
        resources=stated.resources,
    )
    return NewTask(task, stated, stated.content_digest())


def grantee(task: Task, **fields: object) -> Grantee:
    hash_ = token_hash(task.id, task.generation + 1)
    plain = Grantee(agent="w1", token_hash=hash_, ttl_s=30.0, rule=Recovery.RECOMPUTE)
    return msgspec.structs.replace(plain, **fields)


def ended(task: Task, step: TaskStep, how: ClaimEnd, **changes: object) -> Task:
    """Return the task after a step that ends its claim."""
    assert task.claim is not None
    claim = msgspec.structs.replace(task.claim, ended=how, ended_at=START)
    return task.after(step, START, claim=claim, **changes)


def token_hash(id_: str, generation: int = 1) -> str:
    return f"hash of {attempt_id(id_, generation)}"


def presented(id_: str, generation: int = 1) -> Presented:
    return Presented(id_, token_hash(id_, generation))


def renewal(id_: str, generation: int = 1, ttl_s: float = 30.0, **fields: object) -> Renewal:
    return msgspec.structs.replace(Renewal(id_, token_hash(id_, generation), ttl_s), **fields)


def session(worker_id: str = "w1", number: int = 1, **fields: object) -> Session:
    plain = Session(
        worker_id=worker_id,
        number=number,
        token_hash=f"hash of {worker_id} {number}",
        instance_id=f"i-{worker_id}",
        node_id="n1",
        ttl_s=10.0,
        registered_at=START,
        expires_at=START,
        last_seen_at=START,
        queues=["default"],
        labels={},
        capabilities=[],
        slots=1,
        room=1,
        resources={},
    )
    return msgspec.structs.replace(plain, **fields)


def ids(tasks: Collection[Task]) -> list[str]:
    return [task.id for task in tasks]
