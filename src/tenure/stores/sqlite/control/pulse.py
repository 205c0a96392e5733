"""The store's own sign of life, and who it is. D19, D27."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tenure.core.instants import from_micros, to_micros
from tenure.ports.ids import Ids
from tenure.ports.pulse import Pulse
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.statements import Statement, load_statements


@dataclass(frozen=True, slots=True)
class PulseSql:
    """The statements of `pulse.sql`."""

    clock_read: Statement
    pulse_read: Statement
    pulse_write: Statement
    meta_create: Statement
    meta_read: Statement


SQL = load_statements(PulseSql, Path(__file__).parent / "sql" / "pulse.sql")


class SqlitePulse:
    """The rows about the store itself, within one transaction."""

    def __init__(self, database: Database) -> None:
        """Ask this database."""
        self._database = database

    def read(self) -> Pulse | None:
        """Return the pulse, or None on a store that never had a server."""
        row = self._database.row(SQL.pulse_read)
        return None if row is None else Pulse(from_micros(row[0]), row[1], from_micros(row[2]), row[3])

    def write(self, pulse: Pulse) -> None:
        """Keep the pulse."""
        self._database.rows(
            SQL.pulse_write,
            at=to_micros(pulse.at),
            boot_s=pulse.boot_s,
            calm_since=to_micros(pulse.calm_since),
            server=pulse.server,
        )

    def epoch(self) -> int:
        """Return the store's epoch; a restored store has a higher one."""
        return int(self._database.rows(SQL.meta_read)[0][1])

    def now(self) -> datetime:
        """Return the store's present instant."""
        return from_micros(self._database.rows(SQL.clock_read)[0][0])


def ensure_identity(database: Database, ids: Ids) -> str:
    """Return the store's identity; a new store gets one, and one that has it is not written."""
    if not database.rows(SQL.meta_read):
        database.rows(SQL.meta_create, store_id=ids.new_id())
    return str(database.rows(SQL.meta_read)[0][0])
