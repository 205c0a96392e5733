"""The schema's steps: `NNNN_words.sql` files, forward only, one transaction each, recorded by checksum.

A crash at any statement leaves the schema before or after a step, never between; the next start goes on from
there. The version of a file is the number of its last step and stands in its header, where a release that
does not know the number finds it before it writes anything (B36).
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from tenure.core.errors import InvalidConfig, InvariantBroken
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.statements import parse_statements

_FILE = re.compile(r"(\d{4})_([a-z0-9]+(?:_[a-z0-9]+)*)\.sql")

_CREATE_RECORD = """
create table if not exists migration (
    number integer primary key,
    name text not null,
    checksum text not null,
    applied_at integer not null
) strict;
"""
_SQL = parse_statements(
    """
-- name: applied
-- Every step that this file has been through.
select number, name, checksum
  from migration
 order by number;

-- name: record
-- Keep that a step has been applied; in its transaction.
insert into migration (number, name, checksum, applied_at)
values (:number, :name, :checksum, tenure_now());
""",
    __name__,
)


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema: its number, its words, its SQL and the checksum of that SQL."""

    number: int
    name: str
    text: str
    checksum: str


def load_migrations(folder: Path) -> tuple[Migration, ...]:
    """Return the folder's steps in order, numbered 0001, 0002, … without a gap.

    Their number is the newest schema version that this release knows.
    """
    migrations = tuple(_read(path) for path in sorted(folder.glob("*.sql")))
    if [migration.number for migration in migrations] != list(range(1, len(migrations) + 1)):
        raise InvariantBroken(f"the migrations in {folder} are not numbered 0001, 0002, … without a gap")
    return migrations


def migrate(database: Database, migrations: tuple[Migration, ...]) -> int:
    """Apply the steps that the file has not been through, and return how many there were.

    May be killed at any point and called again. Nothing is written if the file is up to date.

    Raises:
        InvalidConfig: The file is newer than these steps, or has been through a step with another text.
        StoreUnavailable: A step could not be applied; the schema is as it was before it.
        OutcomeUnknown: A step's commit may or may not have happened; the next start reads which.
    """
    _check_record(database, migrations)
    waiting = migrations[database.number("user_version") :]
    for migration in waiting:
        _apply(database, migration)
    return len(waiting)


def _read(path: Path) -> Migration:
    match = _FILE.fullmatch(path.name)
    if match is None:
        raise InvariantBroken(f"{path.name} is no name for a migration; use NNNN_words.sql")
    text = path.read_text(encoding="utf-8")
    return Migration(int(match[1]), match[2], text, hashlib.sha256(text.encode()).hexdigest())


def _check_record(database: Database, migrations: tuple[Migration, ...]) -> None:
    version = database.number("user_version")
    if version > len(migrations):
        raise InvalidConfig(
            f"{database.path} has schema {version}, newer than {len(migrations)}; use the newer release"
        )
    recorded = database.rows(_SQL["applied"]) if version else []
    known = [(step.number, step.name, step.checksum) for step in migrations[:version]]
    if recorded != known:
        changed = next(
            (step.name for step, row in zip(migrations, recorded, strict=False) if row[2] != step.checksum),
            "",
        )
        raise InvalidConfig(
            f"{database.path} was migrated by other steps than this release's"
            + (f", first in {changed!r}" if changed else "")
            + "; use the release that made it"
        )


def _apply(database: Database, migration: Migration) -> None:
    database.run("begin immediate")
    try:
        if database.number("user_version") != migration.number - 1:
            raise InvalidConfig(f"another process is migrating {database.path}; let one process own it")
        database.run(_CREATE_RECORD)
        database.run(migration.text)
        if not database.in_transaction:
            raise InvariantBroken(f"migration {migration.name!r} ends its own transaction")
        if broken := database.run("pragma foreign_key_check"):
            raise InvariantBroken(
                f"migration {migration.name!r} leaves {len(broken)} rows without what they refer to"
            )
        values = {"number": migration.number, "name": migration.name, "checksum": migration.checksum}
        database.rows(_SQL["record"], **values)
        database.run(f"pragma user_version = {migration.number}")
    except BaseException:
        database.rollback()
        raise
    database.commit()
