import os
import sqlite3
import stat
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from tenure.core.errors import InvalidConfig, InvariantBroken, StoreUnavailable, TenureError
from tenure.core.instants import to_micros
from tenure.stores.sqlite import connection as subject
from tenure.stores.sqlite.connection import StoreKind, open_reading, open_writing, require_sqlite
from tenure.stores.sqlite.database import Database
from tests.unit.stores.sqlite.notes import (
    KIND,
    MIGRATIONS,
    NOON,
    SQL,
    add,
    notes_in,
    open_notes,
    wall,
    writer_on,
)

NEWEST = len(MIGRATIONS)


def open_as(path: Path, kind: StoreKind = KIND, newest: int = NEWEST) -> Database:
    return open_writing(path, kind, wall=wall, newest=newest)


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Read all files but the log's index, which any look at a file writes anew."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}


def assert_refused(path: Path, error: type[TenureError], words: str, kind: StoreKind = KIND) -> None:
    before = bytes_of(path.parent)
    with pytest.raises(error, match=words) as caught:
        open_as(path, kind)
    assert "\n" not in str(caught.value)
    after = bytes_of(path.parent)
    after = {name: content for name, content in after.items() if name in before or content}
    assert after == before


def test_every_setting_that_durability_rests_on_is_in_force(tmp_path: Path) -> None:
    """C066: SQLite answers a wish that it cannot fulfil with the old value, so each is read back."""
    database = open_as(tmp_path / "store.db")
    assert database.run("pragma journal_mode") == [("wal",)]
    found = {name: database.number(name) for name in ("synchronous", "foreign_keys", "wal_autocheckpoint")}
    assert found == {"synchronous": 2, "foreign_keys": 1, "wal_autocheckpoint": 0}
    database.close(tidy=True)
    assert list(bytes_of(tmp_path)) == ["store.db"]


def test_a_setting_that_does_not_hold_is_a_refusal(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="does not keep journal_mode=wal, but 'memory'"):
        subject._set(apsw.Connection(":memory:"), subject._DURABLE, tmp_path)


def test_only_the_owner_may_read_the_files(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        writer = writer_on(tmp_path / "store.db")
        writer.submit(add("private")).result(20)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        writer.close()
    finally:
        os.umask(old)
    assert modes == dict.fromkeys(["store.db", "store.db-wal", "store.db-shm"], 0o600)


def test_an_old_sqlite_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(InvalidConfig, match=r"SQLite 3\.51\.2 may damage files"):
        require_sqlite()


def test_the_clock_is_the_one_handed_in(tmp_path: Path) -> None:
    now = [NOON]
    database = open_writing(tmp_path / "store.db", KIND, wall=lambda: now[0], newest=0)
    assert database.run("select tenure_now(), typeof(tenure_now())") == [(to_micros(NOON), "integer")]
    now[0] += timedelta(microseconds=1)
    assert database.run("select tenure_now()") == [(to_micros(NOON) + 1,)]
    database.close()


def test_a_file_of_zeros_or_text_is_refused(tmp_path: Path) -> None:
    """B17 D29: what was acknowledged is gone, which a fresh file would hide."""
    for number, content in enumerate([b"\0" * 8192, b"these are words, not a database\n" * 300]):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "store.db").write_bytes(content)
        assert_refused(folder / "store.db", StoreUnavailable, "is damaged or no database")


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    """B17: a file gets its name when it is whole, so an empty one has lost something."""
    (tmp_path / "store.db").touch()
    assert_refused(tmp_path / "store.db", StoreUnavailable, "is empty")


def test_a_log_without_its_file_is_refused(tmp_path: Path) -> None:
    """SQLite would play the log into a new file of the same name."""
    (tmp_path / "store.db-wal").write_bytes(b"pages")
    assert_refused(tmp_path / "store.db", StoreUnavailable, "is gone, but store.db-wal beside it is not")


