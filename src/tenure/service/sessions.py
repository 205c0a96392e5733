"""Workers: registering, heartbeats, leaving, and the drained mark. C001 to C009, C022, C111, C117."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from tenure.core.canonical import digest_text
from tenure.core.checkpoint import Progress, check_progress
from tenure.core.claim import LeaseAnswer, LeaseBeat
from tenure.core.claiming import void_start
from tenure.core.command import CommandKind, CommandRow, CommandState, command_digest
from tenure.core.errors import Forked, Invalid, NotFound, NotRegistered, StaleRevision
from tenure.core.ids import check_id
from tenure.core.instants import after, check_ttl
from tenure.core.registration import (
    HeartbeatAnswer,
    RegisterRequest,
    Registration,
    Session,
    WorkerView,
    is_forked,
)
from tenure.core.submission import LABELS_MAX, check_map, check_name
from tenure.ports.board import Renewal
from tenure.ports.registry import DrainMark
from tenure.ports.store import Transaction
from tenure.service.changes import save, void
from tenure.service.injected import TOKEN_OF_SESSION, Injected
from tenure.service.principal import Principal
from tenure.service.streams import Opened

SLOTS_MAX = 4_096
LEASES_MAX = 1_000
CAPABILITIES_MAX = 1_000


def register(tx: Transaction, injected: Injected, who: Principal, asked: RegisterRequest) -> Registration:
    """Begin a session; always succeeds for an id that is present, unless the folder is a copy.

    The token is minted inside this step; the session before is displaced from here on. Another instance under
    the same worker id voids the former's unacknowledged starts.

    Raises:
        Forked: The incarnation known here is not among the predecessors; nothing changed.
        NotRegistered: A delayed duplicate of an older request of the same incarnation.
    """
    who.require("worker")
    _check(who, asked)
    before = tx.registry.latest([asked.worker_id]).get(asked.worker_id)
    if is_forked(asked, tx.registry.incarnation(asked.instance_id, None)):
        raise Forked(
            f"instance {asked.instance_id} has lived on elsewhere: this folder is a copy or an old backup; "
            "use the one that lived on, or start with an empty folder"
        )
    if _is_delayed(before, asked):
        raise NotRegistered("a later request of this start came first", reason="displaced")
    if asked.incarnation is not None:
        tx.registry.incarnation(asked.instance_id, asked.incarnation)
    now = tx.now()
    token = injected.ids.new_token(TOKEN_OF_SESSION)
    session = _session(asked, before.number + 1 if before else 1, token, now)
    tx.registry.save([*_displaced(tx, asked), session])
    if before is not None and before.instance_id != asked.instance_id:
        hand_back_starts(tx, injected, before)
    mark = tx.registry.drain_marks([asked.worker_id]).get(asked.worker_id)
    injected.tell(tx, f"worker:{asked.worker_id}", "workers")
    return Registration(
        worker_id=asked.worker_id,
        token=token,
        expires_at=session.expires_at,
        ttl_s=asked.ttl_s,
        heartbeat_s=asked.ttl_s / 3,
        drained=mark.drained if mark else False,
        drained_number=mark.number if mark else 0,
    )


def _check(who: Principal, asked: RegisterRequest) -> None:
    check_id("worker_id", asked.worker_id)
    check_id("instance_id", asked.instance_id)
    check_ttl("ttl_s", asked.ttl_s)
    check_map("labels", asked.labels)
    if asked.incarnation is not None:
        check_id("incarnation", asked.incarnation)
    if not 0 <= asked.room <= SLOTS_MAX:
        raise Invalid(f"use 0 to {SLOTS_MAX}", path="room")
    if not 1 <= asked.slots <= SLOTS_MAX:
        raise Invalid(f"use 1 to {SLOTS_MAX}", path="slots")
    if len(asked.capabilities) > CAPABILITIES_MAX or len(asked.predecessors) > CAPABILITIES_MAX:
        raise Invalid(f"at most {CAPABILITIES_MAX}", path="capabilities")
    if len(asked.queues) > LABELS_MAX:
        raise Invalid(f"at most {LABELS_MAX} queues", path="queues")
    for queue in asked.queues:
        check_id("queues", queue)
        who.require_queue(queue)
    for index, capability in enumerate(asked.capabilities):
        check_name(f"capabilities[{index}].name", capability.name)
        check_name(f"capabilities[{index}].version", capability.version)


def _is_delayed(before: Session | None, asked: RegisterRequest) -> bool:
    if before is None or asked.incarnation is None or before.incarnation != asked.incarnation:
        return False
    return asked.try_number < before.try_number


def _session(asked: RegisterRequest, number: int, token: str, now: datetime) -> Session:
    return Session(
        worker_id=asked.worker_id,
        number=number,
        token_hash=digest_text(token),
        instance_id=asked.instance_id,
        node_id=asked.node_id,
        ttl_s=asked.ttl_s,
        registered_at=now,
        expires_at=after(now, asked.ttl_s),
        last_seen_at=now,
        queues=asked.queues,
        labels=asked.labels,
        capabilities=asked.capabilities,
        slots=asked.slots,
        room=asked.room,
        resources=asked.resources,
        incarnation=asked.incarnation,
        try_number=asked.try_number,
    )


def _displaced(tx: Transaction, asked: RegisterRequest) -> list[Session]:
    """Return the live sessions that this registration ends.

    Of the worker id, and of the instance under another id.
    """
    ended: list[Session] = []
    for session in tx.registry.latest(None).values():
        same = session.worker_id == asked.worker_id or session.instance_id == asked.instance_id
        if same and session.ended is None:
            ended.append(
                msgspec.structs.replace(
                    session, ended="displaced", displaced_by=asked.instance_id, connected=False
                )
            )
    return ended


def hand_back_starts(tx: Transaction, injected: Injected, session: Session) -> None:
    """Void the queued starts of a session's worker; their tasks are open again and nothing is counted."""
    rows = [r for r in tx.commands.queued(session.worker_id, 0, SLOTS_MAX) if r.kind is CommandKind.START]
    tasks = tx.board.load([r.task_id for r in rows if r.task_id])
    now = tx.now()
    back = [
        void_start(task, now)
        for row in rows
        if (task := tasks.get(row.task_id or "")) is not None
        and task.holder is not None
        and task.holder.generation == row.generation
        and not task.holder.acknowledged
    ]
    tx.commands.save([void(row) for row in rows])
    save(tx, injected, back)


