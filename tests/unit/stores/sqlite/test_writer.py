import threading
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import pytest

from tenure.core.errors import DiskFull, InvariantBroken, OutcomeUnknown, StoreUnavailable, Taken
from tenure.stores.sqlite import orders
from tenure.stores.sqlite import writer as subject
from tenure.stores.sqlite.checkpoints import LogBlocked
from tenure.stores.sqlite.connection import open_reading
from tenure.stores.sqlite.writer import NoticeLost, Writer
from tests.unit.stores.sqlite.notes import (
    KIND,
    MIGRATIONS,
    SQL,
    WAIT_S,
    Notes,
    add,
    notes_in,
    open_notes,
    wall,
    writer_on,
)


@contextmanager
def shut_door(writer: Writer[Notes]) -> Generator[None]:
    """Keep the writing thread busy, so that what is submitted meanwhile makes one group."""
    door: Future[None] = Future()
    inside = threading.Event()

    def wait(_: Notes) -> None:
        inside.set()
        door.result(WAIT_S)

    blocking = writer.submit(wait)
    assert inside.wait(WAIT_S)
    try:
        yield
    finally:
        door.set_result(None)
        blocking.result(WAIT_S)


def refuse(notes: Notes) -> str:
    notes.add("undone")
    raise Taken("somebody has it")


def test_an_answer_comes_after_the_commit(tmp_path: Path) -> None:
    """C062 C063: both rows are there as soon as the answer is, for any other connection."""
    with writer_on(tmp_path / "store.db") as writer:
        assert writer.submit(add("a")).result(WAIT_S) == "a"
        assert notes_in(tmp_path / "store.db") == ["a"]
    assert writer.failed.result(WAIT_S) is None
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


@pytest.mark.parametrize("alone", [True, False])
def test_an_operation_that_raises_undoes_only_itself(tmp_path: Path, alone: bool) -> None:
    with writer_on(tmp_path / "store.db") as writer:
        if alone:
            before, refused, after = writer.submit(add("a")), writer.submit(refuse), writer.submit(add("b"))
        else:
            with shut_door(writer):
                before, refused, after = (
                    writer.submit(add("a")),
                    writer.submit(refuse),
                    writer.submit(add("b")),
                )
        assert (before.result(WAIT_S), after.result(WAIT_S)) == ("a", "b")
        with pytest.raises(Taken, match="somebody has it"):
            refused.result(WAIT_S)
    assert notes_in(tmp_path / "store.db") == ["a", "b"]


def test_a_broken_constraint_costs_only_its_operation(tmp_path: Path) -> None:
    def orphan(notes: Notes) -> None:
        notes.database.rows(SQL.twin_add, words="nobody's")

    with writer_on(tmp_path / "store.db") as writer:
        with shut_door(writer):
            futures = [writer.submit(add("a")), writer.submit(orphan), writer.submit(add("b"))]
        assert isinstance(futures[1].exception(WAIT_S), InvariantBroken)
        futures[2].result(WAIT_S)
    assert notes_in(tmp_path / "store.db") == ["a", "b"]


def test_urgent_operations_go_first(tmp_path: Path) -> None:
    """D9: a heartbeat is never behind a batch."""
    seen: list[str] = []
    with writer_on(tmp_path / "store.db") as writer, shut_door(writer):
        for words in ("a", "b"):
            writer.submit(lambda _, words=words: seen.append(words))
        writer.submit(lambda _: seen.append("heartbeat"), urgent=True)
    assert seen == ["heartbeat", "a", "b"]


def test_a_large_operation_does_not_hold_up_what_is_urgent(tmp_path: Path) -> None:
    """D9: once a group has changed many rows, the rest waits for the next, where urgent ones come first."""
    seen: list[str] = []
    writer = writer_on(tmp_path / "store.db")

    def large(notes: Notes) -> None:
        notes.fill("large", subject.GROUP_ROWS_MAX + 1)
        writer.submit(lambda _: seen.append("heartbeat"), urgent=True)

    with writer:
        with shut_door(writer):
            writer.submit(large)
            last = writer.submit(lambda _: seen.append("ordinary"))
        last.result(WAIT_S)
    assert seen == ["heartbeat", "ordinary"]


def test_notices_are_given_once_and_only_for_what_was_committed(tmp_path: Path) -> None:
    given: list[str] = []
    done = threading.Event()

    def look() -> None:
        given.append(",".join(notes_in(tmp_path / "store.db")))

    def refused(notes: Notes) -> None:
        notes.add("undone", lambda: given.append("undone"))
        raise Taken("somebody has it")

    with writer_on(tmp_path / "store.db") as writer:
        with shut_door(writer):
            writer.submit(lambda notes: notes.add("a", look))
            writer.submit(refused)
            writer.submit(lambda notes: notes.add("b", look))
            writer.submit(lambda notes: notes.add("c", done.set))
        assert done.wait(WAIT_S)
    assert given == ["a,b,c"]


def test_a_lost_notice_is_told_and_costs_nothing(tmp_path: Path) -> None:
    """C080: a notice is a hint; the fact is saved."""
    told: Future[object] = Future()

    def fail() -> None:
        raise RuntimeError("the loop is closed")

    with Writer(lambda: open_notes(tmp_path / "store.db"), Notes, warn=told.set_result) as writer:
        assert writer.submit(lambda notes: notes.add("a", fail)).result(WAIT_S) == "a"
        warning = told.result(WAIT_S)
        assert isinstance(warning, NoticeLost)
        assert str(warning.error) == "the loop is closed"
        writer.submit(add("b")).result(WAIT_S)


