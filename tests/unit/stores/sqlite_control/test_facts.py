"""The append-only history, and the ledger of effects, steps and checkpoints."""

import msgspec
import pytest

from tenure.core.checkpoint import Checkpoint
from tenure.core.effect import Effect, EffectState
from tenure.core.errors import InvariantBroken
from tenure.core.instants import after
from tenure.core.task import TaskStep
from tenure.ports.facts import Fact
from tests.support.worker.clock import START
from tests.unit.stores.sqlite_control.making import Bench, spec


def event(
    id_: str, task_id: str = "a", sequence: int = 1, answer: str = "accepted", **fields: object
) -> Fact:
    plain = Fact(
        task_id=task_id,
        kind="step",
        at=START,
        generation=1,
        event_id=id_,
        digest="d",
        attempt_epoch=1,
        sequence=sequence,
        answer=answer,
    )
    return msgspec.structs.replace(plain, **fields)


def record(bench: Bench, *facts: Fact) -> None:
    bench.do(lambda tx: tx.facts.record(facts))


def test_facts_stand_in_the_order_in_which_they_were_recorded(bench: Bench) -> None:
    """C081: positions only grow, over all tasks."""
    first = Fact("a", "submitted", START, body={"by": "me", "n": 2**70})
    second = event("e1", body={"name": "x", "result": None}, at=after(START, 1.0))
    record(bench, first, Fact("b", "submitted", START), second)
    assert bench.look(lambda tx: tx.facts.history("a", 0, 9)) == [
        msgspec.structs.replace(first, position=1),
        msgspec.structs.replace(second, position=3),
    ]
    assert bench.look(lambda tx: [f.position for f in tx.facts.history("a", 1, 9)]) == [3]
    assert bench.look(lambda tx: [f.position for f in tx.facts.history("a", 0, 1)]) == [1]
    assert bench.look(lambda tx: tx.facts.history("nobody", 0, 9)) == []


def test_the_position_is_that_of_the_last_fact(bench: Bench) -> None:
    """D27: an operation that came to nothing leaves none behind."""
    assert bench.look(lambda tx: tx.facts.position()) == 0
    record(bench, event("e1"), event("e2"))
    with pytest.raises(InvariantBroken):
        record(bench, event("e3"), event("e1"))
    assert bench.look(lambda tx: tx.facts.position()) == 2


def test_an_event_is_kept_once(bench: Bench) -> None:
    """C081 C082: whoever looked before, the file refuses a second one."""
    record(bench, event("e1"))
    seen = bench.look(lambda tx: tx.facts.seen(["e1", "e2"]))
    assert seen == {"e1": msgspec.structs.replace(event("e1"), position=1)}
    with pytest.raises(InvariantBroken):
        record(bench, event("e1", digest="other"))
    assert bench.look(lambda tx: tx.facts.seen(["e1"]))["e1"].digest == "d"


def test_the_last_sequence_is_the_highest_that_was_accepted(bench: Bench) -> None:
    """C082: of each attempt; what was stale does not count, and no event makes it lower."""
    bench.add(spec("a"), spec("b"))
    bench.claim("a", "b")
    bench.claim("a", agent="w2")
    asked = [("a", 1), ("a", 2), ("b", 1), ("nobody", 1)]

    def last() -> dict[tuple[str, int], int]:
        return bench.look(lambda tx: tx.facts.last_sequences(asked))

    assert last() == {}
    record(bench, event("e1", sequence=4), event("e2", sequence=7), event("e3", sequence=5))
    record(bench, event("e4", sequence=99, answer="stale"), event("e5", "nobody"), event("e6", "b"))
    assert last() == {("a", 1): 7, ("b", 1): 1}
    record(bench, event("e7", sequence=3), event("e8", generation=2, sequence=2))
    assert last() == {("a", 1): 7, ("a", 2): 2, ("b", 1): 1}


