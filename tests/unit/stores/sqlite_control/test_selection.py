"""Tasks by what is to be decided about them."""

from datetime import timedelta

import msgspec
import pytest

from tenure.core.claim import ClaimEnd
from tenure.core.command import CommandKind, CommandRow, CommandState
from tenure.core.instants import after
from tenure.core.task import Task, TaskState, TaskStep
from tenure.ports.board import Known, TaskFilter, Wanted
from tenure.ports.store import Transaction
from tests.support.worker.clock import START
from tests.unit.stores.sqlite_control.making import Bench, ended, ids, renewal, spec


def page(bench: Bench, **fields: object) -> list[str]:
    wanted = msgspec.structs.replace(TaskFilter(), **fields)
    return bench.look(lambda tx: tx.selection.page(wanted))


def leases_ended(bench: Bench, limit: int = 100) -> list[str]:
    return ids(bench.do(lambda tx: tx.selection.ended_leases(None, limit)))


# --- known ----------------------------------------------------------------------------------------


def test_ids_and_keys_name_what_is_there(bench: Bench) -> None:
    """B25: a key counts within its queue."""
    bench.add(spec("a", key="k"), spec("b", key="k", queue="night"), spec("c"))
    a, b = (Known(id_, bench_digest(bench, id_), TaskState.OPEN) for id_ in ("a", "b"))
    asked = [("default", "k"), ("night", "k"), ("default", "other")]
    found = bench.look(lambda tx: tx.selection.known(["a", "nobody"], asked))
    assert found == {"a": a, ("default", "k"): a, ("night", "k"): b}
    assert bench.look(lambda tx: tx.selection.known([], [])) == {}


def bench_digest(bench: Bench, id_: str) -> str:
    return bench.look(lambda tx: tx.board.specs([id_]))[id_].content_digest()


# --- open and due ---------------------------------------------------------------------------------


def test_the_higher_priority_goes_first_then_the_older(bench: Bench) -> None:
    """C010: across everything the asker can run."""
    bench.add(spec("a"), spec("b", priority=5, queue="night"), spec("c", priority=-1), spec("d", priority=5))
    bench.add(spec("e", capability="scan", version=None))
    assert bench.open_and_due() == ["b", "d", "a", "e", "c"]
    assert bench.open_and_due(limit=2) == ["b", "d"]
    assert bench.open_and_due(limit=0) == []
    assert bench.open_and_due(limit=-1) == []


def test_only_what_the_asker_can_run_is_found(bench: Bench) -> None:
    """D21: queue, capability, and a version that it has, or any."""
    bench.add(spec("v1"), spec("v2", version="2"), spec("any", version=None), spec("night", queue="night"))
    bench.add(spec("scan", capability="scan"))
    assert bench.open_and_due(capabilities=[("render", "1")]) == ["v1", "any", "night"]
    assert bench.open_and_due(capabilities=[("render", "2"), ("render", "1")]) == ["v1", "v2", "any", "night"]
    assert bench.open_and_due(capabilities=[("render", "3")], queues=["default"]) == ["any"]
    assert bench.open_and_due(queues=["night", "nobody's"]) == ["night"]
    assert bench.open_and_due(queues=[]) == []
    assert bench.open_and_due(capabilities=[]) == []


def test_what_a_worker_lacks_hides_nothing_behind_it(bench: Bench) -> None:
    """B05 D21: a limit counts only what fits."""
    bench.add(*(spec(f"gpu{n}", requires={"gpu": "*"}, priority=9) for n in range(3)))
    bench.add(*(spec(f"big{n}", resources={"memory_bytes": 64.0}, priority=8) for n in range(3)))
    bench.add(spec("zone", requires={"zone": "a"}, resources={"licence": 0.0}), spec("plain"))
    poor: dict[str, object] = {"labels": {"zone": "b"}, "resources": {"memory_bytes": 63.5}}
    assert bench.open_and_due(limit=1, **poor) == ["plain"]
    rich: dict[str, object] = {"labels": {"gpu": "", "zone": "a"}, "resources": {"memory_bytes": 64.0}}
    assert bench.open_and_due(limit=7, **rich) == ["gpu0", "gpu1", "gpu2", "big0", "big1", "big2", "zone"]
    assert bench.open_and_due(labels={}, resources={}) == ["plain"]
    assert bench.open_and_due(skip=["plain", "zone"], **poor) == []


