"""Pushing work: claims with their start commands in one transaction, offers, and acknowledgements.

Contracts: D13, D20, D21.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from tenure.core.canonical import digest_text
from tenure.core.capability import Capability, fits, match_capability
from tenure.core.claim import Claim
from tenure.core.claiming import Grantee, grant, void_start
from tenure.core.command import Ack, AckAnswer, Command, CommandKind, CommandRow, CommandState, command_digest
from tenure.core.errors import Invalid
from tenure.core.event import EventKind, FailedBody
from tenure.core.ids import attempt_id
from tenure.core.instants import after
from tenure.core.registration import Session
from tenure.core.settlement import end, ending_of
from tenure.core.task import ErrorInfo, Task, TaskSpec, TaskState
from tenure.ports.board import Presented, Wanted
from tenure.ports.facts import Fact
from tenure.ports.store import Transaction
from tenure.service.changes import save
from tenure.service.evidence import gather
from tenure.service.injected import TOKEN_OF_CLAIM, Injected
from tenure.service.sessions import require_session

GRANTS_MAX = 256
LOOKS_MAX = 4
CONFLICT_S = 30.0
ACKS_MAX = 1_000


class Offered(Struct, frozen=True):
    """Commands granted in one dispatch, by worker."""

    commands: dict[str, list[Command]]


def dispatch(tx: Transaction, injected: Injected, connected: Collection[str]) -> Offered:
    """Grant open and due tasks to connected workers, within each one's room, and queue their start commands.

    The server never has more unacknowledged starts for a worker than its room, and only what its
    capabilities, versions, labels and free resources can run, while its registration is live and it is not
    drained.
    """
    sessions = tx.registry.latest(connected)
    pending = tx.commands.unanswered()
    marks = tx.registry.drain_marks(connected)
    now = tx.now()
    offered: dict[str, list[Command]] = {}
    for worker_id, session in sessions.items():
        mark = marks.get(worker_id)
        if not session.is_alive(now) or (mark is not None and mark.drained):
            continue
        credit = min(session.room - pending.get(worker_id, 0), GRANTS_MAX)
        if credit > 0:
            chosen = _choose(tx, session, credit)
            if chosen:
                offered[worker_id] = start(tx, injected, session, chosen)
    return Offered(offered)


def _choose(tx: Transaction, session: Session, credit: int) -> list[Task]:
    """Return up to `credit` tasks that this worker can run; what does not fit hides nothing behind it."""
    free = free_resources(session)
    chosen: list[Task] = []
    skip: list[str] = []
    for _ in range(LOOKS_MAX):  # Bound: each look leaves out what no longer fits beside what was chosen
        found = tx.selection.open_and_due(
            Wanted(
                queues=session.queues,
                capabilities=[(c.name, c.version) for c in session.capabilities],
                limit=credit - len(chosen),
                exclude_worker=session.worker_id,
                skip=skip,
                labels=session.labels,
                resources=free,
            )
        )
        skip.extend(task.id for task in found)
        chosen.extend(task for task in found if _take(task, free))
        if not found or len(chosen) >= credit:
            break
    return chosen


def _take(task: Task, free: dict[str, float]) -> bool:
    """Take what the task needs from what is free, if it is still there."""
    if not fits(task.resources, free):
        return False
    for name, amount in task.resources.items():
        free[name] -= amount
    return True


def free_resources(session: Session) -> dict[str, float]:
    """Return what of a worker's resources its last stated usage leaves free."""
    return {name: amount - session.usage.get(name, 0.0) for name, amount in session.resources.items()}