def test_an_operation_can_be_cancelled_until_it_begins(tmp_path: Path) -> None:
    with writer_on(tmp_path / "store.db") as writer:
        with shut_door(writer):
            dropped = writer.submit(add("dropped"))
            kept = writer.submit(add("kept"))
            assert dropped.cancel()
        kept.result(WAIT_S)
        assert not kept.cancel()
    assert notes_in(tmp_path / "store.db") == ["kept"]


def test_a_group_of_cancelled_operations_commits_nothing(tmp_path: Path) -> None:
    with writer_on(tmp_path / "store.db") as writer:
        with shut_door(writer):
            assert writer.submit(add("dropped")).cancel()
        writer.submit(add("kept")).result(WAIT_S)
    assert notes_in(tmp_path / "store.db") == ["kept"]


def test_too_many_waiting_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "WAITING_MAX", 3)
    with writer_on(tmp_path / "store.db") as writer:
        with shut_door(writer):
            futures = [writer.submit(add(str(number))) for number in range(4)]
            with pytest.raises(StoreUnavailable, match="3 operations wait") as caught:
                futures[3].result(0)
            assert caught.value.reason == "busy"
        assert [future.result(WAIT_S) for future in futures[:3]] == ["0", "1", "2"]


def test_closing_commits_what_waits_and_refuses_what_comes(tmp_path: Path) -> None:
    writer = writer_on(tmp_path / "store.db")
    futures = [writer.submit(add(f"{number:03}")) for number in range(300)]
    writer.close()
    assert notes_in(tmp_path / "store.db") == [future.result(0) for future in futures]
    with pytest.raises(StoreUnavailable, match="is closed"):
        writer.submit(add("late")).result(0)
    writer.close()


class Room:
    """A probe that a test fills."""

    is_full = False

    def require(self) -> int:
        if self.is_full:
            raise DiskFull("the disk is full", reason="full")
        return 2**40


def test_a_full_disk_found_before_the_commit_is_known(tmp_path: Path) -> None:
    """C085 D28: rolled back, told to all as not done, and over once there is room."""
    room = Room()
    with Writer(lambda: open_notes(tmp_path / "store.db"), Notes, space=room) as writer:
        room.is_full = True
        with shut_door_of_full(writer):
            futures = [writer.submit(add("a")), writer.submit(refuse), writer.submit(add("b"))]
        assert [type(future.exception(WAIT_S)) for future in futures] == [DiskFull] * 3
        assert len({id(future.exception()) for future in futures}) == 3
        room.is_full = False
        writer.submit(add("c")).result(WAIT_S)
    assert notes_in(tmp_path / "store.db") == ["c"]


@contextmanager
def shut_door_of_full(writer: Writer[Notes]) -> Generator[None]:
    with pytest.raises(DiskFull), shut_door(writer):
        yield


def test_an_operation_that_swallows_a_broken_transaction_ends_the_writer(tmp_path: Path) -> None:
    def swallow(notes: Notes) -> None:
        notes.database.rollback()

    with writer_on(tmp_path / "store.db") as writer:
        future = writer.submit(swallow)
        assert isinstance(writer.failed.result(WAIT_S), InvariantBroken)
        assert isinstance(future.exception(WAIT_S), OutcomeUnknown)


def test_whatever_ends_the_thread_is_told_to_everybody(tmp_path: Path) -> None:
    """A crash that a test simulates, or a bug: nobody waits for ever, nothing is written any more."""
    writer = writer_on(tmp_path / "store.db")

    def crash(_: Notes) -> None:
        raise KeyboardInterrupt

    with shut_door(writer):
        first, crashed = writer.submit(add("a")), writer.submit(crash)
        later = [writer.submit(add(str(number))) for number in range(subject.GROUP_MAX)]
    assert isinstance(writer.failed.result(WAIT_S), KeyboardInterrupt)
    assert isinstance(first.exception(WAIT_S), OutcomeUnknown)
    assert isinstance(crashed.exception(WAIT_S), OutcomeUnknown)
    assert isinstance(later[-1].exception(WAIT_S), StoreUnavailable)
    writer.close()
    assert notes_in(tmp_path / "store.db") == []


def test_a_reader_that_stays_costs_a_warning_and_no_work(tmp_path: Path) -> None:
    """B16: the log grows beyond its limit while an old state is held, and shrinks once it is let go."""
    limit = 8 * 2**20
    path, log = tmp_path / "store.db", tmp_path / "store.db-wal"
    warnings: list[LogBlocked | NoticeLost] = []
    with Writer(lambda: open_notes(path), Notes, warn=warnings.append, log_bytes_max=limit) as writer:
        reader = open_reading(path, KIND, wall=wall, newest=len(MIGRATIONS))
        with reader.snapshot():
            for number in range(5):
                writer.submit(lambda notes, number=number: notes.fill(f"{number}-", 1000, 3000)).result(
                    WAIT_S
                )
            assert log.stat().st_size > limit
            assert warnings
            assert all(isinstance(warning, LogBlocked) and warning.size_bytes > limit for warning in warnings)
        writer.submit(lambda notes: notes.fill("after-", 2000, 3000)).result(WAIT_S)
        writer.submit(add("last")).result(WAIT_S)
        assert log.stat().st_size < limit
        reader.close()


def test_the_log_stays_short_without_readers(tmp_path: Path) -> None:
    log = tmp_path / "store.db-wal"
    with writer_on(tmp_path / "store.db") as writer:
        for number in range(20):
            writer.submit(lambda notes, number=number: notes.fill(f"{number}-", 300, 3000)).result(WAIT_S)
        assert log.stat().st_size < 8 * 2**20