def require_session(tx: Transaction, worker_id: str, token: str) -> Session:
    """Return the live, newest session of this token, or raise `NotRegistered` with the reason (D24)."""
    session = tx.registry.by_token(digest_text(token))
    if session is None or session.worker_id != worker_id:
        raise NotRegistered(f"no session of worker {worker_id} has this token", reason="deregistered")
    if session.ended is not None:
        raise NotRegistered(
            f"the session of worker {worker_id} was {session.ended}",
            reason=session.ended,
            displaced_by=session.displaced_by,
        )
    if not session.is_alive(tx.now()):
        raise NotRegistered(f"the session of worker {worker_id} expired", reason="expired")
    return session


def heartbeat(
    tx: Transaction,
    injected: Injected,
    worker_id: str,
    token: str,
    ttl_s: float,
    room: int,
    usage: Mapping[str, float],
    leases: Sequence[LeaseBeat],
) -> HeartbeatAnswer:
    """Keep the registration and, by statements of their own, the leases named; none implies another. C022.

    Raises:
        NotRegistered: Then no lease was renewed.
    """
    check_ttl("ttl_s", ttl_s)
    if len(leases) > LEASES_MAX:
        raise Invalid(f"{len(leases)} leases; at most {LEASES_MAX} per call", path="leases")
    session = require_session(tx, worker_id, token)
    expires_at = tx.registry.touch(worker_id, session.number, ttl_s, room, usage)
    if expires_at is None:
        raise NotRegistered(f"the session of worker {worker_id} expired", reason="expired")
    if room != session.room:
        injected.tell(tx, "board")
    injected.tell(tx, *[f"task:{lease.task_id}" for lease in leases if lease.progress is not None])
    mark = tx.registry.drain_marks([worker_id]).get(worker_id)
    return HeartbeatAnswer(
        expires_at=expires_at,
        ttl_s=ttl_s,
        drained=mark.drained if mark else False,
        drained_number=mark.number if mark else 0,
        leases=renew_leases(tx, leases),
    )


def renew_leases(tx: Transaction, leases: Sequence[LeaseBeat]) -> list[LeaseAnswer]:
    """Renew leases one by one by their tokens.

    A bad progress is dropped and said, the lease renewed all the same.
    """
    refused: dict[str, str] = {}
    renewals = [_renewal(index, lease, refused) for index, lease in enumerate(leases)]
    held = tx.board.renew(renewals)
    return [
        LeaseAnswer(
            task_id=lease.task_id,
            state="held",
            ttl_s=lease.ttl_s,
            cancel_requested=held[lease.task_id].cancel_requested,
            progress_refused=refused.get(lease.task_id),
        )
        if lease.task_id in held
        else LeaseAnswer(task_id=lease.task_id, state="lost")
        for lease in leases
    ]


def _renewal(index: int, lease: LeaseBeat, refused: dict[str, str]) -> Renewal:
    check_ttl(f"leases[{index}].ttl_s", lease.ttl_s)
    progress = None
    if lease.progress is not None:
        try:
            progress = read_progress(lease.progress)
        except Invalid as error:
            refused[lease.task_id] = error.text
    return Renewal(
        lease.task_id,
        digest_text(lease.token),
        lease.ttl_s,
        progress,
        lease.progress_number if progress else 0,
    )


