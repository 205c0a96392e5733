"""This instance's identity, which lives with the recovery state and outlives sessions. C117."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from tenure.ports.local import InstanceRow
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.local.rows import to_text
from tenure.stores.sqlite.statements import Statement, load_statements


@dataclass(frozen=True, slots=True)
class IdentitySql:
    """The statements of `sql/identity.sql`."""

    instance_read: Statement
    instance_write: Statement


SQL = load_statements(IdentitySql, Path(__file__).parent / "sql" / "identity.sql")


class SqliteIdentity:
    """The one row about this instance."""

    def __init__(self, database: Database) -> None:
        """Use the connection of the transaction."""
        self._database = database

    def read(self) -> InstanceRow | None:
        """Return the row, or None in a new store."""
        row = self._database.row(SQL.instance_read)
        if row is None:
            return None
        return InstanceRow(
            instance_id=row[0],
            confirmed=row[1],
            unconfirmed=msgspec.json.decode(row[2], type=tuple[str, ...]),
            tries=row[3],
            drained=bool(row[4]),
            drained_number=row[5],
            store_epoch=row[6],
            store_position=row[7],
        )

    def write(self, row: InstanceRow) -> None:
        """Keep the row."""
        self._database.rows(
            SQL.instance_write,
            instance_id=row.instance_id,
            confirmed=row.confirmed,
            unconfirmed=to_text(row.unconfirmed),
            tries=row.tries,
            drained=row.drained,
            drained_number=row.drained_number,
            store_epoch=row.store_epoch,
            store_position=row.store_position,
        )