def start(tx: Transaction, injected: Injected, session: Session, tasks: Sequence[Task]) -> list[Command]:
    """Grant tasks to a worker and queue a start command for each, in this one transaction. C010."""
    now = tx.now()
    specs = tx.board.specs([t.id for t in tasks])
    granted: list[Task] = []
    rows: list[CommandRow] = []
    for task in tasks:
        capability = match_capability(session.capabilities, task.capability, task.version)
        if capability is None:
            continue
        token = injected.ids.new_token(TOKEN_OF_CLAIM)
        granted.append(grant(task, _grantee(session, task, capability, token), now))
        rows.append(_row(session, granted[-1], specs[task.id], token, now))
    save(tx, injected, granted)
    tx.commands.add(rows)
    tx.facts.record(
        [
            Fact(
                task_id=t.id,
                kind="claimed",
                at=now,
                generation=t.generation,
                body={"agent": session.worker_id},
            )
            for t in granted
        ]
    )
    queued = tx.commands.load([r.command_id for r in rows])
    return commands(tx, [queued[r.command_id] for r in rows], specs)


def _grantee(session: Session, task: Task, capability: Capability, token: str) -> Grantee:
    return Grantee(
        agent=session.worker_id,
        token_hash=digest_text(token),
        ttl_s=task.lease_ttl_s,
        rule=capability.recovery,
        instance_id=session.instance_id,
        session=session.number,
        pushed=True,
    )


def _row(session: Session, task: Task, spec: TaskSpec, token: str, now: datetime) -> CommandRow:
    work = (spec.capability, spec.version, spec.input)
    return CommandRow(
        command_id=attempt_id(task.id, task.generation),
        worker_id=session.worker_id,
        instance_id=session.instance_id,
        sequence=0,
        kind=CommandKind.START,
        digest=command_digest(CommandKind.START, task.id, task.generation, work, {}),
        state=CommandState.QUEUED,
        queued_at=now,
        task_id=task.id,
        generation=task.generation,
        token=token,
        offered_at=now,
    )


def commands(
    tx: Transaction, rows: Sequence[CommandRow], specs: Mapping[str, TaskSpec] | None = None
) -> list[Command]:
    """Return commands as they travel, with spec and evidence of their tasks."""
    ids = [r.task_id for r in rows if r.task_id is not None]
    known = specs if specs is not None else tx.board.specs(ids)
    tasks = tx.board.load([r.task_id for r in rows if r.kind is CommandKind.START and r.task_id])
    evidence = gather(tx, list(tasks.values()), {r.task_id or "": r.instance_id for r in rows})
    return [
        Command(
            command_id=row.command_id,
            instance_id=row.instance_id,
            kind=row.kind,
            digest=row.digest,
            sequence=row.sequence,
            task=known.get(row.task_id) if row.task_id is not None else None,
            attempt_id=attempt_id(row.task_id, row.generation) if row.task_id and row.generation else None,
            generation=row.generation,
            token=row.token,
            run=tasks[row.task_id].run if row.task_id in tasks else 1,
            losses=tasks[row.task_id].losses if row.task_id in tasks else 0,
            evidence=evidence.get(row.task_id or ""),
            body=row.body,
        )
        for row in rows
    ]


def offer_again(tx: Transaction, worker_id: str, after_sequence: int, limit: int) -> list[Command]:
    """Return this worker's queued commands beyond a sequence number and note that they were offered. C115."""
    rows = tx.commands.queued(worker_id, after_sequence, limit)
    if rows:
        tx.commands.mark_offered([r.command_id for r in rows])
    return commands(tx, rows)