def read_progress(value: dict[str, object]) -> Progress:
    """Return a stated progress in its form, or raise `Invalid`."""
    try:
        return check_progress(msgspec.convert(value, Progress))
    except msgspec.ValidationError as error:
        raise Invalid(str(error), path="progress") from error


def deregister(tx: Transaction, injected: Injected, worker_id: str, token: str) -> list[str]:
    """End the session; unacknowledged starts are handed back, other leases stay untouched. C008."""
    session = require_session(tx, worker_id, token)
    hand_back_starts(tx, injected, session)
    tx.registry.save([msgspec.structs.replace(session, ended="deregistered", connected=False, room=0)])
    injected.tell(tx, f"worker:{worker_id}", "workers")
    return tx.upkeep.held_by(worker_id)


def workers(tx: Transaction) -> list[WorkerView]:
    """Return every worker as the store judges it now; labels are copies. C009."""
    now = tx.now()
    marks = tx.registry.drain_marks(None)
    return [_view(s, marks.get(s.worker_id), now) for s in tx.registry.latest(None).values()]


def _view(session: Session, mark: DrainMark | None, now: datetime) -> WorkerView:
    alive = session.is_alive(now)
    return WorkerView(
        worker_id=session.worker_id,
        instance_id=session.instance_id,
        node_id=session.node_id,
        labels=dict(session.labels),
        capabilities=session.capabilities,
        slots=session.slots,
        room=session.room if alive else 0,
        usage=session.usage,
        drained=mark.drained if mark else False,
        drained_number=mark.number if mark else 0,
        alive=alive,
        connected=alive and session.connected,
        expires_at=session.expires_at,
        last_seen_at=session.last_seen_at,
    )


def drain(
    tx: Transaction,
    injected: Injected,
    who: Principal,
    worker_id: str,
    *,
    drained: bool,
    note: str,
    revision: int | None,
) -> WorkerView:
    """Mark a worker drained, or undo it: a numbered mark that survives restart, displacement and expiry.

    Contracts: C111.
    """
    who.require("admin")
    session = tx.registry.latest([worker_id]).get(worker_id)
    if session is None:
        raise NotFound(f"there is no worker {worker_id}")
    before = tx.registry.drain_marks([worker_id]).get(worker_id)
    number = before.number if before else 0
    if revision is not None and revision != number:
        raise StaleRevision(f"the mark is at number {number}, not {revision}; look again")
    now = tx.now()
    mark = before
    if before is None or before.drained != drained:
        mark = DrainMark(worker_id, drained=drained, number=number + 1, note=note)
        tx.registry.mark_drain(mark)
        kind = CommandKind.DRAIN if drained else CommandKind.UNDRAIN
        tx.commands.add([_order(injected, session, kind, {"number": number + 1}, now)])
        injected.tell(tx, f"worker:{worker_id}", "board")
    return _view(session, mark, now)


def _order(
    injected: Injected, session: Session, kind: CommandKind, body: dict[str, object], now: datetime
) -> CommandRow:
    return CommandRow(
        command_id=injected.ids.new_id(),
        worker_id=session.worker_id,
        instance_id=session.instance_id,
        sequence=0,
        kind=kind,
        digest=command_digest(kind, None, None, None, body),
        state=CommandState.QUEUED,
        queued_at=now,
        body=body,
    )


def take_room(tx: Transaction, injected: Injected, worker_id: str, number: int, room: int) -> None:
    """Keep the room that a worker states beside its events."""
    session = tx.registry.latest([worker_id]).get(worker_id)
    if session is not None and session.number == number and session.ended is None and session.room != room:
        tx.registry.save([msgspec.structs.replace(session, room=room)])
        injected.tell(tx, "board")


def open_stream(tx: Transaction, worker_id: str, token: str) -> Opened:
    """Open the session's one stream: its epoch is raised, and every former stream ends."""
    session = require_session(tx, worker_id, token)
    opened = msgspec.structs.replace(session, stream_epoch=session.stream_epoch + 1, connected=True)
    tx.registry.save([opened])
    return Opened(worker_id, session.number, opened.stream_epoch)


def is_current(tx: Transaction, opened: Opened) -> bool:
    """Say whether a stream is still its session's newest, and the session live."""
    session = tx.registry.latest([opened.worker_id]).get(opened.worker_id)
    if session is None or session.number != opened.session or not session.is_alive(tx.now()):
        return False
    return session.stream_epoch == opened.stream_epoch


def close_stream(tx: Transaction, opened: Opened) -> None:
    """Note that a stream has ended; silence changes only what is shown of connectivity. C116."""
    session = tx.registry.latest([opened.worker_id]).get(opened.worker_id)
    if (
        session is not None
        and session.number == opened.session
        and session.stream_epoch == opened.stream_epoch
    ):
        tx.registry.save([msgspec.structs.replace(session, connected=False)])