def test_a_damaged_page_is_found_at_the_start(tmp_path: Path) -> None:
    database = open_notes(tmp_path / "store.db")
    database.rows(SQL.note_fill, prefix="", count=500, size=100)
    database.close(tidy=True)
    size = (tmp_path / "store.db").stat().st_size
    with (tmp_path / "store.db").open("r+b") as file:
        file.seek(size // 8192 * 4096)
        file.write(b"\xff" * 4096)
    assert_refused(tmp_path / "store.db", StoreUnavailable, "damaged")


def test_another_programs_file_is_refused(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "store.db")
    other.execute("create table theirs (a)")
    other.close()
    assert_refused(tmp_path / "store.db", InvalidConfig, "is another program's, not a worker's local store")


def test_another_kinds_file_is_refused(tmp_path: Path) -> None:
    open_notes(tmp_path / "store.db").close(tidy=True)
    words = "is a worker's local store, not a control plane's store"
    assert_refused(tmp_path / "store.db", InvalidConfig, words, StoreKind.CONTROL_PLANE)


@pytest.mark.parametrize("tidy", [True, False], ids=["in the file", "in the log"])
def test_a_newer_releases_file_is_refused_unwritten(tmp_path: Path, tidy: bool) -> None:
    """B36: also when the newer version stands in the log alone, left there by a crash."""
    database = open_notes(tmp_path / "store.db")
    database.run(f"pragma user_version = {NEWEST + 1}")
    database.close(tidy=tidy)
    assert (tmp_path / "store.db-wal").exists() is not tidy
    words = rf"has schema {NEWEST + 1}, newer than {NEWEST}; use the newer release"
    assert_refused(tmp_path / "store.db", InvalidConfig, words)


@pytest.mark.parametrize("step", ["fsync", "rename"])
def test_a_file_that_was_half_made_is_made_anew(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(StoreUnavailable, match="Input/output error"):
            open_as(tmp_path / "store.db")
    assert not (tmp_path / "store.db").exists()
    open_notes(tmp_path / "store.db").close(tidy=True)
    assert list(bytes_of(tmp_path)) == ["store.db"]


def test_a_reader_sees_and_cannot_change(tmp_path: Path) -> None:
    writer = writer_on(tmp_path / "store.db")
    writer.submit(add("seen")).result(20)
    reader = open_reading(tmp_path / "store.db", KIND, wall=wall, newest=NEWEST)
    with reader.snapshot():
        writer.submit(add("later")).result(20)
        assert reader.rows(SQL.note_words) == [("seen",)]
    assert reader.rows(SQL.note_words) == [("later",), ("seen",)]
    with pytest.raises(StoreUnavailable):
        reader.rows(SQL.note_add, words="mine")
    reader.close()
    writer.close()


def test_a_reader_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="there is no worker's local store"):
        open_reading(tmp_path / "store.db", KIND, wall=wall, newest=NEWEST)
    open_as(tmp_path / "store.db").close(tidy=True)
    with pytest.raises(InvalidConfig, match="has schema 0, older than 2; start its owner once"):
        open_reading(tmp_path / "store.db", KIND, wall=wall, newest=NEWEST)


def test_a_statement_takes_exactly_its_parameters(tmp_path: Path) -> None:
    database = open_notes(tmp_path / "store.db")
    for values in ({}, {"words": "a", "more": "b"}, {"word": "a"}):
        with pytest.raises(InvariantBroken):
            database.rows(SQL.note_add, **values)
    assert database.row(SQL.note_add, words="a") == ("a",)
    assert database.row(SQL.note_add, words="a") is None
    assert database.change(SQL.twin_add, words="a") == 1
    database.close()
    assert notes_in(tmp_path / "store.db") == ["a"]


def test_a_constraint_is_the_last_line_behind_core(tmp_path: Path) -> None:
    database = open_notes(tmp_path / "store.db")
    with pytest.raises(InvariantBroken, match="FOREIGN KEY"):
        database.rows(SQL.twin_add, words="alone")
    database.close()