def test_only_open_tasks_are_found(bench: Bench) -> None:
    bench.add(spec("open"), spec("claimed"), spec("cancelled"))
    bench.add(spec("blocked"), state=TaskState.BLOCKED)
    bench.claim("claimed")
    bench.change("cancelled", lambda task: task.after(TaskStep.CANCEL, START))
    assert bench.open_and_due() == ["open"]
    bench.change("cancelled", lambda task: task.after(TaskStep.REOPEN, START))
    bench.change("blocked", lambda task: task.after(TaskStep.UNBLOCK, START))
    assert bench.open_and_due() == ["open", "cancelled", "blocked"]


def test_a_task_is_found_from_its_very_instant_on(bench: Bench) -> None:
    """C016 C020: not due while now < not_before."""
    bench.add(spec("later", not_before=after(START, 10.0), priority=1), spec("now"))
    bench.add(spec("past", not_before=after(START, -10.0)), spec("much", not_before=after(START, 99.0)))
    assert bench.open_and_due() == ["now", "past"]
    assert bench.look(lambda tx: tx.upkeep.next_due()) == after(START, 10.0)
    bench.clock.advance(9.999_999)
    assert bench.open_and_due() == ["now", "past"]
    bench.clock.advance(0.000_001)
    assert bench.open_and_due() == ["later", "now", "past"]
    assert bench.look(lambda tx: tx.upkeep.next_due()) == after(START, 99.0)
    bench.clock.advance(-5.0)
    assert bench.open_and_due() == ["now", "past"], "the clock stepped back"


def test_a_failed_try_waits_its_time(bench: Bench) -> None:
    bench.add(spec("a"))
    bench.claim("a")
    bench.change("a", lambda task: task.after(TaskStep.FAIL_TRY, START, not_before=after(START, 3.0)))
    assert bench.open_and_due() == []
    bench.clock.advance(3.0)
    assert bench.open_and_due() == ["a"]


def test_a_query_changes_nothing(bench: Bench) -> None:
    """A look beside the writer cannot move tasks that have become due; it leaves that to the next write."""
    bench.add(spec("a"), spec("b", not_before=after(START, 1.0)))
    bench.claim("a", ttl_s=1.0)
    bench.clock.advance(2.0)
    anything = Wanted(queues=None, capabilities=None, limit=9)
    assert ids(bench.look(lambda tx: tx.selection.ended_leases(None, 9))) == ["a"]
    assert bench.look(lambda tx: tx.selection.open_and_due(anything)) == []
    assert bench.open_and_due() == ["b"]
    assert ids(bench.look(lambda tx: tx.selection.open_and_due(anything))) == ["b"]


def test_an_excluded_worker_is_not_offered_the_task_again(bench: Bench) -> None:
    """D21: for good or until then; the longer one counts; other workers are offered it."""
    bench.add(spec("a"), spec("b"))
    bench.do(lambda tx: tx.upkeep.exclude("a", "w1", after(START, 30.0)))
    bench.do(lambda tx: tx.upkeep.exclude("a", "w1", after(START, 10.0)))
    bench.do(lambda tx: tx.upkeep.exclude("nobody", "w1", None))
    assert bench.open_and_due(exclude_worker="w1") == ["b"]
    assert bench.open_and_due(exclude_worker="w2") == ["a", "b"]
    bench.clock.advance(30.0)
    assert bench.open_and_due(exclude_worker="w1") == ["a", "b"]
    bench.do(lambda tx: tx.upkeep.exclude("a", "w1", None))
    bench.do(lambda tx: tx.upkeep.exclude("a", "w1", after(START, 40.0)))
    bench.clock.advance(1_000.0)
    assert bench.open_and_due(exclude_worker="w1") == ["b"]


# --- leases that ended ----------------------------------------------------------------------------


def test_a_lease_ends_at_its_very_end(bench: Bench) -> None:
    """C020 C042: live while now < until."""
    bench.add(spec("a"))
    bench.claim("a", ttl_s=10.0)
    bench.clock.advance(9.999_999)
    assert leases_ended(bench) == []
    bench.clock.advance(0.000_001)
    assert leases_ended(bench) == ["a"]


