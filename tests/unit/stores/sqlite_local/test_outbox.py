"""The outbox: order, replacement, confirmation and what is set aside."""

import pytest

from tenure.core.attempt import AttemptStep
from tenure.core.event import Event, EventKind
from tenure.ports.local import LocalTransaction
from tenure.stores.sqlite.local.store import SqliteLocalStore
from tests.support.worker.builders import attempt, event
from tests.support.worker.clock import START

WAIT_S = 10.0


@pytest.fixture
def ended(store: SqliteLocalStore) -> SqliteLocalStore:
    """A store with one attempt that has ended."""
    added = attempt()

    def end(tx: LocalTransaction) -> None:
        tx.attempts.add([added])
        tx.attempts.save([added.after(AttemptStep.RUN, epoch=1).after(AttemptStep.SUCCEED, ended_at=START)])

    store.write(end).result(WAIT_S)
    return store


def add(store: SqliteLocalStore, *events: Event) -> None:
    store.write(lambda tx: tx.outbox.add(events)).result(WAIT_S)


def pending(store: SqliteLocalStore, limit: int = 100) -> list[str]:
    return [e.event_id for e in store.read(lambda tx: tx.outbox.pending(limit)).result(WAIT_S)]


def leased(store: SqliteLocalStore) -> list[str]:
    return [a.id for a in store.read(lambda tx: tx.attempts.leased()).result(WAIT_S)]


def test_events_come_back_in_the_order_they_were_saved(store: SqliteLocalStore) -> None:
    """C090."""
    events = [event(n, EventKind.EFFECT) for n in (3, 1, 2)]
    add(store, events[0])
    add(store, *events[1:])
    assert store.read(lambda tx: tx.outbox.pending(10)).result(WAIT_S) == events
    assert pending(store, limit=2) == ["event-3", "event-1"]


def test_an_unsent_checkpoint_is_replaced_by_a_newer_one(store: SqliteLocalStore) -> None:
    """C075: at most one unsent checkpoint per attempt, and it stays before the end."""
    add(store, event(1, EventKind.CHECKPOINT), event(2, EventKind.CHECKPOINT, "task-2"))
    add(store, event(3, EventKind.CHECKPOINT), event(4, EventKind.CHECKPOINT), event(5))
    assert pending(store) == ["event-2", "event-4", "event-5"]
    store.write(lambda tx: tx.outbox.mark_reported(["event-4"])).result(WAIT_S)
    add(store, event(6, EventKind.CHECKPOINT))
    assert pending(store) == ["event-2", "event-5", "event-6"]


def test_a_confirmed_end_ends_the_lease(ended: SqliteLocalStore) -> None:
    """C054, C081, D15: the lease is renewed until the answer to the final event is saved."""
    add(ended, event(1, EventKind.CHECKPOINT), event(2))
    ended.write(lambda tx: tx.outbox.mark_reported(["event-1"])).result(WAIT_S)
    assert leased(ended) == ["task-1.1"]
    ended.write(lambda tx: tx.outbox.mark_reported(["event-2", "never-saved"])).result(WAIT_S)
    assert leased(ended) == []
    assert pending(ended) == []
    assert ended.read(lambda tx: tx.outbox.counts()).result(WAIT_S) == {
        "pending": 0,
        "reported": 2,
        "quarantined": 0,
    }


def test_what_is_set_aside_stays_visible_and_another_end_stands_in(ended: SqliteLocalStore) -> None:
    """D8, C090: in one step, and the lease is kept for the one that stands in."""
    add(ended, event(1), event(2, EventKind.EFFECT, "task-2"))
    assert ended.write(lambda tx: tx.outbox.quarantine("event-1", "no", event(3, EventKind.UNKNOWN))).result(
        WAIT_S
    )
    assert pending(ended) == ["event-2", "event-3"]
    assert leased(ended) == ["task-1.1"]
    assert ended.read(lambda tx: tx.outbox.counts()).result(WAIT_S)["quarantined"] == 1


def test_nothing_stands_in_for_a_stand_in(ended: SqliteLocalStore) -> None:
    """D8: a control plane that refuses even that ends the matter here, not in a circle."""
    add(ended, event(1))
    ended.write(lambda tx: tx.outbox.quarantine("event-1", "no", event(2, EventKind.UNKNOWN))).result(WAIT_S)
    again = ended.write(lambda tx: tx.outbox.quarantine("event-2", "no", event(3, EventKind.UNKNOWN)))
    assert not again.result(WAIT_S)
    assert pending(ended) == []
    assert leased(ended) == []


def test_a_confirmed_event_cannot_be_set_aside(ended: SqliteLocalStore) -> None:
    add(ended, event(1))
    ended.write(lambda tx: tx.outbox.mark_reported(["event-1"])).result(WAIT_S)
    assert not ended.write(lambda tx: tx.outbox.quarantine("event-1", "no")).result(WAIT_S)
    assert ended.read(lambda tx: tx.outbox.counts()).result(WAIT_S)["quarantined"] == 0
