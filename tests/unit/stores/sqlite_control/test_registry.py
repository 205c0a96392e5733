"""Workers, their sessions, drained marks and incarnations."""

import msgspec
import pytest

from tenure.core.capability import Capability, Recovery
from tenure.core.errors import InvariantBroken
from tenure.core.instants import after
from tenure.core.registration import Session
from tenure.ports.registry import DrainMark
from tests.support.worker.clock import START
from tests.unit.stores.sqlite_control.making import Bench, session

LIVE = after(START, 10.0)


def save(bench: Bench, *sessions: Session) -> None:
    bench.do(lambda tx: tx.registry.save(sessions))


def test_a_session_comes_back_as_it_was_saved(bench: Bench) -> None:
    full = session(
        ttl_s=12.25,
        registered_at=after(START, 1.0),
        expires_at=after(START, 2.0),
        last_seen_at=after(START, 3.0),
        queues=["a", "b"],
        labels={"zone": "é"},
        capabilities=[
            Capability("render", "1", Recovery.RESUME, "one frame", {"type": "object", "n": 2**60}),
            Capability("scan", "2", Recovery.MANUAL),
        ],
        slots=4,
        room=8,
        resources={"memory_bytes": 2.0**40},
        incarnation="inc1",
        try_number=2,
        usage={"memory_bytes": 0.5},
        stream_epoch=3,
        connected=True,
        ended="displaced",
        displaced_by="i2",
    )
    save(bench, full, session("w2"))
    assert bench.do(lambda tx: tx.registry.latest(["w1", "nobody"])) == {"w1": full}
    assert bench.look(lambda tx: tx.registry.by_token(full.token_hash)) == full
    assert bench.look(lambda tx: tx.registry.by_token("hash of nobody")) is None
    changed = msgspec.structs.replace(full, room=0, ended="deregistered", usage={}, connected=False)
    save(bench, changed)
    assert bench.look(lambda tx: tx.registry.latest(None)) == {"w1": changed, "w2": session("w2")}


def test_the_newest_session_counts_and_the_others_are_kept(bench: Bench) -> None:
    """C002 D24: a token is judged by its own session; saving an older one does not bring it back."""
    first, second = session(number=1), session(number=2)
    save(bench, first)
    ended = msgspec.structs.replace(first, ended="displaced")
    save(bench, second, ended)
    assert bench.look(lambda tx: tx.registry.latest(None)) == {"w1": second}
    assert bench.look(lambda tx: tx.registry.by_token(first.token_hash)) == ended
    assert bench.look(lambda tx: tx.registry.latest([])) == {}


def test_a_token_belongs_to_one_session(bench: Bench) -> None:
    save(bench, session())
    with pytest.raises(InvariantBroken):
        save(bench, session("w2", token_hash=session().token_hash))


def touch(bench: Bench, number: int = 1, ttl_s: float = 20.0) -> object:
    return bench.do(lambda tx: tx.registry.touch("w1", number, ttl_s, 5, {"cpu_millis": 250.0}))


def test_a_heartbeat_counts_from_the_stores_now(bench: Bench) -> None:
    """C004 C006."""
    save(bench, session(expires_at=LIVE))
    bench.clock.advance(4.0)
    assert touch(bench) == after(START, 24.0)
    kept = bench.look(lambda tx: tx.registry.latest(["w1"]))["w1"]
    assert kept == session(
        expires_at=after(START, 24.0),
        last_seen_at=after(START, 4.0),
        ttl_s=20.0,
        room=5,
        usage={"cpu_millis": 250.0},
    )


def test_an_expired_registration_stays_so(bench: Bench) -> None:
    """C005 C020: at its very end it has ended."""
    save(bench, session(expires_at=LIVE))
    bench.clock.advance(10.0)
    assert touch(bench) is None
    assert bench.look(lambda tx: tx.registry.latest(["w1"]))["w1"].expires_at == LIVE


def test_only_the_newest_session_is_touched(bench: Bench) -> None:
    """C002 C006: neither an ended one nor one that never was."""
    save(bench, session(expires_at=LIVE))
    assert touch(bench, number=2) is None
    save(bench, session(number=2, expires_at=LIVE))
    assert touch(bench, number=1) is None
    save(bench, session(number=2, expires_at=LIVE, ended="deregistered"))
    assert touch(bench, number=2) is None


def test_a_server_that_starts_has_no_streams(bench: Bench) -> None:
    save(bench, session(connected=True, stream_epoch=4), session("w2"))
    bench.do(lambda tx: tx.registry.disconnect_all())
    assert bench.look(lambda tx: tx.registry.latest(None)) == {
        "w1": session(stream_epoch=4),
        "w2": session("w2"),
    }


def test_a_mark_survives_and_the_higher_number_wins(bench: Bench) -> None:
    """C111: also on a worker that is not registered."""
    drained, undone = DrainMark("w1", drained=True, number=1, note="disk"), DrainMark("w1", False, 2)
    other = DrainMark("w2", drained=True, number=7)
    bench.do(lambda tx: tx.registry.mark_drain(drained))
    assert bench.look(lambda tx: tx.registry.drain_marks(["w1", "w3"])) == {"w1": drained}
    for mark in (undone, other, drained):
        bench.do(lambda tx, mark=mark: tx.registry.mark_drain(mark))
    assert bench.look(lambda tx: tx.registry.drain_marks(None)) == {"w1": undone, "w2": other}
    assert bench.look(lambda tx: tx.registry.drain_marks([])) == {}


def test_the_last_accepted_incarnation_is_remembered(bench: Bench) -> None:
    """C117: by instance."""

    def accept(instance_id: str, incarnation: str | None) -> str | None:
        return bench.do(lambda tx: tx.registry.incarnation(instance_id, incarnation))

    assert accept("i1", None) is None
    assert accept("i1", "first") is None
    assert accept("i1", "second") == "first"
    assert accept("i1", None) == "second"
    assert accept("i2", None) is None