def test_a_renewed_lease_is_looked_at_again_when_it_ends(bench: Bench) -> None:
    """C019: however often it was renewed, although no renewal touches the index that is looked through."""
    bench.add(spec("a"), spec("b"))
    bench.claim("a", "b", ttl_s=10.0)
    for _ in range(3):
        bench.clock.advance(6.0)
        bench.do(lambda tx: tx.board.renew([renewal("a", ttl_s=10.0)]))
        assert "a" not in leases_ended(bench)
    assert leases_ended(bench) == ["b"]
    bench.clock.advance(10.0)
    assert leases_ended(bench) == ["b", "a"]


def test_a_lease_that_was_made_shorter_is_found_in_time(bench: Bench) -> None:
    bench.add(spec("a"), spec("b"))
    bench.claim("a", "b", ttl_s=1_000.0)
    bench.do(lambda tx: tx.board.renew([renewal("a", ttl_s=2.0), renewal("b", ttl_s=2_000.0)]))
    bench.clock.advance(2.0)
    assert leases_ended(bench) == ["a"]


def test_a_lease_that_a_decision_made_shorter_is_found_in_time(bench: Bench) -> None:
    bench.add(spec("a"))
    bench.claim("a", ttl_s=1_000.0)

    def shorten(task: Task) -> Task:
        assert task.claim is not None
        claim = msgspec.structs.replace(task.claim, until=after(START, 2.0), ttl_s=2.0)
        return task.changed(START, claim=claim)

    bench.change("a", shorten)
    bench.clock.advance(2.0)
    assert leases_ended(bench) == ["a"]


def test_only_claimed_tasks_have_leases_that_end(bench: Bench) -> None:
    bench.add(spec("a"), spec("b"), spec("c"))
    bench.claim("a", "b", "c", ttl_s=1.0)

    def doubt(task: Task) -> Task:
        return ended(task, TaskStep.DOUBT, ClaimEnd.UNKNOWN, subjects=("attempt",))

    def resume(task: Task) -> Task:
        assert task.claim is not None
        claim = msgspec.structs.replace(task.claim, ended=None, ended_at=None)
        return task.after(TaskStep.RESUME, START, claim=claim, subjects=())

    bench.change("a", lambda task: ended(task, TaskStep.SUCCEED, ClaimEnd.SUCCEEDED))
    bench.change("b", doubt)
    bench.claim("c", agent="w2", ttl_s=5.0)
    bench.clock.advance(2.0)
    assert leases_ended(bench) == []
    bench.change("b", resume)
    assert leases_ended(bench) == ["b"]


def test_leases_that_stay_do_not_hide_those_behind_them(bench: Bench) -> None:
    """B05: pages go on beyond the last key, also among equal ends."""
    names = [f"t{number}" for number in range(5)]
    bench.add(*(spec(name) for name in reversed(names)))
    bench.claim(*names, ttl_s=1.0)
    bench.clock.advance(9.0)
    key = None
    found: list[str] = []
    while tasks := bench.do(lambda tx, key=key: tx.selection.ended_leases(key, 2)):
        found += ids(tasks)
        claim = tasks[-1].claim
        assert claim is not None
        key = (claim.until, tasks[-1].id)
    assert found == names


def start_of(task: Task, **fields: object) -> CommandRow:
    plain = CommandRow(
        command_id=f"{task.id}.{task.generation}",
        worker_id="w1",
        instance_id="i1",
        sequence=0,
        kind=CommandKind.START,
        digest="d",
        state=CommandState.QUEUED,
        queued_at=START,
        task_id=task.id,
        generation=task.generation,
        token="tnr_c_x",
    )
    return msgspec.structs.replace(plain, **fields)


def test_a_start_waits_for_its_answer_from_its_last_offer(bench: Bench) -> None:
    """D20: the smaller of the time and the lease; one that was never offered waits for ever."""
    bench.add(*(spec(name) for name in ("offered", "short", "never", "answered", "acknowledged")))
    offered, short, never, answered, acknowledged = (
        bench.claim(name, pushed=name != "acknowledged", ttl_s=4.0 if name == "short" else 30.0)[0]
        for name in ("offered", "short", "never", "answered", "acknowledged")
    )
    rows = [
        start_of(offered, offered_at=START),
        start_of(short, offered_at=START),
        start_of(never),
        start_of(answered, offered_at=START, state=CommandState.ACKNOWLEDGED, token=None),
        start_of(acknowledged, offered_at=START),
    ]
    bench.do(lambda tx: tx.commands.add(rows))

    def late() -> list[str]:
        return ids(bench.do(lambda tx: tx.selection.unanswered_starts(10.0, 9)))

    bench.clock.advance(4.0)
    assert late() == ["short"]
    bench.clock.advance(5.0)
    bench.do(lambda tx: tx.commands.mark_offered(["offered.1", "answered.1"]))
    bench.clock.advance(9.0)
    assert late() == ["short"]
    bench.clock.advance(1.0)
    assert late() == ["short", "offered"]
    bench.claim("short", agent="w2")
    assert late() == ["offered"], "the start of an earlier generation is nobody's any more"


