"""The worker's ledger by (task, run, name)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tenure.core.attempt import LocalEffect
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.local.rows import effect_values, to_effect
from tenure.stores.sqlite.statements import Statement, load_statements


@dataclass(frozen=True, slots=True)
class EffectsSql:
    """The statements of `sql/effects.sql`."""

    effect_load: Statement
    effect_save: Statement


SQL = load_statements(EffectsSql, Path(__file__).parent / "sql" / "effects.sql")


class SqliteEffects:
    """The worker's ledger."""

    def __init__(self, database: Database) -> None:
        """Use the connection of the transaction."""
        self._database = database

    def load(self, task_id: str, run: int) -> list[LocalEffect]:
        """Return the entries of a run, oldest first."""
        return [to_effect(row) for row in self._database.rows(SQL.effect_load, task_id=task_id, run=run)]

    def save(self, effects: Sequence[LocalEffect]) -> None:
        """Add or change entries."""
        self._database.change_each(SQL.effect_save, [effect_values(effect) for effect in effects])
