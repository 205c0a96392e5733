from dataclasses import replace
from pathlib import Path

import pytest

from tenure.core.errors import InvalidConfig, InvariantBroken
from tenure.stores.sqlite.connection import open_writing
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.migrations import Migration, load_migrations, migrate
from tests.unit.stores.sqlite.notes import KIND, MIGRATIONS, NOON, wall


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_writing(tmp_path / "store.db", KIND, wall=wall, newest=9)


def test_steps_are_applied_once_and_recorded(database: Database) -> None:
    assert migrate(database, MIGRATIONS[:1]) == 1
    assert migrate(database, MIGRATIONS) == 1
    assert migrate(database, MIGRATIONS) == 0
    assert database.number("user_version") == 2
    assert database.run("select number, name, checksum, applied_at from migration order by number") == [
        (1, "notes", "1", int(NOON.timestamp()) * 1_000_000),
        (2, "more", "2", int(NOON.timestamp()) * 1_000_000),
    ]
    database.close()


def test_a_newer_schema_is_refused(database: Database) -> None:
    """B36."""
    migrate(database, MIGRATIONS)
    with pytest.raises(InvalidConfig, match="has schema 2, newer than 1; use the newer release"):
        migrate(database, MIGRATIONS[:1])
    database.close()


def test_a_step_with_another_text_is_refused(database: Database) -> None:
    migrate(database, MIGRATIONS)
    changed = (MIGRATIONS[0], replace(MIGRATIONS[1], checksum="another"))
    with pytest.raises(InvalidConfig, match="by other steps than this release's, first in 'more'"):
        migrate(database, changed)
    database.close()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("create table half (a integer) strict; this is no sql;", "syntax error"),
        ("insert into twin (words) values ('alone');", "FOREIGN KEY"),
        (
            "pragma defer_foreign_keys = on; insert into twin (words) values ('alone');",
            "leaves 1 rows without what they refer to",
        ),
        ("commit;", "ends its own transaction"),
    ],
)
def test_a_step_that_cannot_be_applied_leaves_the_schema_as_it_was(
    database: Database, text: str, words: str
) -> None:
    migrate(database, MIGRATIONS)
    with pytest.raises(InvariantBroken, match=words):
        migrate(database, (*MIGRATIONS, Migration(3, "bad", text, "3")))
    assert database.number("user_version") == 2
    assert not database.in_transaction
    assert database.run("select 1 from sqlite_schema where name = 'half'") == []
    assert database.run("select * from twin") == []
    database.close()


def test_steps_come_from_a_folder_in_order(tmp_path: Path) -> None:
    (tmp_path / "0002_second_step.sql").write_text("select 2;")
    (tmp_path / "0001_initial.sql").write_text("select 1;")
    first, second = load_migrations(tmp_path)
    assert (first.number, first.name, first.text) == (1, "initial", "select 1;")
    assert (second.number, second.name) == (2, "second_step")
    assert first.checksum != second.checksum
    (tmp_path / "0004_gap.sql").write_text("select 4;")
    with pytest.raises(InvariantBroken, match="without a gap"):
        load_migrations(tmp_path)
    (tmp_path / "3_third.sql").write_text("select 3;")
    with pytest.raises(InvariantBroken, match=r"3_third\.sql is no name for a migration"):
        load_migrations(tmp_path)