# --- dependencies ---------------------------------------------------------------------------------


def test_dependents_are_found_while_they_are_blocked(bench: Bench) -> None:
    """C016."""
    bench.add(spec("a"), spec("b"))
    bench.add(
        spec("both", depends_on=["a", "b"]), spec("one", depends_on=["b", "b"]), state=TaskState.BLOCKED
    )
    assert ids(bench.do(lambda tx: tx.selection.dependents(["a", "b"]))) == ["both", "one"]
    assert ids(bench.do(lambda tx: tx.selection.dependents(["a"]))) == ["both"]
    bench.change("one", lambda task: task.after(TaskStep.UNBLOCK, START))
    assert ids(bench.do(lambda tx: tx.selection.dependents(["b", "nobody"]))) == ["both"]


def test_dependencies_tell_their_states(bench: Bench) -> None:
    """C016: one that is not there any more counts as done."""
    bench.add(spec("a"))
    bench.add(spec("c", depends_on=["a", "gone"]), state=TaskState.BLOCKED)
    states = bench.look(lambda tx: tx.selection.dependencies(["c", "a"]))
    assert states == {"c": {"a": TaskState.OPEN, "gone": TaskState.DONE}}


# --- pages ----------------------------------------------------------------------------------------


@pytest.fixture
def many(bench: Bench) -> Bench:
    """Return a bench with an open, a claimed, a failed and a done task, twice; the later ones end in `x`."""
    for end in ("", "x"):
        fields: dict[str, object] = {"labels": {"team": "red"}, "queue": "night"} if end else {}
        bench.add(*(spec(name + end, **fields) for name in ("open", "claimed", "failed", "done")))
        bench.claim("claimed" + end, "done" + end)
        bench.change("failed" + end, lambda task: task.after(TaskStep.FAIL, START))
        bench.change("done" + end, lambda task: task.after(TaskStep.SUCCEED, START))
    return bench


def test_a_page_is_newest_first_and_goes_on_behind_the_last(many: Bench) -> None:
    everything = ["donex", "failedx", "claimedx", "openx", "done", "failed", "claimed", "open"]
    assert page(many) == everything
    assert page(many, limit=3) == everything[:3]
    assert page(many, limit=3, before=everything[2]) == everything[3:6]
    assert page(many, before="open") == []
    assert page(many, before="nobody") == []
    assert page(many, limit=-1) == []


@pytest.mark.parametrize("state", [TaskState.OPEN, TaskState.CLAIMED, TaskState.FAILED, TaskState.DONE])
def test_a_page_shows_one_state(many: Bench, state: TaskState) -> None:
    name = str(state)
    assert page(many, state=state) == [name + "x", name]
    assert page(many, state=state, before=name + "x") == [name]
    assert page(many, state=state, queue="night") == [name + "x"]
    assert page(many, state=state, queues_allowed=["default"]) == [name]
    assert page(many, state=state, queues_allowed=[]) == []
    assert page(many, state=state, capability="scan") == []
    assert page(many, state=state, label=("team", "red")) == [name + "x"]
    assert page(many, state=TaskState.UNKNOWN) == []


def test_a_page_shows_one_label(many: Bench) -> None:
    assert page(many, label=("team", "red"), limit=2) == ["donex", "failedx"]
    assert page(many, label=("team", "red"), before="failedx") == ["claimedx", "openx"]
    assert page(many, label=("team", "blue")) == []


def test_what_was_found_can_be_saved(bench: Bench) -> None:
    """C010: found, decided and saved in one transaction, under the one write lock."""
    bench.add(spec("a"), spec("b", not_before=START + timedelta(seconds=1)))
    bench.clock.advance(1.0)

    def step(tx: Transaction) -> None:
        tasks = tx.board.load(["a", "b"])
        tx.board.save([task.after(TaskStep.CANCEL, tx.now()) for task in tasks.values()])

    bench.do(step)
    assert bench.open_and_due() == []
    assert bench.look(lambda tx: tx.upkeep.next_due()) is None
