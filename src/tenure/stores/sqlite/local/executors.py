"""Executor processes that were started and not yet shown dead. C103, C122."""

from dataclasses import dataclass
from pathlib import Path

from tenure.ports.local import ExecutorRow
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.statements import Statement, load_statements


@dataclass(frozen=True, slots=True)
class ExecutorsSql:
    """The statements of `sql/executors.sql`."""

    executor_add: Statement
    executor_remove: Statement
    executor_all: Statement


SQL = load_statements(ExecutorsSql, Path(__file__).parent / "sql" / "executors.sql")


class SqliteExecutors:
    """Executor processes by pid and start time."""

    def __init__(self, database: Database) -> None:
        """Use the connection of the transaction."""
        self._database = database

    def add(self, row: ExecutorRow) -> None:
        """Remember an executor before it receives work."""
        self._database.rows(
            SQL.executor_add,
            pid=row.pid,
            start_time=row.start_time,
            boot_id=row.boot_id,
            marker=row.marker,
        )

    def remove(self, pid: int, start_time: str) -> None:
        """Forget an executor that was shown dead."""
        self._database.rows(SQL.executor_remove, pid=pid, start_time=start_time)

    def all(self) -> list[ExecutorRow]:
        """Return those that are remembered."""
        return [ExecutorRow(*row) for row in self._database.rows(SQL.executor_all)]
