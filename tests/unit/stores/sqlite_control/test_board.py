"""Tasks and claims by id."""

from datetime import datetime, timedelta

import msgspec
import pytest

from tenure.core.backoff import Backoff
from tenure.core.capability import Recovery
from tenure.core.checkpoint import Progress
from tenure.core.claim import Claim, ClaimEnd, Standing
from tenure.core.errors import InvariantBroken, Taken
from tenure.core.instants import after
from tenure.core.task import Ending, ErrorInfo, Task, TaskSpec, TaskState, TaskStep
from tenure.ports.board import Proof, Renewed
from tenure.ports.store import Transaction
from tests.support.worker.clock import START
from tests.unit.stores.sqlite_control.making import Bench, ended, new_task, presented, renewal, spec

MOMENT = timedelta(microseconds=1)
FULL = TaskSpec(
    capability="render",
    version=None,
    input={"big": 2**70, "half": 0.5, "deep": [None, {"é": 'a\n"b"\u2028'}]},
    id="full",
    key="order-17",
    queue="night",
    priority=-3,
    requires={"gpu": "*", "zone": "b"},
    resources={"memory_bytes": 2.0**40, "licence": 1.0},
    depends_on=["other", "another"],
    not_before=START - timedelta(days=1),
    timeout_s=5.5,
    deadline=START + timedelta(days=1),
    lease_ttl_s=12.5,
    max_attempts=7,
    max_losses=2,
    backoff=Backoff(initial_s=0.25, factor=3.0, max_s=9.0),
    on_dependency_failure="cancel",
    labels={"team": "a", "user": "b"},
)


@pytest.mark.parametrize("stated", [spec("plain"), FULL], ids=["plain", "full"])
def test_a_task_comes_back_as_it_was_added(bench: Bench, stated: TaskSpec) -> None:
    added = new_task(stated, START, TaskState.BLOCKED)
    bench.do(lambda tx: tx.board.add([added]))
    assert bench.load(added.task.id) == added.task
    assert bench.look(lambda tx: tx.board.specs([added.task.id, "nobody"])) == {added.task.id: stated}


def test_a_spec_without_an_id_comes_back_with_it(bench: Bench) -> None:
    named = new_task(spec("a"), START)
    nameless = msgspec.structs.replace(named, spec=spec("a", id=None))
    bench.do(lambda tx: tx.board.add([nameless]))
    assert bench.look(lambda tx: tx.board.specs(["a"])) == {"a": spec("a")}


def test_a_task_with_everything_in_it_comes_back_as_it_was_saved(bench: Bench) -> None:
    bench.add(spec("a"))
    claim = Claim(
        task_id="a",
        generation=2,
        token_hash="hash",
        agent="w1",
        granted_at=START + MOMENT,
        until=START + 7 * MOMENT,
        ttl_s=0.1 + 0.2,
        rule=Recovery.MANUAL,
        instance_id="i1",
        session=4,
        pushed=True,
        acknowledged=False,
        request_id="r1",
        epoch=3,
        lost_epoch=2,
        ended=ClaimEnd.UNKNOWN,
        ended_at=START + 5 * MOMENT,
    )
    changes: dict[str, object] = {
        "state": TaskState.UNKNOWN,
        "revision": 9,
        "generation": 3,
        "run": 2,
        "attempts": 1,
        "losses": 2,
        "interruptions": 3,
        "updated_at": START + 8 * MOMENT,
        "not_before": START + 9 * MOMENT,
        "started_at": START + 10 * MOMENT,
        "cancel_requested": True,
        "claim": claim,
        "subjects": ("charge", "attempt"),
        "ending": Ending("failed", error=ErrorInfo("Boom", "it broke", "line 1\nline 2", retry=False)),
        "result": [1, {"a": None}],
        "error": ErrorInfo("Boom", "before"),
    }
    saved = bench.change("a", lambda task: msgspec.structs.replace(task, **changes))
    assert bench.load("a") == saved
    assert bench.look(lambda tx: tx.board.claims(["a"])) == {"a": [claim]}


