"""Attempts by id; their final states absorb in the statements too. C068, C069, C071, C114."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tenure.core.attempt import Attempt
from tenure.ports.local import Usage
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.local.rows import (
    attempt_values,
    checkpoint_values,
    ids_text,
    new_attempt_values,
    to_attempt,
    work_values,
)
from tenure.stores.sqlite.statements import Statement, load_statements


@dataclass(frozen=True, slots=True)
class AttemptsSql:
    """The statements of `sql/attempts.sql`."""

    attempt_add: Statement
    work_add: Statement
    checkpoint_save: Statement
    attempt_save: Statement
    attempt_end_lease: Statement
    attempt_forget: Statement
    attempt_load: Statement
    attempt_leased: Statement
    attempt_usage: Statement


SQL = load_statements(AttemptsSql, Path(__file__).parent / "sql" / "attempts.sql")


class SqliteAttempts:
    """Attempts by id."""

    def __init__(self, database: Database) -> None:
        """Use the connection of the transaction."""
        self._database = database

    def add(self, attempts: Sequence[Attempt]) -> None:
        """Add pending attempts, with their work and what was handed over with it."""
        self._database.change_each(SQL.attempt_add, [new_attempt_values(a) for a in attempts])
        self._database.change_each(SQL.work_add, [work_values(a) for a in attempts])
        self._save_checkpoints(attempts)

    def load(self, ids: Collection[str]) -> dict[str, Attempt]:
        """Return the attempts that exist."""
        rows = self._database.rows(SQL.attempt_load, ids=ids_text(ids))
        return {row[0]: to_attempt(row) for row in rows}

    def save(self, attempts: Sequence[Attempt]) -> None:
        """Write attempts back; a row that is final stays what it is, but for `lease_kept` ending."""
        self._save_checkpoints(attempts)
        self._database.change_each(SQL.attempt_save, [attempt_values(a) for a in attempts])
        ended = [a.id for a in attempts if not a.lease_kept]
        if ended:
            self.end_leases(ended)

    def forget(self, ids: Collection[str]) -> None:
        """Note that these are decided elsewhere."""
        self._database.rows(SQL.attempt_forget, ids=ids_text(ids))

    def unfinished(self) -> list[Attempt]:
        """Return the attempts that are not final, oldest first."""
        return [attempt for attempt in self.leased() if not attempt.state.is_final]

    def leased(self) -> list[Attempt]:
        """Return the attempts whose lease is still renewed, oldest first."""
        return [to_attempt(row) for row in self._database.rows(SQL.attempt_leased)]

    def usage(self) -> Usage:
        """Count what the attempts that are not final take."""
        count, taken = 0, dict[str, float]()
        for text, attempts in self._database.rows(SQL.attempt_usage):
            count += attempts
            for name, amount in msgspec.json.decode(text, type=dict[str, float]).items():
                taken[name] = taken.get(name, 0.0) + amount * attempts
        return Usage(count, taken)

    def end_leases(self, ids: Collection[str]) -> None:
        """Note of final attempts that their lease is renewed no longer (D15)."""
        self._database.rows(SQL.attempt_end_lease, ids=ids_text(ids))

    def _save_checkpoints(self, attempts: Sequence[Attempt]) -> None:
        values = [checkpoint_values(a) for a in attempts if a.checkpoint_saved]
        if values:
            self._database.change_each(SQL.checkpoint_save, values)
