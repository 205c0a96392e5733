"""The schema as the migrations leave it; run as a program, it writes the file that the test compares."""

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from tenure.stores.sqlite.connection import StoreKind, open_writing
from tenure.stores.sqlite.control.store import MIGRATIONS
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.migrations import migrate
from tests.support.worker.clock import VirtualClock

COMMITTED = Path(__file__).parent / "schema.sql"
_DUMP = "select sql from sqlite_schema where sql is not null order by type, name"


def open_migrated(folder: Path) -> Database:
    """Make a control store's file without its writing thread."""
    path = folder / "control.db"
    wall = VirtualClock().wall
    database = open_writing(path, StoreKind.CONTROL_PLANE, wall=wall, newest=len(MIGRATIONS))
    migrate(database, MIGRATIONS)
    return database


def dump(database: Database) -> str:
    """Return every table, index and trigger as SQLite keeps it."""
    return "".join(f"{row[0]};\n\n" for row in database.run(_DUMP))


def main() -> None:
    with TemporaryDirectory() as folder, closing(open_migrated(Path(folder))) as database:
        COMMITTED.write_text(dump(database), encoding="utf-8")


if __name__ == "__main__":
    main()
