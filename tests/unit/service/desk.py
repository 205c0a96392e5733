"""The service's functions over a real SQLite file, on a clock that the test moves."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from tenure.core.capability import Capability, Recovery
from tenure.core.claim import LeaseBeat
from tenure.core.command import Ack, AckAnswer, Command
from tenure.core.effect import WitnessAnswer, WitnessRequest
from tenure.core.event import Event, EventAnswer, EventKind
from tenure.core.registration import HeartbeatAnswer, RegisterRequest, Registration
from tenure.core.task import Task, TaskSpec
from tenure.core.verdict import VerdictRequest
from tenure.core.view import TaskView
from tenure.ports.store import ControlStore, Transaction
from tenure.service import calm, claims, dispatch, effects, janitor, reports, sessions, submission, verdicts
from tenure.service.injected import Injected
from tenure.service.notices import LocalNotices
from tenure.service.principal import LOCAL
from tenure.service.views import view
from tenure.stores.sqlite.control.store import open_control_store
from tenure.system.faults import NoFaults
from tenure.testing.clock import ManualClock, SeededIds

T = TypeVar("T")
BOUND_S = 20.0


class Started(Struct, frozen=True):
    """A start command with what tests want of it."""

    command_id: str
    task_id: str
    attempt_id: str
    generation: int
    token: str
    command: Command


def started(command: Command) -> Started:
    """Return the parts of a start command, all there."""
    assert command.task is not None
    assert command.task.id is not None
    assert command.generation is not None
    assert command.token is not None
    assert command.attempt_id is not None
    return Started(
        command.command_id,
        command.task.id,
        command.attempt_id,
        command.generation,
        command.token,
        command,
    )


class Desk:
    """One store and the calls on it, each in a transaction of its own."""

    def __init__(self, store: ControlStore, clock: ManualClock, ids: SeededIds) -> None:
        self.store = store
        self.clock = clock
        self.injected = Injected(ids, LocalNotices(), NoFaults())
        self.tokens: dict[str, str] = {}
        self.sequence = 0

    def run(self, operation: Callable[[Transaction], T]) -> T:
        return self.store.write(operation).result(BOUND_S)

    def submit(self, *specs: TaskSpec) -> list[submission.Submitted]:
        return self.run(lambda tx: submission.submit(tx, self.injected, LOCAL, specs))

    def task(self, task_id: str) -> Task:
        return self.run(lambda tx: tx.board.load([task_id])[task_id])

    def view(self, task_id: str) -> TaskView:
        return self.run(lambda tx: view(tx, tx.board.load([task_id])[task_id]))

    def history(self, task_id: str) -> list[str]:
        return [f.kind for f in self.run(lambda tx: tx.facts.history(task_id, 0, 1_000))]

    def register(self, worker: str = "w1", **fields: object) -> Registration:
        stated: dict[str, object] = {
            "worker_id": worker,
            "instance_id": f"instance-{worker}",
            "ttl_s": 30.0,
            "capabilities": [Capability("work", "1", Recovery.QUERY)],
            "slots": 4,
            "room": 4,
        }
        asked = RegisterRequest(**(stated | fields))  # pyright: ignore[reportArgumentType] - a builder takes any field
        registration = self.run(lambda tx: sessions.register(tx, self.injected, LOCAL, asked))
        self.tokens[worker] = registration.token
        return registration

    def beat(self, worker: str = "w1", *leases: LeaseBeat, room: int = 4, token: str = "") -> HeartbeatAnswer:
        session = token or self.tokens[worker]
        return self.run(
            lambda tx: sessions.heartbeat(tx, self.injected, worker, session, 30.0, room, {}, leases)
        )

    def dispatch(self, *workers: str) -> dict[str, list[Started]]:
        connected = workers or ("w1",)
        offered = self.run(lambda tx: dispatch.dispatch(tx, self.injected, connected)).commands
        return {worker: [started(c) for c in commands] for worker, commands in offered.items()}

    def start(self, task_id: str = "", worker: str = "w1") -> Started:
        """Dispatch and return the start of that task (any, if none is named)."""
        return next(c for c in self.dispatch(worker)[worker] if task_id in ("", c.task_id))

    def ack(self, command: Started, worker: str = "w1", **fields: object) -> AckAnswer:
        ack = Ack(command.command_id, **fields)  # pyright: ignore[reportArgumentType] - a builder takes any field
        token = self.tokens[worker]
        return self.run(lambda tx: dispatch.acknowledge(tx, self.injected, worker, token, 4, [ack]))[0]

    def begun(self, spec: TaskSpec | None = None, worker: str = "w1") -> Started:
        """Submit a task, dispatch it to a registered worker, acknowledge it, and return its start command."""
        task_id = self.submit(spec or TaskSpec("work"))[0].id
        if worker not in self.tokens:
            self.register(worker)
        command = self.start(task_id, worker)
        assert self.ack(command, worker).standing == "go"
        return command

    def event(self, command: Started, kind: EventKind, body: dict[str, object], **fields: object) -> Event:
        self.sequence += 1
        stated: dict[str, object] = {
            "event_id": f"e{self.sequence}",
            "sequence": self.sequence,
            "task_id": command.task_id,
            "attempt_id": command.attempt_id,
            "generation": command.generation,
            "token": command.token,
            "attempt_epoch": 1,
            "kind": kind,
            "at": self.clock.wall(),
            "body": body,
        }
        return Event(**(stated | fields))  # pyright: ignore[reportArgumentType] - a builder takes any field

    def report(self, *events: Event) -> list[EventAnswer]:
        return self.run(lambda tx: reports.report(tx, self.injected, events))

    def tell(self, command: Started, kind: EventKind, body: dict[str, object] | None = None) -> EventAnswer:
        return self.report(self.event(command, kind, body or {}))[0]

    def witness(self, command: Started, name: str = "charge", **fields: object) -> WitnessAnswer:
        stated: dict[str, object] = {
            "task_id": command.task_id,
            "token": command.token,
            "attempt_epoch": 1,
            "name": name,
            "request_id": f"r-{name}",
            "digest": "d",
        }
        ask = WitnessRequest(**(stated | fields))  # pyright: ignore[reportArgumentType] - a builder takes any field
        return self.run(lambda tx: effects.witness_many(tx, self.injected, [ask]))[0]

    def sweep(self, *workers: str) -> dict[str, list[Started]]:
        swept = self.run(lambda tx: janitor.sweep(tx, self.injected, workers, None))
        return {worker: [started(c) for c in commands] for worker, commands in swept.commands.items()}

    def pulse(self) -> None:
        self.run(lambda tx: calm.beat(tx, self.clock, "server"))

    def pass_calmly(self, seconds: float) -> None:
        """Let time pass with a pulse each second, as with a server that is up."""
        self.pulse()
        for _ in range(int(seconds)):
            self.clock.advance(1)
            self.pulse()

    def claim(self, task_id: str, agent: str = "pull", ttl_s: float | None = None) -> claims.GrantedClaim:
        return self.run(lambda tx: claims.claim(tx, self.injected, LOCAL, task_id, agent, ttl_s))

    def complete(self, claim: claims.GrantedClaim, result: object = None) -> TaskView:
        return self.run(lambda tx: claims.complete(tx, self.injected, claim.task.id, claim.token, result))

    def release(
        self, claim: claims.GrantedClaim, reason: claims.Reason = "failed", subjects: Sequence[str] = ()
    ) -> TaskView:
        return self.run(
            lambda tx: claims.release(tx, self.injected, claim.task.id, claim.token, reason, None, subjects)
        )

    def renew(self, claim: claims.GrantedClaim, ttl_s: float = 30.0) -> claims.RenewAnswer:
        return self.run(lambda tx: claims.renew(tx, claim.task.id, claim.token, ttl_s, None, 0))

    def cancel(self, task_id: str) -> TaskView:
        return self.run(lambda tx: verdicts.cancel(tx, self.injected, LOCAL, task_id, None))

    def retry(self, task_id: str, *, afresh: bool = False) -> TaskView:
        return self.run(
            lambda tx: verdicts.retry(tx, self.injected, LOCAL, task_id, afresh=afresh, revision=None)
        )

    def verdict(self, task_id: str, given: VerdictRequest) -> TaskView:
        return self.run(lambda tx: verdicts.verdict(tx, self.injected, LOCAL, task_id, given))


@contextmanager
def opened(folder: Path) -> Generator[Desk]:
    """Open a desk over a new store in the folder."""
    clock, ids = ManualClock(), SeededIds()
    store = open_control_store(folder / "tenure.db", clock, ids)
    try:
        yield Desk(store, clock, ids)
    finally:
        store.close()
