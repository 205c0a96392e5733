"""Commands to workers: queued until answered or void. C062 to C067, C115."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from tenure.core.command import CommandKind, CommandRow, CommandState
from tenure.core.errors import InvariantBroken
from tenure.core.instants import from_micros, to_micros
from tenure.stores.sqlite.control.columns import instant_or_none, json_if_any, json_text, micros
from tenure.stores.sqlite.control.rows import CONTENT
from tenure.stores.sqlite.database import Database, Row, Value
from tenure.stores.sqlite.statements import Statement, load_statements


@dataclass(frozen=True, slots=True)
class CommandsSql:
    """The statements of `commands.sql`."""

    command_add: Statement
    command_load: Statement
    command_save: Statement
    command_queued: Statement
    command_offered: Statement
    command_of_tasks: Statement
    command_unanswered: Statement


SQL = load_statements(CommandsSql, Path(__file__).parent / "sql" / "commands.sql")


class SqliteCommands:
    """The command table, within one transaction."""

    def __init__(self, database: Database) -> None:
        """Ask this database."""
        self._database = database

    def add(self, rows: Sequence[CommandRow]) -> None:
        """Queue commands; the store gives each its `sequence`."""
        self._database.change_each(SQL.command_add, [_values(row) for row in rows])

    def load(self, ids: Collection[str]) -> dict[str, CommandRow]:
        """Return the commands that exist."""
        rows = self._database.rows(SQL.command_load, ids=json_text(list(ids)))
        return {row[0]: _command(row) for row in rows}

    def save(self, rows: Sequence[CommandRow]) -> None:
        """Write state, reason, offered mark and token back."""
        changes = [(row.state, row.reason, micros(row.offered_at), row.token, row.command_id) for row in rows]
        if self._database.change_each(SQL.command_save, changes) != len(changes):
            raise InvariantBroken("a command that is saved was never added")

    def queued(self, worker_id: str, after: int, limit: int) -> list[CommandRow]:
        """Return this worker's queued commands beyond a sequence number, in order."""
        rows = self._database.rows(SQL.command_queued, worker_id=worker_id, after=after, limit=limit)
        return [_command(row) for row in rows]

    def mark_offered(self, ids: Sequence[str]) -> None:
        """Note that these were offered now on an open stream; a mark of its own, never an acknowledgement."""
        self._database.rows(SQL.command_offered, ids=json_text(ids))

    def of_tasks(self, task_ids: Collection[str]) -> list[CommandRow]:
        """Return the queued commands about these tasks, in order."""
        rows = self._database.rows(SQL.command_of_tasks, task_ids=json_text(list(task_ids)))
        return [_command(row) for row in rows]

    def unanswered(self) -> dict[str, int]:
        """Return the number of queued starts of each worker."""
        return {row[0]: row[1] for row in self._database.rows(SQL.command_unanswered)}


def _values(row: CommandRow) -> tuple[Value, ...]:
    """Return the values of `command_add`."""
    return (
        row.command_id,
        row.worker_id,
        row.instance_id,
        row.kind,
        row.digest,
        row.state,
        to_micros(row.queued_at),
        row.task_id,
        row.generation,
        row.token,
        micros(row.offered_at),
        row.reason,
        json_if_any(row.body),
    )


def _command(row: Row) -> CommandRow:
    return CommandRow(
        command_id=row[0],
        worker_id=row[1],
        instance_id=row[2],
        sequence=row[3],
        kind=CommandKind(row[4]),
        digest=row[5],
        state=CommandState(row[6]),
        queued_at=from_micros(row[7]),
        task_id=row[8],
        generation=row[9],
        token=row[10],
        body=CONTENT.read(row[11]),
        offered_at=instant_or_none(row[12]),
        reason=row[13],
    )
