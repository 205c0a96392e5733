"""Commands received and how each was answered. C062 to C067."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from tenure.core.admission import InboxRow
from tenure.core.command import Command, CommandKind
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.local.rows import ids_text
from tenure.stores.sqlite.statements import Statement, load_statements


@dataclass(frozen=True, slots=True)
class InboxSql:
    """The statements of `sql/inbox.sql`."""

    inbox_seen: Statement
    inbox_add: Statement


SQL = load_statements(InboxSql, Path(__file__).parent / "sql" / "inbox.sql")


class SqliteInbox:
    """Commands received."""

    def __init__(self, database: Database) -> None:
        """Use the connection of the transaction."""
        self._database = database

    def seen(self, command_ids: Collection[str]) -> dict[str, InboxRow]:
        """Return what is remembered of these commands."""
        rows = self._database.rows(SQL.inbox_seen, ids=ids_text(command_ids))
        return {
            row[0]: InboxRow(row[0], CommandKind(row[1]), row[2], bool(row[3]), row[4], row[5])
            for row in rows
        }

    def add(self, rows: Sequence[tuple[Command, InboxRow]]) -> None:
        """Remember commands and how they are answered."""
        self._database.change_each(
            SQL.inbox_add,
            [
                (
                    row.command_id,
                    str(row.kind),
                    row.digest,
                    row.accepted,
                    row.reason,
                    row.detail,
                    command.attempt_id,
                )
                for command, row in rows
            ],
        )
