"""What the janitor, dispatch and the sessions ask of the board besides."""

from datetime import datetime

from tenure.core.claim import Claim, ClaimEnd
from tenure.core.instants import after
from tenure.core.task import TaskState, TaskStep
from tests.support.worker.clock import START
from tests.unit.stores.sqlite_control.making import Bench, ended, ids, renewal, session, spec


def overdue(bench: Bench) -> list[str]:
    return ids(bench.do(lambda tx: tx.upkeep.overdue(9)))


def claim_of(bench: Bench, id_: str) -> Claim:
    claim = bench.load(id_).claim
    assert claim is not None
    return claim


def test_a_deadline_asks_for_one_decision(bench: Bench) -> None:
    """B05: what was decided does not come again, so that it never hides the next."""
    late = after(START, 5.0)
    bench.add(*(spec(name, deadline=late) for name in ("open", "claimed", "asked", "done")), spec("never"))
    bench.add(spec("blocked", deadline=after(START, 4.0)), state=TaskState.BLOCKED)
    bench.add(spec("later", deadline=after(START, 99.0)))
    bench.claim("claimed", "asked", "done")
    bench.change("done", lambda task: task.after(TaskStep.SUCCEED, START))
    bench.change("asked", lambda task: task.changed(START, cancel_requested=True))
    bench.clock.advance(4.5)
    assert overdue(bench) == ["blocked"]
    bench.clock.advance(0.5)
    assert overdue(bench) == ["blocked", "open", "claimed"]
    bench.change("claimed", lambda task: task.changed(START, cancel_requested=True))
    bench.change("open", lambda task: task.after(TaskStep.FAIL, START))
    assert overdue(bench) == ["blocked"]


def test_after_a_step_back_nothing_ends_later_than_its_ttl_allows(bench: Bench) -> None:
    """D19: leases of claimed and of unknown tasks, and registrations."""
    bench.add(spec("a"), spec("b"), spec("unknown"))
    bench.claim("a", "unknown", ttl_s=30.0)
    bench.claim("b", ttl_s=5_000.0)
    bench.change("unknown", lambda task: ended(task, TaskStep.DOUBT, ClaimEnd.LOST, subjects=("attempt",)))
    live = session(expires_at=after(START, 10.0))
    bench.do(lambda tx: tx.registry.save([live]))
    bench.clock.advance(-1_000.0)
    bench.do(lambda tx: tx.upkeep.lower_leases())
    now = bench.clock.wall()
    ends: dict[str, datetime] = {name: claim_of(bench, name).until for name in ("a", "b", "unknown")}
    assert ends == {"a": after(now, 30.0), "b": after(START, 4_000.0), "unknown": after(now, 30.0)}
    assert bench.do(lambda tx: tx.registry.latest(["w1"]))["w1"].expires_at == after(now, 10.0)
    bench.clock.advance(30.0)
    assert ids(bench.do(lambda tx: tx.selection.ended_leases(None, 9))) == ["a"]


def test_leases_that_are_short_enough_stay(bench: Bench) -> None:
    bench.add(spec("a"))
    bench.claim("a", ttl_s=30.0)
    bench.clock.advance(10.0)
    bench.do(lambda tx: tx.upkeep.lower_leases())
    assert claim_of(bench, "a").until == after(START, 30.0)


def test_a_request_finds_what_it_was_granted(bench: Bench) -> None:
    """C010: while its claims live, and for its agent alone."""
    bench.add(spec("a"), spec("b"), spec("c"), spec("d"))
    bench.claim("b", "a", request_id="r1")
    bench.claim("c", request_id="r2")
    bench.claim("d", request_id="r1", agent="w2")

    def granted() -> list[str]:
        return ids(bench.do(lambda tx: tx.upkeep.granted_for("w1", "r1")))

    assert granted() == ["b", "a"]
    bench.claim("b", agent="w3")
    assert granted() == ["a"]
    bench.change("a", lambda task: ended(task, TaskStep.GIVE_BACK, ClaimEnd.HANDED_BACK))
    assert granted() == []


def test_an_agent_holds_what_it_has_claimed(bench: Bench) -> None:
    """C008: also what has run out and nobody took."""
    bench.add(spec("a"), spec("b"), spec("c"))
    bench.claim("c", "a", "b")
    bench.claim("b", agent="w2")
    bench.clock.advance(99.0)
    assert bench.look(lambda tx: tx.upkeep.held_by("w1")) == ["a", "c"]
    assert bench.look(lambda tx: tx.upkeep.held_by("w3")) == []


def test_a_renewal_of_many_answers_each(bench: Bench) -> None:
    """C022: a thousand leases in one statement."""
    names = [f"t{number:04}" for number in range(1_000)]
    bench.add(*map(spec, names))
    bench.claim(*names)
    held = bench.do(lambda tx: tx.board.renew([renewal(name, ttl_s=60.0) for name in names]))
    assert sorted(held) == names
    assert {lease.until for lease in held.values()} == {after(START, 60.0)}
