"""Effects: intent, witness, outcome; what is in doubt stays in doubt until it is settled. D16."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from tenure.core.attempt import LocalEffect, LocalEffectState
from tenure.core.capability import Recovery
from tenure.core.effect import EffectState, SettledBy, WitnessRequest
from tenure.core.errors import EffectMismatch, LeaseLost
from tenure.core.event import EventKind
from tenure.core.execution import BeginEffect, EffectStanding, EndEffect, Saved
from tenure.core.faultpoints import FaultPoint
from tenure.core.task import TaskState
from tenure.ports.executor import Execution
from tests.support.worker.bench import Bench, Worker
from tests.support.worker.builders import spec
from tests.support.worker.executor import CoroutineExecutor, Run, Unknown

pytestmark = pytest.mark.anyio

BOTH: tuple[SettledBy, ...] = ("find", "idempotent")


def wanted(name: str = "pay", *, settled_by: tuple[SettledBy, ...] = (), **changes: object) -> BeginEffect:
    values: dict[str, object] = {"digest": "d1", "params": {"cents": 5}, "settled_by": settled_by}
    return BeginEffect(name, **(values | changes))  # pyright: ignore[reportArgumentType] - a test's own words


async def started(bench: Bench, worker: Worker, task_id: str = "task-1", rule: str = "query") -> Execution:
    bench.control.submit(spec(task_id, f"wait-{rule}"))
    return await pushed(bench, worker, task_id)


async def pushed(bench: Bench, worker: Worker, task_id: str = "task-1") -> Execution:
    before = len(worker.executor.runs)
    bench.control.push(task_id)
    await worker.until(lambda: len(worker.executor.runs) > before)
    return worker.executor.runs[-1].execution


async def again(worker: Worker, attempt_id: str = "task-1.1") -> Execution:
    """Let the execution die, and return the next one."""
    before = len(worker.executor.runs)
    worker.executor.die(attempt_id)
    await worker.until(lambda: len(worker.executor.runs) > before)
    return worker.executor.runs[-1].execution


async def entry(worker: Worker, name: str = "pay") -> LocalEffect:
    ledger = await worker.local(lambda tx: tx.effects.load("task-1", 1))
    return next(found for found in ledger if found.name == name)


def asked(bench: Bench) -> list[WitnessRequest]:
    return [request for call in bench.control.called("witness") for request in call.questions]


async def test_an_effect_is_intended_witnessed_applied_and_reported(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C106, D16: in this order; the second time its saved result is returned and nobody is asked."""
    async with bench.worker(executor) as worker:
        execution = await started(bench, worker)
        go = await execution.begin_effect(wanted(settled_by=BOTH))
        assert (go.standing, go.request_id) == ("go", "task-1.1.pay")
        assert (await entry(worker)).state is LocalEffectState.INTENDED
        await execution.end_effect(EndEffect("pay", "applied", {"id": "x"}))
        known = await execution.begin_effect(wanted(settled_by=BOTH))
        assert (known.standing, known.result) == ("applied", {"id": "x"})
        await worker.until(lambda: bench.control.kinds("task-1") == [EventKind.EFFECT])
        assert bench.control.tasks["task-1"].ledger["pay"].state is EffectState.APPLIED
        assert len(asked(bench)) == 1
        points = [point for point, _ in worker.ledger.points]
        assert points.index(FaultPoint.INTENT_SAVED) < points.index(FaultPoint.WITNESS_ANSWERED)
        assert points.index(FaultPoint.WITNESS_ANSWERED) < points.index(FaultPoint.RESULT_SAVED)


@pytest.mark.parametrize("settled_by", [(), ("find",)])
async def test_go_is_saved_where_nothing_else_could_settle_a_doubt(
    bench: Bench, executor: CoroutineExecutor, settled_by: tuple[SettledBy, ...]
) -> None:
    """D16: before `apply`, so that a crash while waiting for the answer is no false unknown."""
    async with bench.worker(executor) as worker:
        execution = await started(bench, worker)
        await execution.begin_effect(wanted(settled_by=settled_by))
        assert (await entry(worker)).go_saved is (not settled_by)


async def test_the_same_name_with_other_params_is_refused(bench: Bench, executor: CoroutineExecutor) -> None:
    """C110: also while it is under way, and for a step's name."""
    async with bench.worker(executor) as worker:
        execution = await started(bench, worker)
        await execution.begin_effect(wanted())
        under_way = await execution.begin_effect(wanted())
        assert (under_way.standing, under_way.code) == ("refused", "mismatch")
        await execution.end_effect(EndEffect("pay", "applied", 1))
        other = await execution.begin_effect(wanted(digest="d2"))
        assert (other.standing, other.code) == ("refused", "mismatch")
        await execution.save_step(Saved("read", "step", 1))
        step = await execution.begin_effect(wanted("read"))
        assert step.code == "mismatch"
        with pytest.raises(EffectMismatch):
            await execution.save_step(Saved("pay", "step", 1))
        with pytest.raises(EffectMismatch):
            await execution.end_effect(EndEffect("never-begun", "applied"))


