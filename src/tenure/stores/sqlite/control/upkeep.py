"""What the janitor, dispatch and the sessions ask of the board besides."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from tenure.core.checkpoint import Progress
from tenure.core.task import Task
from tenure.stores.sqlite.control.board import SqliteBoard
from tenure.stores.sqlite.control.columns import instant_or_none, json_text, micros
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.statements import Statement, load_statements

_PROGRESS = msgspec.json.Decoder(Progress)


@dataclass(frozen=True, slots=True)
class UpkeepSql:
    """The statements of `upkeep.sql`."""

    exclusion_add: Statement
    overdue_find: Statement
    due_next: Statement
    progress_load: Statement
    lease_lower: Statement
    session_lower: Statement
    granted_for: Statement
    held_by: Statement
    tally_read: Statement


SQL = load_statements(UpkeepSql, Path(__file__).parent / "sql" / "upkeep.sql")


class SqliteUpkeep:
    """The board's further questions, within one transaction."""

    def __init__(self, database: Database, board: SqliteBoard) -> None:
        """Load what is found through the board, so that it can be saved there."""
        self._database = database
        self._board = board

    def exclude(self, task_id: str, worker_id: str, until: datetime | None) -> None:
        """Do not offer this task to that worker again, for good or until then."""
        self._database.rows(SQL.exclusion_add, task_id=task_id, worker_id=worker_id, until=micros(until))

    def overdue(self, limit: int) -> list[Task]:
        """Return tasks whose deadline has passed and still asks for a decision."""
        return self._board.in_order([row[0] for row in self._database.rows(SQL.overdue_find, limit=limit)])

    def next_due(self) -> datetime | None:
        """Return the earliest `not_before` among open tasks that are not due yet."""
        return instant_or_none(self._database.rows(SQL.due_next)[0][0])

    def progress(self, ids: Collection[str]) -> dict[str, Progress]:
        """Return the newest progress of each task's newest claim."""
        rows = self._database.rows(SQL.progress_load, ids=json_text(list(ids)))
        return {row[0]: _PROGRESS.decode(row[1]) for row in rows}

    def lower_leases(self) -> None:
        """After the clock stepped back: no lease and no registration ends later than now + its ttl (D19)."""
        self._database.rows(SQL.lease_lower)
        self._database.rows(SQL.session_lower)

    def granted_for(self, agent: str, request_id: str) -> list[Task]:
        """Return the claimed tasks whose live claims this agent's request was granted."""
        rows = self._database.rows(SQL.granted_for, agent=agent, request_id=request_id)
        return self._board.in_order([row[0] for row in rows])

    def held_by(self, agent: str) -> list[str]:
        """Return the ids of claimed tasks that this agent holds."""
        return [row[0] for row in self._database.rows(SQL.held_by, agent=agent)]

    def counts(self) -> dict[str, int]:
        """Return how many tasks are in each state."""
        return {row[0]: row[1] for row in self._database.rows(SQL.tally_read)}
