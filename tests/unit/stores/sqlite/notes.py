"""A store as small as can be, over the real machinery: notes, each kept in two tables that have to agree."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from tenure.stores.sqlite.connection import BUSY_S, StoreKind, open_reading, open_writing
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.migrations import Migration, migrate
from tenure.stores.sqlite.statements import Statement, parse_statements
from tenure.stores.sqlite.writer import AfterCommit, Notice, Writer

KIND = StoreKind.WORKER
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
WAIT_S = 20.0  # Bound: how long a test waits for a fact

MIGRATIONS = (
    Migration(
        1,
        "notes",
        """
create table note (words text primary key, noted_at integer not null default (tenure_now())) strict;
create table twin (words text primary key references note (words)) strict;
""",
        "1",
    ),
    Migration(
        2,
        "more",
        """
create table more (number integer primary key) strict;
insert into more (number) values (1);
insert into more (number) values (2);
alter table note add column weight integer not null default 0;
""",
        "2",
    ),
)


@dataclass(frozen=True, slots=True)
class NotesSql:
    note_add: Statement
    twin_add: Statement
    note_words: Statement
    twin_words: Statement
    note_fill: Statement


SQL = NotesSql(
    **parse_statements(
        """
-- name: note_add
-- Keep a note, unless it is there already.
insert into note (words)
values (:words)
on conflict do nothing
returning words;

-- name: twin_add
-- Keep a note's twin.
insert into twin (words)
values (:words);

-- name: note_words
-- All notes.
select words from note order by words;

-- name: twin_words
-- All twins.
select words from twin order by words;

-- name: note_fill
-- Many notes at once, each of a given size.
with recursive counted (number) as (values (1) union all select number + 1 from counted where number < :count)
insert into note (words)
select :prefix || number || hex(zeroblob(:size / 2))
  from counted;
""",
        "notes",
    )
)


class Notes:
    """What an operation receives."""

    def __init__(self, database: Database, after_commit: AfterCommit) -> None:
        self.database = database
        self.after_commit = after_commit

    def add(self, words: str, notice: Notice | None = None) -> str:
        self.database.rows(SQL.note_add, words=words)
        self.database.rows(SQL.twin_add, words=words)
        if notice is not None:
            self.after_commit(notice)
        return words

    def fill(self, prefix: str, count: int, size: int = 100) -> None:
        self.database.rows(SQL.note_fill, prefix=prefix, count=count, size=size)


Operation: TypeAlias = Callable[[Notes], str]


def add(words: str) -> Operation:
    return lambda notes: notes.add(words)


def wall() -> datetime:
    return NOON


def open_notes(path: Path, *, busy_s: float = BUSY_S, vfs: str | None = None) -> Database:
    database = open_writing(path, KIND, wall=wall, newest=len(MIGRATIONS), busy_s=busy_s, vfs=vfs)
    migrate(database, MIGRATIONS)
    return database


def notes_in(path: Path) -> list[str]:
    """Look at the file through a connection of its own: it is sound, its tables agree; return its notes."""
    database = open_reading(path, KIND, wall=wall, newest=len(MIGRATIONS))
    try:
        assert database.run("pragma integrity_check") == [("ok",)]
        words = [row[0] for row in database.rows(SQL.note_words)]
        assert words == [row[0] for row in database.rows(SQL.twin_words)]
        return words
    finally:
        database.close()


def writer_on(path: Path, *, busy_s: float = BUSY_S, vfs: str | None = None) -> Writer[Notes]:
    return Writer(lambda: open_notes(path, busy_s=busy_s, vfs=vfs), Notes)