def test_a_settled_task_keeps_its_result(bench: Bench) -> None:
    """C018: nothing of it is lost, not even a result that looks like nothing."""
    bench.add(spec("a"), spec("b"))
    bench.claim("a", "b")
    done = bench.change("a", lambda task: task.after(TaskStep.SUCCEED, START, result={}))
    none = bench.change("b", lambda task: task.after(TaskStep.SUCCEED, START, result=None))
    assert (bench.load("a"), bench.load("b")) == (done, none)
    assert bench.load("a").result == {}


def test_what_does_not_exist_is_left_out(bench: Bench) -> None:
    bench.add(spec("a"))
    assert list(bench.do(lambda tx: tx.board.load(["x", "a", "a"]))) == ["a"]
    assert bench.do(lambda tx: tx.board.load([])) == {}
    assert bench.do(lambda tx: tx.board.claims(["a", "x"])) == {}


def test_an_id_is_added_once(bench: Bench) -> None:
    """B25: the second is refused as a whole, whoever checked before."""
    bench.add(spec("a"))
    with pytest.raises(InvariantBroken, match="UNIQUE"):
        bench.add(spec("b"), spec("a"))
    assert list(bench.do(lambda tx: tx.board.load(["a", "b"]))) == ["a"]
    assert bench.look(lambda tx: tx.upkeep.counts())["open"] == 1


def test_a_task_can_be_saved_in_the_transaction_that_added_it(bench: Bench) -> None:
    def step(tx: Transaction) -> Task:
        new = new_task(spec("a"), tx.now())
        tx.board.add([new])
        cancelled = new.task.after(TaskStep.CANCEL, tx.now())
        tx.board.save([cancelled])
        tx.board.save([cancelled.after(TaskStep.REOPEN, tx.now())])
        return cancelled

    bench.do(step)
    assert bench.load("a").state is TaskState.OPEN
    assert bench.load("a").revision == 3


def test_a_task_that_was_not_loaded_is_not_saved(bench: Bench) -> None:
    """C011: without a revision to guard by, nothing is written."""
    bench.add(spec("a"))
    task = bench.load("a")
    with pytest.raises(InvariantBroken, match="without having been loaded"):
        bench.do(lambda tx: tx.board.save([task.changed(START)]))


def test_an_older_revision_is_not_saved_over_a_newer_one(bench: Bench) -> None:
    bench.add(spec("a"))
    before = bench.load("a")
    bench.change("a", lambda task: task.changed(START))

    def step(tx: Transaction) -> None:
        tx.board.load(["a"])
        tx.board.save([before])

    with pytest.raises(InvariantBroken, match="without having been loaded"):
        bench.do(step)


def test_two_changes_of_one_revision_do_not_both_count(bench: Bench) -> None:
    """C011: the statement's own guard, should a caller save the same task twice at once."""
    bench.add(spec("a"))

    def step(tx: Transaction) -> None:
        task = tx.board.load(["a"])["a"]
        tx.board.save([task.changed(START), task.changed(START)])

    with pytest.raises(InvariantBroken, match="between load and save"):
        bench.do(step)
    assert bench.load("a").revision == 1


def test_an_operation_that_raises_leaves_no_trace(bench: Bench) -> None:
    bench.add(spec("a"))

    def step(tx: Transaction) -> None:
        task = tx.board.load(["a"])["a"]
        tx.board.save([task.after(TaskStep.CANCEL, START)])
        raise Taken("somebody else has it")

    with pytest.raises(Taken):
        bench.do(step)
    assert bench.load("a").state is TaskState.OPEN
    assert bench.look(lambda tx: tx.upkeep.counts())["cancelled"] == 0


def test_a_takeover_ends_the_claim_before_it(bench: Bench) -> None:
    """C013: one claim is live at a time, and both are in the history."""
    bench.add(spec("a"))
    bench.claim("a")
    bench.clock.advance(31.0)
    bench.claim("a", agent="w2")
    first, second = bench.look(lambda tx: tx.board.claims(["a"]))["a"]
    assert (first.generation, first.ended, first.ended_at) == (1, ClaimEnd.TAKEN_OVER, second.granted_at)
    assert (second.generation, second.agent, second.ended) == (2, "w2", None)
    assert bench.load("a").claim == second