def acknowledge(
    tx: Transaction, injected: Injected, worker_id: str, token: str, room: int, acks: Sequence[Ack]
) -> list[AckAnswer]:
    """Answer acknowledgements from the present.

    `go` renews and says the time left, `void` means do not start.

    Repeatable for ever; the first recorded answer stays. A refused start is handed back in the same
    transaction.
    """
    if len(acks) > ACKS_MAX:
        raise Invalid(f"{len(acks)} acks; at most {ACKS_MAX} per call", path="acks")
    session = require_session(tx, worker_id, token)
    if room != session.room:
        tx.registry.save([msgspec.structs.replace(session, room=room)])
        injected.tell(tx, "board")
    rows = tx.commands.load([a.command_id for a in acks])
    tasks = tx.board.load({r.task_id for r in rows.values() if r.task_id and r.kind is CommandKind.START})
    now = tx.now()
    answers: list[AckAnswer] = []
    changed: dict[str, Task] = {}
    answered: list[CommandRow] = []
    for ack in acks:
        row = rows.get(ack.command_id)
        if row is None or row.worker_id != worker_id or row.instance_id != session.instance_id:
            answers.append(AckAnswer(ack.command_id, "void"))
            continue
        task = changed.get(row.task_id or "") or tasks.get(row.task_id or "")
        outcome = _answer(row, task, ack, session, now)
        answers.append(outcome.answer)
        if outcome.row is not None:
            rows[ack.command_id] = outcome.row
            answered.append(outcome.row)
        if outcome.task is not None:
            changed[outcome.task.id] = outcome.task
        if ack.reason in ("unsupported", "invalid_input", "conflict") and row.task_id:
            until = after(now, CONFLICT_S) if ack.reason == "conflict" else None
            tx.upkeep.exclude(row.task_id, worker_id, until)
    tx.commands.save(answered)
    _record(tx, answered, now)
    save(tx, injected, changed.values())
    if any(not ack.accepted for ack in acks):
        injected.tell(tx, "board")
    return answers


def _record(tx: Transaction, answered: Sequence[CommandRow], now: datetime) -> None:
    tx.facts.record(
        [
            Fact(
                task_id=row.task_id,
                kind=str(row.state),
                at=now,
                generation=row.generation or 0,
                body={"agent": row.worker_id, "reason": row.reason},
            )
            for row in answered
            if row.task_id is not None and row.kind is CommandKind.START
        ]
    )


class _Outcome(Struct, frozen=True):
    answer: AckAnswer
    row: CommandRow | None = None
    task: Task | None = None


def _answer(row: CommandRow, task: Task | None, ack: Ack, session: Session, now: datetime) -> _Outcome:
    if row.kind is not CommandKind.START:
        done = msgspec.structs.replace(row, state=CommandState.ACKNOWLEDGED, token=None)
        return _Outcome(AckAnswer(ack.command_id, "go"), done if row.state is CommandState.QUEUED else None)
    holder = task.holder if task is not None else None
    void = AckAnswer(ack.command_id, "void")
    if (
        task is None
        or holder is None
        or holder.generation != row.generation
        or task.state is not TaskState.CLAIMED
    ):
        return _Outcome(void)
    if row.state is CommandState.QUEUED and not ack.accepted:
        refused = msgspec.structs.replace(row, state=CommandState.REJECTED, reason=ack.reason, token=None)
        return _Outcome(void, refused, _handed_back(task, ack, now))
    if row.state not in (CommandState.QUEUED, CommandState.ACKNOWLEDGED):
        return _Outcome(void)
    claim = msgspec.structs.replace(
        holder, acknowledged=True, session=session.number, until=max(holder.until, after(now, holder.ttl_s))
    )
    go = AckAnswer(ack.command_id, "go", holder.ttl_s, task.cancel_requested)
    renewed = task.changed(now, claim=claim) if not holder.acknowledged else _quiet(task, claim)
    if row.state is CommandState.ACKNOWLEDGED:
        return _Outcome(go, None, renewed)
    return _Outcome(go, msgspec.structs.replace(row, state=CommandState.ACKNOWLEDGED, token=None), renewed)


def _quiet(task: Task, claim: Claim) -> Task:
    """Move the lease without a new revision: a renewal never makes a person's look stale."""
    return msgspec.structs.replace(task, claim=claim)


def _handed_back(task: Task, ack: Ack, now: datetime) -> Task:
    """Return the task of a refused start.

    Open again, or a failed try without retry for input that cannot be.
    """
    if ack.reason != "invalid_input" or task.claim is None:
        return void_start(task, now)
    error = ErrorInfo(type="invalid_input", message=ack.detail or "the input does not fit", retry=False)
    body = FailedBody(error)
    return end(task, task.claim, (), ending_of(EventKind.FAILED, body), body, now, 0.0)


def presented(task_id: str, token: str) -> Presented:
    """Return a presented token as digest; the token itself goes no further. C118."""
    return Presented(task_id, digest_text(token))
