"""The local store as a whole: identity, ledger, executors, ownership, reserve, upkeep and plans."""

from pathlib import Path

import msgspec
import pytest

from tenure.core.admission import InboxRow
from tenure.core.attempt import AttemptStep, LocalEffectState
from tenure.core.command import CommandKind
from tenure.core.errors import InvalidConfig
from tenure.core.event import EventKind
from tenure.ports.local import ExecutorRow, InstanceRow, LocalTransaction
from tenure.stores.sqlite.local import attempts, outbox
from tenure.stores.sqlite.local.store import FILE_NAME, SqliteLocalStore, look_into, open_local_store
from tenure.stores.sqlite.local.transaction import SqliteLocalTransaction
from tenure.stores.sqlite.local.upkeep import SqliteLocalUpkeep
from tenure.stores.sqlite.statements import Statement
from tests.support.worker.builders import attempt, effect, event, start
from tests.support.worker.clock import START, VirtualClock

WAIT_S = 10.0
HOUR_S = 3_600.0


def test_identity_outlives_the_process(tmp_path: Path, clock: VirtualClock) -> None:
    """C117, C111: instance, incarnations and the drained mark are read back by the next start."""
    row = InstanceRow(
        "instance-1", "inc-1", ("inc-2", "inc-3"), 4, drained=True, drained_number=7, store_epoch=2
    )
    with open_local_store(tmp_path / "state", clock) as store:
        assert store.read(lambda tx: tx.identity.read()).result(WAIT_S) is None
        store.write(lambda tx: tx.identity.write(InstanceRow("instance-0"))).result(WAIT_S)
        store.write(lambda tx: tx.identity.write(row)).result(WAIT_S)
    with open_local_store(tmp_path / "state", clock) as store:
        assert store.read(lambda tx: tx.identity.read()).result(WAIT_S) == row


def test_a_folder_has_one_owner_and_can_be_looked_into(
    tmp_path: Path, store: SqliteLocalStore, clock: VirtualClock
) -> None:
    """D29."""
    with pytest.raises(InvalidConfig, match="in use by process"):
        open_local_store(tmp_path / "state", clock)
    store.write(lambda tx: tx.attempts.add([attempt()])).result(WAIT_S)
    assert look_into(tmp_path / "state", clock, lambda tx: tx.attempts.unfinished()) == [attempt()]


def test_a_damaged_file_is_never_replaced(tmp_path: Path, clock: VirtualClock) -> None:
    """C096, D29."""
    folder = tmp_path / "state"
    open_local_store(folder, clock).close()
    (folder / FILE_NAME).write_bytes(b"")
    with pytest.raises(Exception, match="it was left as it is"):
        open_local_store(folder, clock)
    assert (folder / FILE_NAME).read_bytes() == b""


def test_the_reserve_is_given_up_and_made_again(tmp_path: Path, store: SqliteLocalStore) -> None:
    """D28."""
    reserve = tmp_path / "state" / "reserve"
    assert reserve.exists()
    store.give_up_reserve()
    assert not reserve.exists()
    assert store.hold_reserve()
    assert reserve.exists()


def test_the_ledger_keeps_one_entry_per_name_and_run(store: SqliteLocalStore) -> None:
    first = effect(params={"cents": 5}, settled_by=("find", "idempotent"))
    applied = msgspec.structs.replace(
        first, state=LocalEffectState.APPLIED, result={"id": "x"}, go_saved=True
    )
    step = effect("read", kind="step", state=LocalEffectState.APPLIED, result=[1])
    other_run = effect(run=2)
    store.write(lambda tx: tx.effects.save([first, step, other_run])).result(WAIT_S)
    store.write(lambda tx: tx.effects.save([applied])).result(WAIT_S)
    assert store.read(lambda tx: tx.effects.load("task-1", 1)).result(WAIT_S) == [applied, step]
    assert store.read(lambda tx: tx.effects.load("task-1", 2)).result(WAIT_S) == [other_run]


def test_executors_are_remembered_until_shown_dead(store: SqliteLocalStore) -> None:
    """C103: pid and start time together name a process."""
    first, second = ExecutorRow(7, "100", "boot", "m1"), ExecutorRow(7, "200", "boot", "m2")
    for row in (first, second):
        store.write(lambda tx, row=row: tx.executors.add(row)).result(WAIT_S)
    store.write(lambda tx: tx.executors.remove(7, "100")).result(WAIT_S)
    assert store.read(lambda tx: tx.executors.all()).result(WAIT_S) == [second]


def _lived(tx: LocalTransaction) -> None:
    """Five attempts with all that belongs to them: reported, unknown, unfinished, unreported, set aside."""
    for number in range(5):
        name = f"t{number}"
        command = start()
        command = msgspec.structs.replace(command, command_id=f"{name}.1", attempt_id=f"{name}.1")
        tx.inbox.add([(command, InboxRow(f"{name}.1", CommandKind.START, "digest", accepted=True))])
        added = attempt(name)
        tx.attempts.add([added])
        if number != 2:
            end = AttemptStep.DOUBT if number == 1 else AttemptStep.SUCCEED
            tx.attempts.save([added.after(AttemptStep.RUN, epoch=1).after(end, ended_at=START)])
        tx.outbox.add([event(number, task_id=name)])
        tx.effects.save([effect(task_id=name)])
    tx.outbox.mark_reported(["event-0", "event-1"])
    tx.outbox.quarantine("event-4", "no")


