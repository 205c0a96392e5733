"""Bounded periodic upkeep: ended leases, starts without an answer, deadlines. D19, D20, D21, B05."""

from collections.abc import Collection
from datetime import datetime

from msgspec import Struct

from tenure.core.capability import Recovery, fits, match_capability, meets
from tenure.core.claiming import ended_lease, void_start
from tenure.core.command import Command
from tenure.core.instants import after
from tenure.core.registration import Session
from tenure.core.task import ErrorInfo, Task, TaskState, TaskStep
from tenure.ports.facts import Fact
from tenure.ports.store import Transaction
from tenure.service.calm import is_calm_for
from tenure.service.changes import save
from tenure.service.dispatch import free_resources, start
from tenure.service.injected import Injected

PAGE = 500
ACK_TIMEOUT_S = 10.0


class Swept(Struct, frozen=True):
    """What one step did: starts to push, and where the walk over ended leases goes on (None.

    From the beginning).
    """

    commands: dict[str, list[Command]]
    resume: tuple[datetime, str] | None


def sweep(
    tx: Transaction, injected: Injected, connected: Collection[str], resume: tuple[datetime, str] | None
) -> Swept:
    """Do one bounded step of upkeep; a page that nobody may take never hides those behind it."""
    now = tx.now()
    _void_unanswered(tx, injected, now)
    _overdue(tx, injected, now)
    page = tx.selection.ended_leases(resume, PAGE)
    takeovers: dict[str, list[Task]] = {}
    settled: list[Task] = []
    if page:
        _judge(tx, page, connected, takeovers, settled)
    tx.facts.record(
        [Fact(t.id, str(t.state), now, t.generation, {"by": "janitor", "losses": t.losses}) for t in settled]
    )
    save(tx, injected, settled)
    sessions = tx.registry.latest(takeovers.keys())
    commands = {w: start(tx, injected, sessions[w], tasks) for w, tasks in takeovers.items()}
    last = page[-1] if len(page) == PAGE else None
    claim = last.claim if last is not None else None
    return Swept(commands, None if last is None or claim is None else (claim.until, last.id))


def _judge(
    tx: Transaction,
    page: list[Task],
    connected: Collection[str],
    takeovers: dict[str, list[Task]],
    settled: list[Task],
) -> None:
    """Say of each ended lease whether it is settled, taken over by a connected worker, or left as it is."""
    now = tx.now()
    ledgers = tx.ledger.effects([t.id for t in page])
    checkpoints = tx.ledger.checkpoints([t.id for t in page if _holds_files(t)])
    rooms = _rooms(tx, connected, now)
    for task in page:
        holder = task.holder
        if holder is None or not is_calm_for(tx, now, holder.ttl_s):
            continue
        outcome = ended_lease(task, ledgers.get(task.id, []), now)
        if outcome is not None:
            settled.append(outcome)
            continue
        if holder.rule is None:
            continue
        local = task.id in checkpoints and not checkpoints[task.id].portable
        prefers_files = local and now < after(holder.until, holder.ttl_s)
        worker = _taker(task, rooms, holder.instance_id if prefers_files else None)
        if worker is not None:
            takeovers.setdefault(worker, []).append(task)


def _holds_files(task: Task) -> bool:
    return task.claim is not None and task.claim.rule is Recovery.RESUME


class _Room:
    def __init__(self, session: Session, left: int) -> None:
        self.session = session
        self.left = left
        self.free = free_resources(session)


def _rooms(tx: Transaction, connected: Collection[str], now: datetime) -> list[_Room]:
    pending = tx.commands.unanswered()
    marks = tx.registry.drain_marks(connected)
    return [
        _Room(session, session.room - pending.get(worker_id, 0))
        for worker_id, session in tx.registry.latest(connected).items()
        if session.is_alive(now) and not (worker_id in marks and marks[worker_id].drained)
    ]


def _taker(task: Task, rooms: list[_Room], only_instance: str | None) -> str | None:
    """Return a worker with room for the task; one that held it before comes last (D21)."""
    before = task.claim.agent if task.claim is not None else None
    for room in sorted(rooms, key=lambda r: (r.session.worker_id == before, -r.left)):
        session = room.session
        if (
            room.left > 0
            and only_instance in (None, session.instance_id)
            and task.queue in session.queues
            and match_capability(session.capabilities, task.capability, task.version) is not None
            and meets(task.requires, session.labels)
            and fits(task.resources, room.free)
        ):
            room.left -= 1
            return session.worker_id
    return None


def _void_unanswered(tx: Transaction, injected: Injected, now: datetime) -> None:
    """Void starts that were offered and not acknowledged in time, counted only in calm (D20)."""
    late = [
        void_start(task, now)
        for task in tx.selection.unanswered_starts(ACK_TIMEOUT_S, PAGE)
        if task.holder is not None and is_calm_for(tx, now, min(ACK_TIMEOUT_S, task.holder.ttl_s))
    ]
    tx.facts.record([Fact(t.id, "void", now, t.generation, {"by": "janitor"}) for t in late])
    save(tx, injected, late)


def _overdue(tx: Transaction, injected: Injected, now: datetime) -> None:
    """Fail waiting tasks whose deadline has passed, and ask the holders of claimed ones to stop."""
    changed: list[Task] = []
    for task in tx.upkeep.overdue(PAGE):
        if task.state is TaskState.CLAIMED:
            if not task.cancel_requested:
                changed.append(task.changed(now, cancel_requested=True))
        elif task.state in (TaskState.OPEN, TaskState.BLOCKED):
            error = ErrorInfo(type="deadline", message="the deadline passed before it was done", retry=False)
            changed.append(task.after(TaskStep.FAIL, now, error=error))
    tx.facts.record([Fact(t.id, "deadline", now, t.generation) for t in changed])
    save(tx, injected, changed)