async def test_a_result_that_could_not_be_kept_is_an_error_for_ever(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """Applied, result not kept: re-entry raises the same error and never applies again."""
    async with bench.worker(executor) as worker:
        execution = await started(bench, worker)
        await execution.begin_effect(wanted())
        await execution.end_effect(EndEffect("pay", "applied", kept=False, error="too large"))
        known = await (await again(worker)).begin_effect(wanted())
        assert (known.standing, known.error) == ("applied", "too large")


async def test_a_doubt_of_an_earlier_execution_is_to_be_settled_first(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C107, C109: in doubt until `find` says absent; the permit that follows is recorded as such."""
    async with bench.worker(executor) as worker:
        execution = await started(bench, worker)
        await execution.begin_effect(wanted(settled_by=("find",)))
        execution = await again(worker)
        bench.clock.advance(7.0)
        doubt = await execution.begin_effect(wanted(settled_by=("find",)))
        assert (doubt.standing, doubt.predecessor) == ("in_doubt", "ended")
        assert doubt.age_s is None or doubt.age_s >= 7.0
        go = await execution.begin_effect(wanted(settled_by=("find",), absent=True))
        assert go.standing == "go"
        assert [request.after for request in asked(bench)] == [None, None, "absent"]
        saved = await entry(worker)
        assert (saved.state, saved.epoch) == (LocalEffectState.INTENDED, 2)


async def test_a_doubt_that_nothing_can_settle_ends_with_a_person(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C108: neither find nor idempotency, and `go` was saved: unknown, and nothing repeats it."""
    async with bench.worker(executor) as worker:
        execution = await started(bench, worker)
        await execution.begin_effect(wanted())
        executor.die("task-1.1")
        await worker.until(lambda: bench.control.task("task-1").state is TaskState.UNKNOWN)
        assert bench.control.task("task-1").subjects == ("pay",)
        assert len(executor.runs) == 1


async def test_an_intent_that_was_never_acted_upon_is_no_doubt(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """D16: killed while waiting for the witness's answer; the next execution may act."""
    async with bench.worker(executor) as worker:
        execution = await started(bench, worker)
        bench.control.lost["witness"] = 1
        waiting = asyncio.ensure_future(execution.begin_effect(wanted()))
        await worker.until(lambda: bench.control.tasks["task-1"].ledger)
        waiting.cancel()
        execution = await again(worker)
        begun = asyncio.ensure_future(execution.begin_effect(wanted()))
        await worker.pass_time(3)
        assert begun.result().standing == "go"
        assert bench.control.tasks["task-1"].ledger["pay"].after == "absent"


async def test_a_doubt_of_another_worker_is_never_taken_for_an_absence(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C109, C121: this worker's own record of not having acted says nothing of what others did since."""
    async with bench.worker(executor) as worker:
        held = (await started(bench, worker), bench.control.tasks["task-1"])[1]
        execution = worker.executor.runs[-1].execution
        await execution.begin_effect(wanted())
        await execution.end_effect(EndEffect("pay", "absent"))
        await worker.settle()
        bench.control.take_away("task-1")  # Somebody else gets a permit, and vanishes
        held.ledger["pay"] = msgspec.structs.replace(
            held.ledger["pay"], state=EffectState.INTENDED, generation=2, epoch=1
        )
        await worker.pass_time(11)
        execution = await pushed(bench, worker)
        doubt = await execution.begin_effect(wanted())
        assert (doubt.standing, doubt.predecessor) == ("in_doubt", "may_still_act")
        assert "absent" not in [request.after for request in asked(bench)]
        saved = await entry(worker)
        assert saved.state is LocalEffectState.IN_DOUBT
        asked_again = await execution.begin_effect(wanted())
        assert asked_again.standing == "in_doubt"
        assert len(asked(bench)) == 3  # Asked each time, since it may have ended meanwhile


async def test_what_others_applied_is_returned_and_kept(bench: Bench, executor: CoroutineExecutor) -> None:
    """C042: the control plane's ledger knows what an earlier attempt elsewhere did."""
    async with bench.worker(executor) as worker:
        bench.control.submit(spec(capability="wait-query"))
        held = bench.control.tasks["task-1"]
        execution = await pushed(bench, worker)
        await execution.begin_effect(wanted())
        held.ledger["pay"] = msgspec.structs.replace(held.ledger["pay"], state=EffectState.APPLIED, result=7)
        bench.control.push("task-1")
        await worker.until(lambda: executor.started("task-1.2"))
        execution = executor.runs[-1].execution
        for _ in range(2):
            known = await execution.begin_effect(wanted())
            assert (known.standing, known.result) == ("applied", 7)
        assert len(asked(bench)) == 2
        assert (await entry(worker)).result == 7


async def test_own_doubt_is_settled_here_and_asked_about_only_as_absent(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """Recovery, Effects 3 and 4: after an `apply` that raised, an idempotent one is applied again."""
    async with bench.worker(executor) as worker:
        execution = await started(bench, worker)
        await execution.begin_effect(wanted(settled_by=("idempotent",)))
        await execution.end_effect(EndEffect("pay", "in_doubt"))
        same = await execution.begin_effect(wanted(settled_by=("idempotent",)))
        assert (same.standing, same.predecessor) == ("in_doubt", "ended")
        once_more = await execution.begin_effect(wanted(settled_by=("idempotent",), absent=True))
        assert once_more.standing == "go"
        await execution.end_effect(EndEffect("pay", "applied", 1))
        assert (await entry(worker)).state is LocalEffectState.APPLIED


async def test_an_effect_without_witness_asks_nobody(bench: Bench, executor: CoroutineExecutor) -> None:
    """D16: only idempotent ones; a doubt about an earlier one is settled by the executor."""
    async with bench.worker(executor) as worker:
        execution = await started(bench, worker)
        plain = wanted(settled_by=("idempotent",), witness=False)
        assert (await execution.begin_effect(plain)).standing == "go"
        execution = await again(worker)
        assert (await execution.begin_effect(plain)).standing == "in_doubt"
        absent = wanted(settled_by=("idempotent",), witness=False, absent=True)
        assert (await execution.begin_effect(absent)).standing == "go"
        await execution.end_effect(EndEffect("pay", "applied", 1))
        assert asked(bench) == []
        await worker.until(lambda: EventKind.EFFECT in bench.control.kinds("task-1"))


async def test_a_lost_lease_refuses_and_stops(bench: Bench, executor: CoroutineExecutor) -> None:
    """C058: no effect begins, and the code is told to stop."""
    async with bench.worker(executor) as worker:
        execution = await started(bench, worker)
        bench.control.take_away("task-1")
        refused = await execution.begin_effect(wanted())
        assert (refused.standing, refused.code) == ("refused", "lease_lost")
        await worker.until(lambda: bench.control.kinds("task-1") == [EventKind.SUPERSEDED])


async def test_a_cancel_refuses_and_is_saved(bench: Bench, executor: CoroutineExecutor) -> None:
    """C073: the witness is a way to hear of it."""
    async with bench.worker(executor) as worker:
        execution = await started(bench, worker)
        bench.control.cancel("task-1")
        refused = await execution.begin_effect(wanted())
        assert (refused.standing, refused.code) == ("refused", "cancelled")
        executor.runs[0].told.set()  # The code stops at once, before the cancel is saved
        await worker.until(lambda: bench.control.task("task-1").state is TaskState.CANCELLED)
        assert bench.control.kinds("task-1") == [EventKind.CANCELLED]


async def test_a_witness_is_waited_for_while_nobody_answers(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """D14: no effect begins behind a partition, and the attempt does not fail of it."""
    async with bench.worker(executor) as worker:
        execution = await started(bench, worker)
        bench.control.is_down = True
        begun = asyncio.ensure_future(execution.begin_effect(wanted()))
        await worker.pass_time(100, step_s=5)
        assert not begun.done()
        bench.control.is_down = False
        await worker.pass_time(31, step_s=1)
        assert begun.result().standing == "go"


async def test_a_go_that_came_after_the_deadline_is_asked_for_again(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """D14: the deadline counts from before the question was sent."""
    async with bench.worker(executor, ttl_s=3_600.0, call_s=600.0) as worker:
        execution = await started(bench, worker)
        held = bench.control.held["witness"] = asyncio.Event()
        bench.control.held["heartbeat"] = asyncio.Event()
        begun = asyncio.ensure_future(execution.begin_effect(wanted()))
        await worker.until(lambda: asked(bench))
        bench.clock.advance(31.0)
        held.set()
        await worker.until(begun.done)
        assert begun.result().standing == "go"
        assert len(asked(bench)) == 2


async def test_whoever_waits_for_a_witness_is_let_go_by_a_stop(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """A cancel reaches also code that waits for an answer that does not come."""
    async with bench.worker(executor) as worker:
        execution = await started(bench, worker)
        bench.control.held["witness"] = asyncio.Event()
        begun = asyncio.ensure_future(execution.begin_effect(wanted()))
        await worker.until(lambda: asked(bench))
        bench.control.cancel("task-1")
        await worker.pass_time(10)
        assert begun.result().code == "cancelled"


async def test_witnesses_go_in_groups(bench: Bench, executor: CoroutineExecutor) -> None:
    """One group in flight; the rest is the next group."""

    async def act(run: Run) -> object:
        go = await run.execution.begin_effect(wanted(settled_by=BOTH))
        await run.execution.end_effect(EndEffect("pay", "applied", 1))
        return go.standing

    executor.add("act", act, Recovery.QUERY)
    async with bench.worker(executor, slots=60) as worker:
        # The first group is held until everybody has asked: however slow the disk, the rest is one more.
        bench.control.held["witness"] = answered = asyncio.Event()
        bench.control.submit(*(spec(f"t{n}", "act") for n in range(60)))
        bench.control.push(*(f"t{n}" for n in range(60)))
        await worker.until(lambda: len(worker.ledger.reached(FaultPoint.INTENT_SAVED)) == 60)
        answered.set()
        await worker.until(
            lambda: all(bench.control.task(f"t{n}").state is TaskState.DONE for n in range(60))
        )
        assert len(bench.control.called("witness")) <= 2
        assert len(asked(bench)) == 60


async def test_an_older_execution_is_refused(bench: Bench, executor: CoroutineExecutor) -> None:
    """C071: whatever it still has to say, it does not overwrite the recovered run."""
    async with bench.worker(executor) as worker:
        older = await started(bench, worker)
        await older.begin_effect(wanted(settled_by=BOTH))
        newer = await again(worker)
        ways: list[Callable[[], Awaitable[object]]] = [
            lambda: older.begin_effect(wanted("other")),
            lambda: older.end_effect(EndEffect("pay", "applied", 1)),
            lambda: older.save_step(Saved("read", "step", 1)),
            lambda: older.checkpoint(1, portable=True),
        ]
        for way in ways:
            with pytest.raises(LeaseLost):
                await way()
        assert (await newer.begin_effect(wanted(settled_by=BOTH))).standing == "in_doubt"


async def test_an_older_generations_intent_is_a_doubt_of_the_new_execution(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C071, C121: epochs go on across generations of a task here, so it is not taken for its own."""
    async with bench.worker(executor) as worker:
        execution = await started(bench, worker)
        await execution.begin_effect(wanted(settled_by=("find",)))
        execution = await pushed(bench, worker)
        doubt = await execution.begin_effect(wanted(settled_by=("find",)))
        assert (doubt.standing, doubt.predecessor) == ("in_doubt", "ended")
        go = await execution.begin_effect(wanted(settled_by=("find",), absent=True))
        assert go.standing == "go"
        saved = await entry(worker)
        assert (saved.generation, saved.epoch) == (2, 2)


async def test_steps_are_saved_and_handed_over(bench: Bench, executor: CoroutineExecutor) -> None:
    """A step's result is there for re-entry, and for a takeover by another worker."""
    async with bench.worker(executor) as worker:
        execution = await started(bench, worker, rule="resume")
        assert await execution.find_step("read") is None
        await execution.save_step(Saved("read", "step", {"rows": 3}))
        assert await execution.find_step("read") == Saved("read", "step", {"rows": 3})
        execution = await again(worker)
        assert await execution.find_step("read") == Saved("read", "step", {"rows": 3})
        await worker.until(lambda: EventKind.STEP in bench.control.kinds("task-1"))
    fresh = Bench(bench.folder.with_name("elsewhere"))
    fresh.clock, fresh.control = bench.clock, bench.control
    bench.control.known_incarnation = None
    async with fresh.worker(executor, worker_id="worker-2") as worker:
        execution = await pushed(fresh, worker)
        assert await execution.find_step("read") == Saved("read", "step", {"rows": 3})


async def test_an_attempt_that_ends_unknown_names_its_effects(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C072, C119."""

    async def gives_up(run: Run) -> object:
        await run.execution.begin_effect(wanted())
        await run.execution.end_effect(EndEffect("pay", "in_doubt"))
        raise Unknown("pay")

    executor.add("gives-up", gives_up, Recovery.QUERY)
    async with bench.worker(executor) as worker:
        bench.control.submit(spec(capability="gives-up"))
        bench.control.push("task-1")
        await worker.until(lambda: bench.control.task("task-1").state is TaskState.UNKNOWN)
        assert bench.control.task("task-1").subjects == ("pay",)
        assert bench.control.kinds("task-1") == [EventKind.EFFECT, EventKind.UNKNOWN]


def test_a_standing_says_nothing_by_default() -> None:
    """The executor relies on what is said only."""
    plain = EffectStanding("in_doubt", "r")
    assert (plain.predecessor, plain.age_s) == (None, None)
