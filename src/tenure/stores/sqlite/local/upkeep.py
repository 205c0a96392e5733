"""What keeps the local store small: bounded, and never touching what may still serve recovery. C102."""

from dataclasses import dataclass
from pathlib import Path

from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.local.rows import ids_text
from tenure.stores.sqlite.statements import Statement, load_statements

KEEP_US = (
    7 * 86_400_000_000
)  # Bound: how long reported events stay, to be sent again to a restored store (D27)
KEEP_ROWS = 50_000  # Bound: how many of them stay, whatever their age
DUPLICATES_US = 3_600_000_000  # Bound: how long after its attempt is gone a command may still come again


@dataclass(frozen=True, slots=True)
class UpkeepSql:
    """The statements of `sql/upkeep.sql`."""

    prune_events: Statement
    prune_attempts: Statement
    prune_effects: Statement
    prune_inbox: Statement


SQL = load_statements(UpkeepSql, Path(__file__).parent / "sql" / "upkeep.sql")


class SqliteLocalUpkeep:
    """Removes what nothing can need any more."""

    def __init__(self, database: Database, *, keep_us: int = KEEP_US, keep_rows: int = KEEP_ROWS) -> None:
        """Use the connection of the transaction."""
        self._database = database
        self._kept = {"keep_us": keep_us, "keep_rows": keep_rows}

    def prune(self, limit: int) -> int:
        """Remove up to so many rows of each kind; return how many went."""
        events = self._database.change(SQL.prune_events, limit=limit, **self._kept)
        tasks = [row[0] for row in self._database.rows(SQL.prune_attempts, limit=limit, **self._kept)]
        effects = self._database.change(SQL.prune_effects, task_ids=ids_text(tasks)) if tasks else 0
        inbox = self._database.change(SQL.prune_inbox, limit=limit, duplicates_us=DUPLICATES_US)
        return events + len(tasks) + effects + inbox
