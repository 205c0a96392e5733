"""Each n-th write and sync fails in turn, once or from then on, until a run meets no fault."""

from concurrent.futures import Future
from itertools import count
from pathlib import Path

import apsw
import pytest

from tenure.core.errors import OutcomeUnknown, StoreUnavailable, TenureError
from tests.unit.stores.sqlite.faulty import FaultyFiles
from tests.unit.stores.sqlite.notes import WAIT_S, add, notes_in, open_notes, writer_on

ROUNDS = 5
PER_ROUND = 2


@pytest.mark.parametrize("sticky", [False, True], ids=["once", "sticky"])
@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError])
def test_nothing_acknowledged_is_lost_wherever_the_disk_fails(
    tmp_path: Path, error: type[apsw.Error], sticky: bool
) -> None:
    """C062 C066 C085 D28."""
    for position in count():
        files = FaultyFiles(sticky=sticky, error=error)
        path = tmp_path / f"{position}.db"
        writer = writer_on(path, vfs=files.name)
        files.arm(position)
        acknowledged: list[str] = []
        errors: list[BaseException] = []
        for number in range(ROUNDS):
            futures = [writer.submit(add(f"{number}-{each}")) for each in range(PER_ROUND)]
            for future in futures:
                if (problem := future.exception(WAIT_S)) is None:
                    acknowledged.append(future.result())
                    assert not errors, "acknowledged after a failed commit"
                else:
                    errors.append(problem)
        writer.close()
        failure = writer.failed.result(WAIT_S)
        files.unregister()
        assert set(acknowledged) <= set(notes_in(path))
        if not files.has_failed:
            assert len(acknowledged) == ROUNDS * PER_ROUND
            assert position > ROUNDS, "the sweep has met too few writes to mean anything"
            return
        assert_says_what_is_known(errors, failure, acknowledged)
        writer_on(path).close()  # the next start goes on from what is there


def assert_says_what_is_known(
    errors: list[BaseException], failure: BaseException | None, acknowledged: list[str]
) -> None:
    if errors:
        assert isinstance(failure, OutcomeUnknown)
        assert isinstance(errors[0], OutcomeUnknown)
        assert all(isinstance(error, OutcomeUnknown | StoreUnavailable) for error in errors)
    else:
        # The fault met the checkpoint at the end, when all was durable and answered already.
        assert len(acknowledged) == ROUNDS * PER_ROUND
        assert failure is None or isinstance(failure, TenureError)


def test_after_a_failed_commit_nothing_is_written_any_more(tmp_path: Path) -> None:
    """C085 D28: the commit may have happened, so that another one could build on sand."""
    files = FaultyFiles()
    writer = writer_on(tmp_path / "store.db", vfs=files.name)
    writer.submit(add("kept")).result(WAIT_S)
    files.arm(0)
    with pytest.raises(OutcomeUnknown, match="it may have happened"):
        writer.submit(add("unknown")).result(WAIT_S)
    assert isinstance(writer.failed.result(WAIT_S), OutcomeUnknown)
    acts = files.acts.total()
    with pytest.raises(StoreUnavailable, match="written to no more"):
        writer.submit(add("late")).result(WAIT_S)
    writer.close()
    files.unregister()
    assert files.acts.total() == acts
    assert notes_in(tmp_path / "store.db") == ["kept"]


def test_a_disk_that_cannot_be_read_ends_the_writer_known(tmp_path: Path) -> None:
    """Nothing was committed, and that is said; but nothing more is written on such a disk."""
    path = tmp_path / "store.db"
    open_notes(path).close(tidy=True)
    files = FaultyFiles()
    writer = writer_on(path, vfs=files.name)
    files.reads_fail = True
    with pytest.raises(StoreUnavailable, match="cannot be used") as caught:
        writer.submit(add("a")).result(WAIT_S)
    assert caught.value.reason == "broken"
    assert isinstance(writer.failed.result(WAIT_S), StoreUnavailable)
    writer.close()
    files.unregister()
    assert notes_in(path) == []


@pytest.mark.parametrize("sticky", [False, True], ids=["once", "sticky"])
def test_a_file_is_made_whole_or_not_at_all(tmp_path: Path, sticky: bool) -> None:
    """B17: wherever making and migrating it fails, the next start can open or make it."""
    for position in count():
        files = FaultyFiles(sticky=sticky)
        files.arm(position)
        path = tmp_path / f"{position}.db"
        try:
            open_notes(path, vfs=files.name).close(tidy=True)
        except TenureError:
            assert files.has_failed
        if not files.has_failed:
            assert position > 10
            return
        files.unregister()
        open_notes(path).close()
        assert notes_in(path) == []


def test_many_submitters_share_few_syncs(tmp_path: Path) -> None:
    """Group commit: what arrives while a commit is under way becomes the next group."""
    files = FaultyFiles()
    writer = writer_on(tmp_path / "store.db", vfs=files.name)
    door: Future[None] = Future()

    def first(_: object) -> None:
        door.result(WAIT_S)

    blocking = writer.submit(first)
    futures = [writer.submit(add(str(number))) for number in range(500)]
    before = files.acts["sync"]
    door.set_result(None)
    blocking.result(WAIT_S)
    assert [future.result(WAIT_S) for future in futures] == [str(number) for number in range(500)]
    assert files.acts["sync"] - before == 2, "500 operations are two groups of at most 256"
    writer.close()
    files.unregister()
