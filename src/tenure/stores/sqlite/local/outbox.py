"""Facts not yet confirmed, in the order they were saved. C070, C080, C081, C090."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tenure.core.event import Event, EventKind
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.local.attempts import SqliteAttempts
from tenure.stores.sqlite.local.rows import event_values, ids_text, to_event
from tenure.stores.sqlite.statements import Statement, load_statements


@dataclass(frozen=True, slots=True)
class OutboxSql:
    """The statements of `sql/outbox.sql`."""

    event_replace_checkpoints: Statement
    event_add: Statement
    event_pending: Statement
    event_mark_reported: Statement
    event_ended_attempts: Statement
    event_quarantine: Statement
    event_counts: Statement


SQL = load_statements(OutboxSql, Path(__file__).parent / "sql" / "outbox.sql")


class SqliteOutbox:
    """Facts not yet confirmed."""

    def __init__(self, database: Database) -> None:
        """Use the connection of the transaction."""
        self._database = database
        self._attempts = SqliteAttempts(database)

    def add(self, events: Sequence[Event]) -> None:
        """Append events; a checkpoint that is not confirmed yet is replaced by a newer one of its attempt."""
        newest = {event.attempt_id: event.event_id for event in events if event.kind is EventKind.CHECKPOINT}
        if newest:
            self._database.rows(SQL.event_replace_checkpoints, attempt_ids=ids_text(newest))
        kept = [
            event
            for event in events
            if event.kind is not EventKind.CHECKPOINT or newest[event.attempt_id] == event.event_id
        ]
        self._database.change_each(SQL.event_add, [event_values(event) for event in kept])

    def pending(self, limit: int) -> list[Event]:
        """Return the oldest pending events in the order they were saved."""
        return [to_event(row) for row in self._database.rows(SQL.event_pending, limit=limit)]

    def mark_reported(self, event_ids: Sequence[str]) -> None:
        """Mark events as confirmed, and end the leases that were kept for their answers (D15)."""
        ids = ids_text(event_ids)
        self._database.rows(SQL.event_mark_reported, ids=ids)
        ended = [row[0] for row in self._database.rows(SQL.event_ended_attempts, ids=ids)]
        if ended:
            self._attempts.end_leases(ended)

    def quarantine(self, event_id: str, reason: str, instead: Event | None = None) -> bool:
        """Set a pending event aside, visibly, and append the one that stands in for it (D8)."""
        row = self._database.row(SQL.event_quarantine, event_id=event_id, reason=reason)
        if row is None:
            return False
        attempt_id, final, stood_in = row
        if instead is not None and not stood_in:
            self._database.change_each(SQL.event_add, [event_values(instead, event_id)])
            return True
        if final:
            self._attempts.end_leases([attempt_id])
        return False

    def counts(self) -> dict[str, int]:
        """Return how many events are `pending`, `reported` and `quarantined`."""
        known = dict.fromkeys(("pending", "reported", "quarantined"), 0)
        return known | {row[0]: row[1] for row in self._database.rows(SQL.event_counts)}