def test_pruning_touches_only_what_nothing_can_need(store: SqliteLocalStore, clock: VirtualClock) -> None:
    """C102: unknown, unfinished, unreported and quarantined ones stay with their evidence."""
    store.write(_lived).result(WAIT_S)
    assert store.write(lambda tx: tx.upkeep.prune(1_000)).result(WAIT_S) == 0
    clock.advance(8 * 24 * HOUR_S)
    assert store.write(lambda tx: tx.upkeep.prune(1_000)).result(WAIT_S) == 5
    names = [f"t{n}.1" for n in range(5)]
    left = store.read(lambda tx: sorted(tx.attempts.load(names))).result(WAIT_S)
    assert left == names[1:]
    assert store.read(lambda tx: tx.effects.load("t0", 1)).result(WAIT_S) == []
    assert store.read(lambda tx: sorted(tx.inbox.seen(names))).result(WAIT_S) == names[1:]
    counts = store.read(lambda tx: tx.outbox.counts()).result(WAIT_S)
    assert counts == {"pending": 2, "reported": 0, "quarantined": 1}
    store.write(lambda tx: tx.attempts.forget(["t1.1"])).result(WAIT_S)
    store.write(lambda tx: tx.upkeep.prune(1_000)).result(WAIT_S)
    assert store.read(lambda tx: sorted(tx.attempts.load(names))).result(WAIT_S) == names[2:]


def test_pruning_keeps_so_many_rows_whatever_their_age(store: SqliteLocalStore) -> None:
    """A busy worker's file does not grow with its history."""

    def prune(tx: LocalTransaction) -> int:
        assert isinstance(tx, SqliteLocalTransaction)
        return SqliteLocalUpkeep(tx.outbox._database, keep_us=10**15, keep_rows=3).prune(1_000)

    for number in range(10):

        def live(tx: LocalTransaction, number: int = number) -> None:
            name = f"t{number}"
            one = attempt(name)
            tx.attempts.add([one])
            tx.attempts.save([one.after(AttemptStep.RUN, epoch=1).after(AttemptStep.SUCCEED, ended_at=START)])
            tx.outbox.add([event(number, task_id=name)])
            tx.outbox.mark_reported([f"event-{number}"])

        store.write(live).result(WAIT_S)
    assert store.write(prune).result(WAIT_S) == 14
    assert store.read(lambda tx: tx.outbox.counts()).result(WAIT_S)["reported"] == 3


HOT: list[tuple[Statement, str]] = [
    (outbox.SQL.event_pending, "event_pending"),
    (outbox.SQL.event_mark_reported, "sqlite_autoindex_event_1"),
    (outbox.SQL.event_replace_checkpoints, "event_unsent_checkpoint"),
    (attempts.SQL.attempt_leased, "attempt_leased"),
    (attempts.SQL.attempt_usage, "attempt_leased"),
    (attempts.SQL.attempt_load, "sqlite_autoindex_attempt_1"),
    (attempts.SQL.attempt_save, "sqlite_autoindex_attempt_1"),
    (attempts.SQL.attempt_end_lease, "sqlite_autoindex_attempt_1"),
]


@pytest.mark.parametrize(("statement", "index"), HOT, ids=lambda value: getattr(value, "name", value))
def test_hot_statements_never_walk_the_history(
    store: SqliteLocalStore, statement: Statement, index: str
) -> None:
    def explain(tx: LocalTransaction) -> str:
        assert isinstance(tx, SqliteLocalTransaction)
        text = Statement(
            statement.name, f"explain query plan {statement.text}", statement.purpose, statement.parameters
        )
        rows = tx.outbox._database.rows(text, **dict.fromkeys(statement.parameters, "[]"))
        return "\n".join(row[3] for row in rows)

    found = store.write(explain).result(WAIT_S)
    assert index in found, found
    assert "SCAN event" not in found.replace("SCAN event USING INDEX", ""), found


def test_events_of_one_attempt_are_never_two_unsent_checkpoints(store: SqliteLocalStore) -> None:
    """The index says it too, should anybody go around the port."""
    store.write(lambda tx: tx.outbox.add([event(1, EventKind.CHECKPOINT)])).result(WAIT_S)

    def twice(tx: LocalTransaction) -> None:
        assert isinstance(tx, SqliteLocalTransaction)
        tx.outbox._database.run(
            "insert into event (event_id, attempt_id, kind, final, content) "
            "values ('event-9', 'task-1.1', 'checkpoint', 0, '{}')"
        )

    with pytest.raises(Exception, match="UNIQUE"):
        store.write(twice).result(WAIT_S)
