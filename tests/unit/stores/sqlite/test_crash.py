"""Real processes: killed at random moments, killed at each statement, and writing beside each other."""

import random
import sqlite3
from itertools import count
from pathlib import Path

import pytest

from tenure.core.errors import StoreUnavailable
from tests.unit.stores.sqlite.children import child
from tests.unit.stores.sqlite.notes import WAIT_S, add, notes_in, open_notes, writer_on

KILLS = 20


@pytest.mark.crash
def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    """C062 C066: each life commits and says so, and is killed at a random moment; the next goes on."""
    moments = random.Random(0)
    path = tmp_path / "store.db"
    acknowledged: set[str] = set()
    for life in range(KILLS):
        with child("commit-for-ever", path, life) as committing:
            acknowledged.update(committing.hear() for _ in range(moments.randrange(1, 300)))
            acknowledged.update(line for line in committing.kill())
        found = set(notes_in(path))
        assert acknowledged - found == set()
        assert len(found) - len(acknowledged) <= (life + 1) * 8, (
            "unacknowledged are at most the groups in flight"
        )


@pytest.mark.crash
def test_a_migration_killed_at_any_statement_is_before_or_after(tmp_path: Path) -> None:
    """B36: never between, and the next start goes on from there."""
    versions: list[int] = []
    for number in count():
        path = tmp_path / f"{number}.db"
        with child("migrate-and-die", path, number) as migrating:
            said = migrating.hear()
            migrating.process.wait(WAIT_S)
        versions.append(version_and_tables(path))
        open_notes(path).close()
        assert notes_in(path) == []
        if said == "migrated":
            break
    assert versions == sorted(versions)
    assert set(versions) == {0, 1, 2}
    assert len(versions) > 20


def version_and_tables(path: Path) -> int:
    """Return the version of a file after checking that it has just that version's tables."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    version: int = connection.execute("pragma user_version").fetchone()[0]
    tables = {row[0] for row in connection.execute("select name from sqlite_schema where type = 'table'")}
    connection.close()
    assert tables == [set(), {"migration", "note", "twin"}, {"migration", "note", "twin", "more"}][version]
    return version


def test_another_process_that_writes_makes_nobody_fail(tmp_path: Path) -> None:
    """B15: a write transaction begins as one, so waiting for the other always helps."""
    path = tmp_path / "store.db"
    with writer_on(path) as writer, child("commit-beside", path) as other:
        assert other.hear() == "started"
        words = [writer.submit(add(f"mine-{number:03}")).result(WAIT_S) for number in range(200)]
        other.tell()
        assert other.hear() == "stopped"
    found = notes_in(path)
    assert [note for note in found if note.startswith("mine")] == words
    assert any(note.startswith("beside") for note in found)


def test_a_transaction_held_by_another_process_is_waited_for(tmp_path: Path) -> None:
    """B15: waiting is bounded; its end is known not to have happened, and the writer lives on."""
    path = tmp_path / "store.db"
    with writer_on(path, busy_s=0.3) as writer, child("hold-a-transaction", path) as other:
        assert other.hear() == "held"
        with pytest.raises(StoreUnavailable, match="another process holds its transaction") as caught:
            writer.submit(add("too early")).result(WAIT_S)
        assert caught.value.reason == "busy"
        other.tell()
        assert other.hear() == "released"
        writer.submit(add("in time")).result(WAIT_S)
    assert notes_in(path) == ["in time"]


def test_a_transaction_that_ends_in_time_delays_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with writer_on(path) as writer, child("hold-a-transaction", path) as other:
        assert other.hear() == "held"
        future = writer.submit(add("patient"))
        other.tell()
        assert future.result(WAIT_S) == "patient"