def test_a_claim_that_had_ended_keeps_its_end(bench: Bench) -> None:
    bench.add(spec("a"))
    bench.claim("a")
    given = bench.change("a", lambda task: ended(task, TaskStep.GIVE_BACK, ClaimEnd.HANDED_BACK))
    assert bench.load("a") == given
    bench.claim("a", agent="w2")
    first, _ = bench.look(lambda tx: tx.board.claims(["a"]))["a"]
    assert first == given.claim


def test_a_generation_raised_without_a_grant_keeps_the_newest_claim(bench: Bench) -> None:
    """C119: after a verdict every earlier token is older."""
    bench.add(spec("a"))
    bench.claim("a")
    assert bench.do(lambda tx: tx.board.proofs([presented("a")])) == {
        presented("a"): Proof(Standing.NEWEST, 1)
    }
    bench.change("a", lambda task: task.changed(START, generation=task.generation + 1))
    assert bench.do(lambda tx: tx.board.proofs([presented("a")])) == {
        presented("a"): Proof(Standing.OLDER, 1)
    }
    claim = bench.load("a").claim
    assert claim is not None
    assert claim.generation == 1


def test_a_token_is_worth_what_it_was_minted_for(bench: Bench) -> None:
    """C011 C118: for that task and that generation, and for nothing else."""
    bench.add(spec("a"), spec("b"))
    bench.claim("a", "b")
    bench.claim("a", agent="w2")
    stolen = msgspec.structs.replace(presented("a", 2), task_id="b")
    asked = [presented("a", 2), presented("a", 1), presented("b"), stolen, presented("nobody")]
    assert bench.look(lambda tx: tx.board.proofs(asked)) == {
        presented("a", 2): Proof(Standing.NEWEST, 2),
        presented("a", 1): Proof(Standing.OLDER, 1),
        presented("b"): Proof(Standing.NEWEST, 1),
        stolen: Proof(Standing.UNMINTED, 0),
        presented("nobody"): Proof(Standing.UNMINTED, 0),
    }
    assert bench.look(lambda tx: tx.board.proofs([])) == {}


def until(bench: Bench, id_: str) -> datetime:
    claim = bench.load(id_).claim
    assert claim is not None
    return claim.until


def test_a_renewal_counts_from_the_stores_now(bench: Bench) -> None:
    """C019 C021: to now + ttl, not from the end before; also a lease that has run out and nobody took."""
    bench.add(spec("a"), spec("b"))
    bench.claim("a", "b")
    bench.clock.advance(50.0)
    held = bench.do(lambda tx: tx.board.renew([renewal("a"), renewal("b", ttl_s=0.1 + 0.2)]))
    assert held["a"] == Renewed(after(START, 80.0), cancel_requested=False)
    assert held["b"].until == after(START, 50.3)
    assert (until(bench, "a"), until(bench, "b")) == (held["a"].until, held["b"].until)
    assert bench.load("a").revision == 2  # A renewal raises none


def test_a_renewal_says_that_a_cancel_was_asked_for(bench: Bench) -> None:
    bench.add(spec("a"))
    bench.claim("a")
    bench.change("a", lambda task: task.changed(START, cancel_requested=True))
    assert bench.do(lambda tx: tx.board.renew([renewal("a")]))["a"].cancel_requested


def test_a_renewal_with_an_older_token_changes_nothing(bench: Bench) -> None:
    """C019 C022: each lease for itself."""
    bench.add(spec("a"), spec("b"))
    bench.claim("a", "b")
    bench.claim("a", agent="w2")
    before = until(bench, "a")
    bench.clock.advance(1.0)
    wishes = [renewal("a", 1), renewal("b"), renewal("nobody")]
    assert list(bench.do(lambda tx: tx.board.renew(wishes))) == ["b"]
    assert until(bench, "a") == before
    assert bench.do(lambda tx: tx.board.renew([])) == {}


