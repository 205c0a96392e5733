"""The store as a whole: opening, committing, reading, and several processes on one file."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

import pytest

from tenure.core.claiming import grant
from tenure.core.errors import InvalidConfig, InvariantBroken, StoreUnavailable, Taken
from tenure.core.task import TaskState
from tenure.ports.store import ControlStore, Transaction
from tenure.stores.sqlite.connection import StoreKind, open_reading, open_writing
from tenure.stores.sqlite.control.store import MIGRATIONS, open_control_store
from tenure.system.ids import SystemIds
from tests.support.worker.clock import START, VirtualClock
from tests.unit.stores.sqlite_control.making import WAIT_S, Bench, grantee, new_task, presented, spec


@pytest.fixture
def other(bench: Bench) -> Iterator[Bench]:
    """Return a second process's view of the same file."""
    opened = Bench(bench.path.parent)
    with opened.store:
        yield opened


def test_it_keeps_the_port(bench: Bench) -> None:
    store: ControlStore = bench.store
    assert store.write(lambda tx: tx.pulse.epoch()).result(WAIT_S) == 1


def test_what_was_written_is_there_after_a_new_start(tmp_path: Path) -> None:
    first = Bench(tmp_path)
    with first.store:
        first.add(spec("a"))
        first.claim("a")
        before = first.load("a")
    with Bench(tmp_path).store as again:
        assert again.read(lambda tx: tx.board.load(["a"])).result(WAIT_S) == {"a": before}
        assert again.store_id == first.store.store_id
    assert [path.name for path in tmp_path.iterdir()] == [first.path.name]


def test_each_new_store_has_an_identity_of_its_own(tmp_path: Path) -> None:
    """D27."""
    names: set[str] = set()
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        with Bench(tmp_path / folder).store as store:
            names.add(store.store_id)
    assert len(names) == 2


def test_a_notice_is_given_once_the_change_is_durable(bench: Bench, other: Bench) -> None:
    """C062: whoever is woken finds what it was woken for, on any connection."""
    seen: Future[TaskState] = Future()

    def tell() -> None:
        seen.set_result(other.look(lambda tx: tx.board.load(["a"])["a"].state))

    def step(tx: Transaction) -> None:
        tx.board.add([new_task(spec("a"), tx.now())])
        tx.after_commit(tell)

    bench.do(step)
    assert seen.result(WAIT_S) is TaskState.OPEN


def test_nobody_is_told_of_what_did_not_happen(bench: Bench) -> None:
    told: list[str] = []

    def step(tx: Transaction) -> None:
        tx.after_commit(lambda: told.append("a"))
        raise Taken("somebody else has it")

    with pytest.raises(Taken):
        bench.do(step)
    bench.look(lambda tx: tx.after_commit(lambda: told.append("b")))
    bench.do(lambda tx: tx.now())
    assert told == []


def test_a_query_cannot_write(bench: Bench) -> None:
    with pytest.raises((StoreUnavailable, InvariantBroken)):
        bench.look(lambda tx: tx.board.add([new_task(spec("a"), START)]))
    assert bench.look(lambda tx: tx.board.load(["a"])) == {}


def test_a_query_sees_one_state(bench: Bench) -> None:
    """Whatever is committed meanwhile."""
    bench.add(spec("a"))

    def look(tx: Transaction) -> list[TaskState]:
        before = tx.board.load(["a"])["a"].state
        bench.claim("a")
        return [before, tx.board.load(["a"])["a"].state]

    assert bench.look(look) == [TaskState.OPEN, TaskState.OPEN]
    assert bench.load("a").state is TaskState.CLAIMED


def test_two_processes_grant_a_task_once(bench: Bench, other: Bench) -> None:
    """C010 C011: each finds what the other has committed, since neither remembers anything."""
    bench.add(spec("a"))
    assert other.open_and_due() == ["a"]
    bench.claim("a", agent="w1")
    assert other.open_and_due() == []
    other.claim("a", agent="w2")
    standing = bench.do(lambda tx: tx.board.proofs([presented("a")]))[presented("a")].standing
    assert standing == "older"
    other.add(spec("b", capability="scan"))
    bench.add(spec("c", capability="scan"))
    assert other.open_and_due(capabilities=[("scan", "1")]) == ["b", "c"]


def test_operations_of_one_commit_see_each_other(bench: Bench) -> None:
    """C013: of two that want the same task, the later one finds it granted."""
    bench.add(spec("a"))

    def claim(agent: str) -> Future[bool]:
        def step(tx: Transaction) -> bool:
            task = tx.board.load(["a"])["a"]
            if task.state is TaskState.OPEN:
                tx.board.save([grant(task, grantee(task, agent=agent), tx.now())])
                return True
            return False

        return bench.store.write(step)

    answers = [future.result(WAIT_S) for future in [claim("w1"), claim("w2"), claim("w3")]]
    assert answers == [True, False, False]


def test_a_closed_store_takes_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        bench.do(lambda tx: tx.now())
    with pytest.raises(StoreUnavailable, match="closed"):
        bench.look(lambda tx: tx.now())
    assert bench.store.failed.result(WAIT_S) is None


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    """B36: and left as it is."""
    path = tmp_path / "worker.db"
    with closing(open_writing(path, StoreKind.WORKER, wall=VirtualClock().wall, newest=1)):
        pass
    before = path.read_bytes()
    with pytest.raises(InvalidConfig, match="worker's local store"):
        open_control_store(path, VirtualClock(), SystemIds())
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    """B36."""
    bench = Bench(tmp_path)
    bench.store.close()
    newest = len(MIGRATIONS)
    wall = VirtualClock().wall
    with closing(open_writing(bench.path, StoreKind.CONTROL_PLANE, wall=wall, newest=newest)) as database:
        database.run(f"pragma user_version = {newest + 1}")
    with pytest.raises(InvalidConfig, match="newer"):
        Bench(tmp_path)


def test_a_file_that_cannot_be_migrated_is_let_go(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.store.close()
    wall = VirtualClock().wall
    newest = len(MIGRATIONS)
    with closing(open_writing(bench.path, StoreKind.CONTROL_PLANE, wall=wall, newest=newest)) as database:
        database.run("update migration set checksum = 'other'")
    with pytest.raises(InvalidConfig, match="other steps"):
        Bench(tmp_path)
    with closing(open_reading(bench.path, StoreKind.CONTROL_PLANE, wall=wall, newest=newest)) as database:
        assert database.run("pragma integrity_check") == [("ok",)]
