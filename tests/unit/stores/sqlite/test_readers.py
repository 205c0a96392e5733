import threading
from pathlib import Path

import pytest

from tenure.core.errors import StoreUnavailable
from tenure.stores.sqlite.connection import open_reading
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.readers import Readers
from tests.unit.stores.sqlite.notes import KIND, MIGRATIONS, SQL, WAIT_S, add, wall, writer_on


def look(database: Database) -> Database:
    return database


def readers_on(path: Path) -> Readers[Database]:
    return Readers(lambda: open_reading(path, KIND, wall=wall, newest=len(MIGRATIONS)), look)


def count_notes(database: Database) -> int:
    return len(database.rows(SQL.note_words))


def test_a_query_sees_one_state_while_the_writer_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with writer_on(path) as writer, readers_on(path) as readers:
        looked, go_on = threading.Event(), threading.Event()

        def twice(database: Database) -> tuple[int, int]:
            first = count_notes(database)
            looked.set()
            assert go_on.wait(WAIT_S)
            return first, count_notes(database)

        slow = readers.submit(twice)
        assert looked.wait(WAIT_S)
        writer.submit(add("a")).result(WAIT_S)
        assert readers.submit(count_notes).result(WAIT_S) == 1
        go_on.set()
        assert slow.result(WAIT_S) == (0, 0)
        assert readers.submit(count_notes).result(WAIT_S) == 1


def test_a_query_that_raises_leaves_its_connection_usable(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with writer_on(path), readers_on(path) as readers:
        for _ in range(5):
            with pytest.raises(StoreUnavailable):
                readers.submit(lambda database: database.rows(SQL.note_add, words="mine")).result(WAIT_S)
        assert readers.submit(count_notes).result(WAIT_S) == 0


def test_a_query_after_the_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with writer_on(path):
        readers = readers_on(path)
        readers.submit(count_notes).result(WAIT_S)
        readers.close()
        with pytest.raises(StoreUnavailable, match="is closed"):
            readers.submit(count_notes).result(WAIT_S)
    assert [found.name for found in tmp_path.iterdir()] == ["store.db"]
