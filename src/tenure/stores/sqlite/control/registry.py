"""Workers, their sessions, drained marks and incarnations. C001 to C009, C117."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tenure.core.capability import Capability
from tenure.core.instants import from_micros, to_micros
from tenure.core.registration import Session
from tenure.ports.registry import DrainMark
from tenure.stores.sqlite.control.columns import JsonColumn, json_text
from tenure.stores.sqlite.control.rows import AMOUNTS, WORDS
from tenure.stores.sqlite.database import Database, Row, Value
from tenure.stores.sqlite.statements import Statement, load_statements

_QUEUES = JsonColumn(list[str], list[str])
_CAPABILITIES = JsonColumn(list[Capability], list[Capability])


@dataclass(frozen=True, slots=True)
class RegistrySql:
    """The statements of `registry.sql`."""

    session_newest: Statement
    session_all: Statement
    session_of_token: Statement
    worker_save: Statement
    session_save: Statement
    session_touch: Statement
    session_disconnect: Statement
    mark_load: Statement
    mark_save: Statement
    incarnation_load: Statement
    incarnation_save: Statement


SQL = load_statements(RegistrySql, Path(__file__).parent / "sql" / "registry.sql")


class SqliteRegistry:
    """Sessions by worker and by token, within one transaction."""

    def __init__(self, database: Database) -> None:
        """Ask this database."""
        self._database = database

    def latest(self, worker_ids: Collection[str] | None) -> dict[str, Session]:
        """Return the newest session of each worker (None: of all)."""
        if worker_ids is None:
            rows = self._database.rows(SQL.session_all)
        else:
            rows = self._database.rows(SQL.session_newest, worker_ids=json_text(list(worker_ids)))
        return {row[0]: _session(row) for row in rows}

    def by_token(self, token_hash: str) -> Session | None:
        """Return the session that this token was minted for, also if it has ended."""
        row = self._database.row(SQL.session_of_token, token_hash=token_hash)
        return None if row is None else _session(row)

    def save(self, sessions: Sequence[Session]) -> None:
        """Add or change sessions by (worker id, number)."""
        self._database.change_each(SQL.worker_save, [(s.worker_id, s.number) for s in sessions])
        self._database.change_each(SQL.session_save, [_values(session) for session in sessions])

    def touch(
        self, worker_id: str, number: int, ttl_s: float, room: int, usage: Mapping[str, float]
    ) -> datetime | None:
        """Move a live, newest session's end to now + ttl, guarded; None: not registered."""
        row = self._database.row(
            SQL.session_touch,
            worker_id=worker_id,
            number=number,
            ttl_s=ttl_s,
            room=room,
            usage=json_text(usage),
        )
        return None if row is None else from_micros(row[0])

    def drain_marks(self, worker_ids: Collection[str] | None) -> dict[str, DrainMark]:
        """Return the marks of these workers (None: of all)."""
        asked = None if worker_ids is None else json_text(list(worker_ids))
        rows = self._database.rows(SQL.mark_load, worker_ids=asked)
        return {row[0]: DrainMark(row[0], bool(row[1]), row[2], row[3]) for row in rows}

    def mark_drain(self, mark: DrainMark) -> None:
        """Keep the mark; it survives restart, displacement and expiry, and a lower number changes nothing."""
        self._database.rows(
            SQL.mark_save, worker_id=mark.worker_id, drained=mark.drained, number=mark.number, note=mark.note
        )

    def incarnation(self, instance_id: str, accept: str | None) -> str | None:
        """Return the last accepted incarnation of an instance; `accept` is kept as the last from now on."""
        row = self._database.row(SQL.incarnation_load, instance_id=instance_id)
        if accept is not None:
            self._database.rows(SQL.incarnation_save, instance_id=instance_id, incarnation=accept)
        return None if row is None else row[0]

    def disconnect_all(self) -> None:
        """Note that no stream is open: the one server of this store has just started."""
        self._database.rows(SQL.session_disconnect)


def _values(session: Session) -> tuple[Value, ...]:
    """Return the values of `session_save`."""
    return (
        session.worker_id,
        session.number,
        session.token_hash,
        session.instance_id,
        session.node_id,
        session.ttl_s,
        to_micros(session.registered_at),
        to_micros(session.expires_at),
        to_micros(session.last_seen_at),
        session.slots,
        session.room,
        session.incarnation,
        session.try_number,
        session.stream_epoch,
        session.connected,
        session.ended,
        session.displaced_by,
        json_text(session.queues),
        json_text(session.labels),
        json_text(session.capabilities),
        json_text(session.resources),
        json_text(session.usage),
    )


def _session(row: Row) -> Session:
    return Session(
        worker_id=row[0],
        number=row[1],
        token_hash=row[2],
        instance_id=row[3],
        node_id=row[4],
        ttl_s=row[5],
        registered_at=from_micros(row[6]),
        expires_at=from_micros(row[7]),
        last_seen_at=from_micros(row[8]),
        slots=row[9],
        room=row[10],
        incarnation=row[11],
        try_number=row[12],
        stream_epoch=row[13],
        connected=bool(row[14]),
        ended=row[15],
        displaced_by=row[16],
        queues=_QUEUES.read(row[17]),
        labels=WORDS.read(row[18]),
        capabilities=_CAPABILITIES.read(row[19]),
        resources=AMOUNTS.read(row[20]),
        usage=AMOUNTS.read(row[21]),
    )
