"""Attempts in the local store."""

import msgspec
import pytest

from tenure.core.admission import InboxRow
from tenure.core.attempt import Attempt, AttemptState, AttemptStep
from tenure.core.capability import Recovery
from tenure.core.checkpoint import Progress
from tenure.core.command import CommandKind
from tenure.core.effect import CheckpointLine, Evidence, LedgerLine
from tenure.ports.local import LocalTransaction
from tenure.stores.sqlite.local.store import SqliteLocalStore
from tests.support.worker.builders import attempt, event, spec, start
from tests.support.worker.clock import START

WAIT_S = 10.0


def save(store: SqliteLocalStore, *attempts: Attempt) -> None:
    store.write(lambda tx: tx.attempts.save(attempts)).result(WAIT_S)


def add(store: SqliteLocalStore, *attempts: Attempt) -> None:
    store.write(lambda tx: tx.attempts.add(attempts)).result(WAIT_S)


def load(store: SqliteLocalStore, id_: str) -> Attempt:
    return store.read(lambda tx: tx.attempts.load([id_])[id_]).result(WAIT_S)


def test_an_attempt_comes_back_as_it_was_saved(store: SqliteLocalStore) -> None:
    evidence = Evidence(
        checkpoint=CheckpointLine({"n": 1}, 3),
        effects=[LedgerLine("pay", "effect", "applied", result=[1, "é"])],
    )
    added = attempt(
        spec=spec(input={"big": 2**70, "text": "a\nb"}, resources={"gpu": 2.0}), evidence=evidence
    )
    add(store, added)
    assert load(store, added.id) == added
    running = added.after(
        AttemptStep.RUN,
        epoch=1,
        rule=Recovery.RESUME,
        manifest_digest="abc",
        cancel_requested=True,
        checkpoint={"offset": 2**60, "half": 0.5},
        checkpoint_saved=True,
        checkpoint_portable=False,
        progress=Progress(stage="copy", percent=12.5),
        progress_number=4,
        event_sequence=2,
        lost_epoch=1,
    )
    save(store, running)
    assert load(store, added.id) == running


def test_a_saved_nothing_is_a_checkpoint_too(store: SqliteLocalStore) -> None:
    """C075: a checkpoint of None is one; no checkpoint is another thing."""
    added = attempt()
    add(store, added)
    assert not load(store, added.id).checkpoint_saved
    save(store, added.after(AttemptStep.RUN, epoch=1, checkpoint=None, checkpoint_saved=True))
    assert load(store, added.id).checkpoint_saved


@pytest.mark.parametrize("step", [s for s in AttemptStep if s is not AttemptStep.RUN])
def test_a_final_state_absorbs_whatever_is_written_later(store: SqliteLocalStore, step: AttemptStep) -> None:
    """C071: the statement refuses what `core` would have refused, should anybody go around it."""
    added = attempt()
    add(store, added)
    final = added.after(AttemptStep.RUN, epoch=1).after(step, ended_at=START)
    save(store, final)
    save(
        store,
        msgspec.structs.replace(
            final, state=AttemptState.RUNNING, epoch=2, ended_at=None, checkpoint=1, checkpoint_saved=True
        ),
    )
    assert load(store, added.id) == final


def test_the_lease_of_a_final_attempt_can_end_and_nothing_else(store: SqliteLocalStore) -> None:
    """D15: after the final state, only `lease_kept` may change."""
    added = attempt()
    add(store, added)
    final = added.after(AttemptStep.RUN, epoch=1).after(AttemptStep.SUCCEED, ended_at=START)
    save(store, final)
    assert [a.id for a in store.read(lambda tx: tx.attempts.leased()).result(WAIT_S)] == [added.id]
    save(store, msgspec.structs.replace(final, lease_kept=False, event_sequence=9))
    assert load(store, added.id) == msgspec.structs.replace(final, lease_kept=False)
    assert store.read(lambda tx: tx.attempts.leased()).result(WAIT_S) == []


def test_the_epoch_goes_on_from_earlier_attempts_of_the_task(store: SqliteLocalStore) -> None:
    """C071, C122: an older generation's entry is never taken for one of the execution that asks."""
    first = attempt(generation=7)
    add(store, first)
    save(store, first.after(AttemptStep.RUN, epoch=3))
    add(store, attempt(generation=8), attempt("other"))
    assert load(store, "task-1.8").epoch == 3
    assert load(store, "other.1").epoch == 0


def test_usage_counts_what_is_not_final(store: SqliteLocalStore) -> None:
    """C114: recovered and waiting attempts count, ended ones do not, also while their lease is kept."""
    gpu = {"gpu": 1.5}
    add(store, *(attempt(f"t{n}", spec=spec(f"t{n}", resources=gpu if n < 3 else {})) for n in range(5)))
    save(store, attempt("t0", spec=spec("t0", resources=gpu)).after(AttemptStep.RUN, epoch=1))
    save(store, attempt("t1").after(AttemptStep.HAND_BACK, ended_at=START))
    usage = store.read(lambda tx: tx.attempts.usage()).result(WAIT_S)
    assert (usage.attempts, usage.resources) == (4, {"gpu": 3.0})
    assert [a.id for a in store.read(lambda tx: tx.attempts.unfinished()).result(WAIT_S)] == [
        "t0.1",
        "t2.1",
        "t3.1",
        "t4.1",
    ]


def test_a_command_and_its_attempt_are_one_step(store: SqliteLocalStore) -> None:
    """C063: an error between the two leaves neither."""
    command = start()
    row = InboxRow(command.command_id, CommandKind.START, command.digest, accepted=True)

    def halfway(tx: LocalTransaction) -> None:
        tx.inbox.add([(command, row)])
        tx.attempts.add([attempt(), attempt()])  # The second breaks a constraint

    with pytest.raises(Exception, match="UNIQUE"):
        store.write(halfway).result(WAIT_S)
    assert store.read(lambda tx: tx.inbox.seen([command.command_id])).result(WAIT_S) == {}
    assert store.read(lambda tx: tx.attempts.unfinished()).result(WAIT_S) == []


def test_the_inbox_remembers_the_first_answer(store: SqliteLocalStore) -> None:
    """C064, C067: accepted and refused commands alike."""
    taken, refused = start(), start(spec("task-2"))
    rows = [
        InboxRow(taken.command_id, CommandKind.START, taken.digest, accepted=True),
        InboxRow(refused.command_id, CommandKind.START, refused.digest, False, "unsupported", "not here"),
    ]
    store.write(lambda tx: tx.inbox.add(list(zip((taken, refused), rows, strict=True)))).result(WAIT_S)
    ids = [taken.command_id, refused.command_id, "never-seen"]
    seen = store.read(lambda tx: tx.inbox.seen(ids)).result(WAIT_S)
    assert seen == {row.command_id: row for row in rows}


def test_a_forgotten_attempt_is_noted(store: SqliteLocalStore) -> None:
    added = attempt()
    add(store, added)

    def end(tx: LocalTransaction) -> None:
        tx.attempts.save([added.after(AttemptStep.DOUBT, ended_at=START)])
        tx.outbox.add([event(1)])
        tx.outbox.mark_reported(["event-1"])
        tx.attempts.forget([added.id])

    store.write(end).result(WAIT_S)
    assert load(store, added.id).state is AttemptState.UNKNOWN