@pytest.mark.parametrize(
    ("step", "how", "held"),
    [
        (TaskStep.SUCCEED, ClaimEnd.SUCCEEDED, False),
        (TaskStep.GIVE_BACK, ClaimEnd.HANDED_BACK, False),
        (TaskStep.DOUBT, ClaimEnd.UNKNOWN, True),
    ],
)
def test_a_lease_is_held_while_the_task_is_claimed_or_in_doubt(
    bench: Bench, step: TaskStep, how: ClaimEnd, held: bool
) -> None:
    """C019: an unknown task's holder is answered held until a verdict; a settled one's is lost."""
    bench.add(spec("a"))
    bench.claim("a")
    bench.change("a", lambda task: ended(task, step, how, subjects=("attempt",)))
    assert ("a" in bench.do(lambda tx: tx.board.renew([renewal("a")]))) is held
    bench.change("a", lambda task: task.changed(START, generation=task.generation + 1))
    assert bench.do(lambda tx: tx.board.renew([renewal("a")])) == {}


def test_a_save_keeps_a_renewal_of_the_same_transaction(bench: Bench) -> None:
    """D16: a witness changes the task and renews its lease, in whatever order."""
    bench.add(spec("a"))
    bench.claim("a")
    bench.clock.advance(5.0)

    def step(tx: Transaction) -> None:
        task = tx.board.load(["a"])["a"]
        tx.board.renew([renewal("a")])
        assert task.claim is not None
        heard = msgspec.structs.replace(task.claim, epoch=2)
        tx.board.save([task.changed(tx.now(), claim=heard)])

    bench.do(step)
    claim = bench.load("a").claim
    assert claim is not None
    assert (claim.epoch, claim.until) == (2, after(START, 35.0))


def test_a_decision_may_move_a_lease(bench: Bench) -> None:
    """D13: an acknowledgement is the claim's first renewal; it raises no revision."""
    bench.add(spec("a"))
    bench.claim("a", pushed=True)

    def acknowledge(task: Task) -> Task:
        assert task.claim is not None
        claim = msgspec.structs.replace(task.claim, acknowledged=True, session=2, until=after(START, 99.0))
        return msgspec.structs.replace(task, claim=claim)

    saved = bench.change("a", acknowledge)
    assert bench.load("a") == saved


def test_progress_is_kept_by_its_number(bench: Bench) -> None:
    """C076: an older one, or one without a number, changes nothing; a newer claim begins anew."""
    bench.add(spec("a"))
    bench.claim("a")
    newest = Progress(stage="scale", percent=40.0, completed=12, at=START)
    older = Progress(stage="load")

    def renew(progress: Progress | None, number: int) -> dict[str, Progress]:
        wish = renewal("a", progress=progress, progress_number=number)
        bench.do(lambda tx: tx.board.renew([wish]))
        return bench.look(lambda tx: tx.upkeep.progress(["a", "nobody"]))

    assert renew(None, 0) == {}
    assert renew(newest, 2) == {"a": newest}
    assert renew(older, 2) == {"a": newest}
    assert renew(older, 1) == {"a": newest}
    assert renew(None, 0) == {"a": newest}
    assert renew(older, 3) == {"a": older}
    bench.claim("a", agent="w2")
    assert bench.look(lambda tx: tx.upkeep.progress(["a"])) == {}


def test_states_are_counted_with_every_change(bench: Bench) -> None:
    bench.add(*(spec(f"t{number}") for number in range(5)))
    bench.add(spec("b"), state=TaskState.BLOCKED)
    bench.claim("t0", "t1")
    bench.change("t1", lambda task: task.after(TaskStep.SUCCEED, START))
    bench.change("t2", lambda task: task.after(TaskStep.CANCEL, START))
    counts = bench.look(lambda tx: tx.upkeep.counts())
    assert set(counts) == {str(state) for state in TaskState}
    assert {state: count for state, count in counts.items() if count} == {
        "open": 2,
        "blocked": 1,
        "claimed": 1,
        "done": 1,
        "cancelled": 1,
    }
