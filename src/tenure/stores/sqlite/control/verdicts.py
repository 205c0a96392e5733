"""People's decisions on what is unknown. C119 C120."""

from dataclasses import dataclass
from pathlib import Path

from tenure.core.instants import from_micros, to_micros
from tenure.core.verdict import Verdict, VerdictRow
from tenure.stores.sqlite.control.columns import json_or_null
from tenure.stores.sqlite.control.rows import ANYTHING
from tenure.stores.sqlite.database import Database, Row
from tenure.stores.sqlite.statements import Statement, load_statements


@dataclass(frozen=True, slots=True)
class VerdictsSql:
    """The statements of `verdicts.sql`."""

    verdict_add: Statement
    verdict_deciding: Statement
    verdict_of_task: Statement


SQL = load_statements(VerdictsSql, Path(__file__).parent / "sql" / "verdicts.sql")


class SqliteVerdicts:
    """Verdicts as they were given, within one transaction."""

    def __init__(self, database: Database) -> None:
        """Ask this database."""
        self._database = database

    def add(self, row: VerdictRow) -> None:
        """Keep a verdict."""
        self._database.rows(
            SQL.verdict_add,
            task_id=row.task_id,
            run=row.run,
            subject=row.subject,
            verdict=row.verdict,
            given_by=row.given_by,
            given_at=to_micros(row.given_at),
            revision=row.revision,
            result=json_or_null(row.result),
            note=row.note,
            anyway=row.anyway,
        )

    def last_deciding(self, task_id: str, run: int, subject: str) -> VerdictRow | None:
        """Return the last verdict on a subject that decided it (not `still_unknown`)."""
        row = self._database.row(SQL.verdict_deciding, task_id=task_id, run=run, subject=subject)
        return None if row is None else _verdict(row)

    def of_task(self, task_id: str) -> list[VerdictRow]:
        """Return all verdicts on a task, in order."""
        return [_verdict(row) for row in self._database.rows(SQL.verdict_of_task, task_id=task_id)]


def _verdict(row: Row) -> VerdictRow:
    return VerdictRow(
        task_id=row[0],
        run=row[1],
        subject=row[2],
        verdict=Verdict(row[3]),
        given_by=row[4],
        given_at=from_micros(row[5]),
        revision=row[6],
        result=ANYTHING.read(row[7]),
        note=row[8],
        anyway=bool(row[9]),
    )