def test_the_ends_that_holders_told_are_known_also_if_they_came_too_late(bench: Bench) -> None:
    """D16: what the janitor or a person decided is no end that a holder told."""
    record(
        bench,
        Fact("a", "unknown", START, generation=1, body={"by": "janitor"}),
        event("e1", kind="lost", attempt_epoch=2),
        event("e2", kind="checkpoint", attempt_epoch=3),
        event("e3", kind="superseded", attempt_epoch=4, answer="stale", generation=2),
        event("e4", "b", kind="succeeded"),
    )
    told = bench.look(lambda tx: tx.facts.ends_told(["a", "nobody"]))
    assert told == {("a", 1): 2, ("a", 2): 4}


def effect(name: str, **fields: object) -> Effect:
    plain = Effect(
        task_id="a",
        run=1,
        name=name,
        request_id=f"a.1.{name}",
        digest="d",
        state=EffectState.INTENDED,
        generation=1,
        epoch=1,
        agent="w1",
        witnessed_at=START,
    )
    return msgspec.structs.replace(plain, **fields)


def ledger(bench: Bench) -> dict[str, list[Effect]]:
    return bench.do(lambda tx: tx.ledger.effects(["a", "b", "nobody"]))


def test_the_ledger_stands_in_the_order_of_the_first_witness(bench: Bench) -> None:
    """D16: whatever becomes of an entry, it keeps its place."""
    bench.add(spec("a"), spec("b"))
    late, early = effect("a-late", params={}, result=[]), effect("z-early")
    step = effect("load", kind="step", state=EffectState.APPLIED, result="")
    bench.do(lambda tx: tx.ledger.save([early]))
    bench.do(lambda tx: tx.ledger.save([late, step]))
    applied = msgspec.structs.replace(
        early,
        state=EffectState.APPLIED,
        generation=2,
        epoch=3,
        agent="w2",
        witnessed_at=after(START, 1.0),
        params={"cents": 2**70},
        settled_by=("find", "idempotent"),
        after="absent",
        result=[{"id": None}],
        decided_by="evidence",
    )
    bench.do(lambda tx: tx.ledger.save([applied]))
    assert ledger(bench) == {"a": [applied, late, step]}


def test_the_ledger_is_that_of_the_present_run(bench: Bench) -> None:
    """C106: a new run begins with an empty one; the older one is kept."""
    bench.add(spec("a"))
    bench.claim("a")
    bench.do(lambda tx: tx.ledger.save([effect("pay")]))
    bench.do(lambda tx: tx.ledger.save_checkpoints([("a", 1, Checkpoint(1, 1))]))
    bench.change("a", lambda task: task.after(TaskStep.FAIL, START))
    bench.change("a", lambda task: task.after(TaskStep.REOPEN, START, run=2))
    assert ledger(bench) == {}
    assert bench.look(lambda tx: tx.ledger.checkpoints(["a"])) == {}
    again = effect("pay", run=2)
    bench.do(lambda tx: tx.ledger.save([again]))
    assert ledger(bench) == {"a": [again]}


def test_the_newest_checkpoint_is_kept(bench: Bench) -> None:
    """C077: neither an older generation nor an earlier one of the same attempt changes it."""
    bench.add(spec("a"), spec("b"))
    bench.claim("a")
    newest = Checkpoint({"offset": 2**60}, 5, portable=False, node_id="n1", instance_id="i1")

    def save(generation: int, saved: Checkpoint) -> Checkpoint | None:
        bench.do(lambda tx: tx.ledger.save_checkpoints([("a", generation, saved), ("nobody", 1, saved)]))
        return bench.look(lambda tx: tx.ledger.checkpoints(["a", "b"])).get("a")

    assert save(1, Checkpoint(None, 2)) == Checkpoint(None, 2)
    assert save(1, newest) == newest
    assert save(1, Checkpoint("earlier", 4)) == newest
    bench.claim("a", agent="w2")
    assert save(1, Checkpoint("of a lost attempt", 9)) == newest
    assert save(2, Checkpoint("taken over", 1)) == Checkpoint("taken over", 1)
    assert save(2, Checkpoint([], 2)) == Checkpoint([], 2)
