"""Cancels, limits, lost leases and deaths: whatever keeps an attempt from going on."""

import asyncio

import pytest

from tenure.core.attempt import AttemptState
from tenure.core.capability import Recovery
from tenure.core.checkpoint import Progress
from tenure.core.command import CommandKind
from tenure.core.event import EventKind
from tenure.core.task import TaskSpec, TaskState
from tests.support.worker.bench import Bench, Ledger, Worker
from tests.support.worker.builders import spec
from tests.support.worker.executor import CoroutineExecutor, Run

pytestmark = pytest.mark.anyio


def waiting(task_id: str = "task-1", rule: str = "recompute", **changes: object) -> TaskSpec:
    return spec(task_id, f"wait-{rule}", **changes)


async def deaf(_: Run) -> object:
    """Ignore every word."""
    await asyncio.Event().wait()
    return None


async def running(bench: Bench, worker: Worker, *specs: TaskSpec) -> None:
    """Have tasks executed."""
    bench.control.submit(*specs)
    bench.control.push(*(s.id for s in specs if s.id is not None))
    await worker.until(lambda: len(worker.executor.alive) == len(specs))
    await worker.settle()


async def test_a_cancel_command_works_before_the_start(bench: Bench, executor: CoroutineExecutor) -> None:
    """C073: what waits in the backlog ends as cancelled, and its code is never called."""
    async with bench.worker(executor, slots=1) as worker:
        await running(bench, worker, waiting("busy"))
        bench.control.submit(waiting("t1"))
        bench.control.push("t1")
        await worker.settle()
        bench.control.cancel("t1")
        bench.control.order("cancel-1", CommandKind.CANCEL, "t1")
        await worker.until(lambda: bench.control.task("t1").state is TaskState.CANCELLED)
        assert bench.control.kinds("t1") == [EventKind.CANCELLED]
        assert executor.started("t1.1") == []


async def test_a_cancel_stops_what_runs(bench: Bench, executor: CoroutineExecutor) -> None:
    """C073: by command; repeated, it is the same cancel."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, waiting())
        bench.control.cancel("task-1")
        bench.control.order("cancel-1", CommandKind.CANCEL, "task-1")
        bench.control.order("cancel-2", CommandKind.CANCEL, "task-1")
        await worker.until(lambda: bench.control.task("task-1").state is TaskState.CANCELLED)
        assert bench.control.kinds("task-1") == [EventKind.CANCELLED]


async def test_a_cancel_comes_with_a_heartbeat_too(bench: Bench, executor: CoroutineExecutor) -> None:
    """C073: whichever way it is heard of, it is saved first."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, waiting())
        bench.control.cancel("task-1")
        await worker.pass_time(10)
        assert bench.control.task("task-1").state is TaskState.CANCELLED
        attempt = await worker.local(lambda tx: tx.attempts.load(["task-1.1"])["task-1.1"])
        assert attempt.cancel_requested


async def test_a_cancel_after_completion_is_a_recorded_no_op(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C071, C073."""
    async with bench.worker(executor) as worker:
        bench.control.submit(spec(input={"a": 1}))
        bench.control.push("task-1")
        await worker.until(lambda: bench.control.task("task-1").state is TaskState.DONE)
        await worker.settle()
        bench.control.order("cancel-1", CommandKind.CANCEL, "task-1")
        await worker.until(lambda: bench.control.sent["cancel-1"].state == "acknowledged")
        assert (await worker.local(lambda tx: tx.inbox.seen(["cancel-1"])))["cancel-1"].accepted
        attempt = await worker.local(lambda tx: tx.attempts.load(["task-1.1"])["task-1.1"])
        assert (attempt.state, attempt.cancel_requested) == (AttemptState.SUCCEEDED, False)


async def test_a_success_after_a_cancel_is_a_success(bench: Bench, executor: CoroutineExecutor) -> None:
    """C055, C073: a cancel that loses the race keeps the result."""

    async def finishes(run: Run) -> object:
        await run.told.wait()
        return "done after all"

    executor.add("finishes", finishes)
    async with bench.worker(executor) as worker:
        await running(bench, worker, spec(capability="finishes"))
        bench.control.cancel("task-1")
        bench.control.order("cancel-1", CommandKind.CANCEL, "task-1")
        await worker.until(lambda: bench.control.task("task-1").state is TaskState.DONE)
        assert bench.control.task("task-1").result == "done after all"


async def test_code_that_ignores_a_cancel_is_killed(bench: Bench, executor: CoroutineExecutor) -> None:
    """B10: ask, then kill; nothing was in doubt, so it is cancelled and no loss is told."""
    executor.add("deaf", deaf)
    async with bench.worker(executor) as worker:
        await running(bench, worker, spec(capability="deaf"))
        bench.control.cancel("task-1")
        bench.control.order("cancel-1", CommandKind.CANCEL, "task-1")
        await worker.pass_time(9)
        assert executor.alive
        await worker.pass_time(2)
        assert bench.control.task("task-1").state is TaskState.CANCELLED
        assert bench.control.kinds("task-1") == [EventKind.CANCELLED]


@pytest.mark.parametrize(("rule", "state"), [("recompute", TaskState.OPEN), ("manual", TaskState.UNKNOWN)])
async def test_a_run_longer_than_its_timeout_is_a_failed_try(
    bench: Bench, executor: CoroutineExecutor, rule: str, state: TaskState
) -> None:
    """B10: of type `timeout`; under MANUAL a killed run is unknown."""
    executor.add("deaf", deaf, Recovery(rule))
    async with bench.worker(executor) as worker:
        await running(bench, worker, spec(capability="deaf", timeout_s=60.0))
        await worker.pass_time(59, step_s=5)
        assert executor.alive
        await worker.pass_time(12, step_s=1)
        assert bench.control.task("task-1").state is state
        error = bench.control.task("task-1").error
        assert error is None if rule == "manual" else (error is not None and error.type == "timeout")


async def test_silence_is_a_failed_try_and_a_sign_of_life_is_not(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """B10: progress puts the moment off; the code that hangs does not live for ever."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, waiting(silence_s=5.0))
        run = executor.runs[0]
        for percent in range(4):
            await worker.pass_time(4)
            run.execution.progress(Progress(percent=float(percent)))
        assert executor.alive
        await worker.pass_time(6)
        error = bench.control.task("task-1").error
        assert error is not None
        assert error.type == "silent"


async def test_a_lost_lease_stops_the_code_and_overrules_its_result(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C026, C027: the result is still reported, as superseded, and the lease is renewed no more."""

    async def finishes(run: Run) -> object:
        await run.told.wait()
        return 42

    executor.add("finishes", finishes)
    async with bench.worker(executor) as worker:
        await running(bench, worker, spec(capability="finishes"))
        bench.control.take_away("task-1")
        await worker.pass_time(11)
        assert bench.control.kinds("task-1") == [EventKind.SUPERSEDED]
        event = next(iter(bench.control.events.values()))
        assert (event.body["outcome"], event.body["result"]) == ("succeeded", 42)
        beats = len(bench.control.called("heartbeat"))
        await worker.pass_time(30)
        later = bench.control.called("heartbeat")[beats:]
        assert later
        assert all(call.leases == [] for call in later)


async def test_a_lease_that_ended_with_its_task_is_no_lost_one(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """The final event was taken and its answer is late: a renewal is refused, and that alarms nobody."""
    bench.control.lost["report"] = 1_000
    ledger = Ledger()
    async with bench.worker(executor, ledger=ledger) as worker:
        bench.control.submit(spec())
        bench.control.push("task-1")
        await worker.until(lambda: bench.control.task("task-1").state is TaskState.DONE)
        await worker.pass_time(30)
        assert "lease.lost" not in {name for name, _ in ledger.told}


async def test_a_task_is_executed_once_here_at_any_time(bench: Bench, executor: CoroutineExecutor) -> None:
    """C121, D25: generation 2 waits until generation 1, which ignores every word, is killed."""
    executor.add("deaf", deaf)
    async with bench.worker(executor, slots=4) as worker:
        await running(bench, worker, spec(capability="deaf"))
        bench.control.push("task-1")
        await worker.until(lambda: executor.started("task-1.2"))
        await worker.settle()
        assert executor.most_alive == 1
        assert list(executor.alive) == ["task-1.2"]
        assert bench.control.kinds("task-1") == [EventKind.SUPERSEDED]
        assert executor.started("task-1.2")[0].work.epoch == 2


async def test_an_older_start_that_comes_late_is_superseded(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C121: generation 1 delivered after generation 2 is not waited for, not started and not forgotten."""
    async with bench.worker(executor, slots=1) as worker:
        bench.control.submit(waiting())
        stream, bench.control._stream = bench.control._stream, None
        bench.control.push("task-1")  # Not delivered
        bench.control._stream = stream
        bench.control.push("task-1")
        await worker.until(lambda: executor.started("task-1.2"))
        bench.control.offer(bench.control.sent["task-1.1"].command)
        await worker.until(lambda: bench.control.sent["task-1.1"].state == "void")
        await worker.settle()
        assert executor.started("task-1.1") == []
        assert list(executor.alive) == ["task-1.2"]
        unfinished = await worker.local(lambda tx: tx.attempts.unfinished())
        assert [attempt.id for attempt in unfinished] == ["task-1.2"]


@pytest.mark.parametrize("rule", ["recompute", "resume", "query"])
async def test_a_death_is_told_and_recovered_from_by_the_rule(
    bench: Bench, executor: CoroutineExecutor, rule: str
) -> None:
    """C091, C122: the same attempt goes on one epoch later, in a process of its own, from its checkpoint."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, waiting(rule=rule))
        await executor.runs[0].execution.checkpoint({"n": 7}, portable=True)
        executor.die("task-1.1")
        await worker.until(lambda: len(executor.runs) == 2)
        await worker.settle()
        work = executor.runs[1].work
        assert (work.epoch, work.isolation, work.checkpoint, work.losses) == (2, "process", {"n": 7}, 1)
        assert bench.control.kinds("task-1") == [EventKind.CHECKPOINT, EventKind.LOST]
        assert bench.control.task("task-1").losses == 1


async def test_a_death_under_manual_waits_for_a_person(bench: Bench, executor: CoroutineExecutor) -> None:
    """C072, C091: unknown, and nothing restarts it."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, waiting(rule="manual"))
        executor.die("task-1.1")
        await worker.until(lambda: bench.control.task("task-1").state is TaskState.UNKNOWN)
        assert len(executor.runs) == 1
        assert bench.control.task("task-1").subjects == ("attempt",)


async def test_who_shared_a_process_that_died_is_tried_alone_before_it_counts(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C122: only one that dies alone counts a loss."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, waiting("t1"), waiting("t2"))
        executor.die("t1.1", alone=False)
        executor.die("t2.1", alone=False)
        await worker.until(lambda: len(executor.runs) == 4)
        await worker.settle()
        assert bench.control.kinds("t1") == []
        assert {run.work.isolation for run in executor.runs[2:]} == {"process"}
        executor.die("t1.1", alone=True, cause="out_of_memory")
        await worker.until(lambda: bench.control.task("t1").losses == 1)
        event = next(iter(bench.control.events.values()))
        assert event.body == {"cause": "out_of_memory", "signal": 9}


async def test_a_task_that_kills_its_executor_again_and_again_ends(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """It does not walk through the fleet: after `max_losses` deaths it has failed, here and there."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, waiting(max_losses=3))
        for deaths in range(3):
            await worker.until(lambda deaths=deaths: len(executor.runs) == deaths + 1 and executor.alive)
            executor.die("task-1.1")
        await worker.until(lambda: bench.control.task("task-1").state is TaskState.FAILED)
        await worker.settle()
        assert len(executor.runs) == 3
        assert bench.control.task("task-1").losses == 3
        assert await worker.local(lambda tx: tx.attempts.unfinished()) == []


async def test_a_host_that_cannot_execute_gives_work_back_and_stops_taking(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """B37: tasks return unharmed, the worker says why, and tries again after a while."""
    async with bench.worker(executor, slots=1) as worker:
        executor.fault = PermissionError("the work directory is read-only")
        bench.control.submit(*(waiting(f"t{n}") for n in range(3)))
        for number in range(3):
            bench.control.push(f"t{number}")
            await worker.until(lambda n=number: bench.control.task(f"t{n}").state is TaskState.OPEN)
        assert all(bench.control.task(f"t{n}").attempts == 0 for n in range(3))
        assert worker.ledger.names().count("worker.sickened") == 1
        await worker.pass_time(11)
        room = bench.control.called("heartbeat")[-1].room
        assert room == 0
        executor.fault = None
        await worker.pass_time(30)
        bench.control.push("t0")
        await worker.until(lambda: executor.alive)


async def test_manual_work_is_given_up_before_its_lease_could_be_judged(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """D14: cancelled a grace before the local deadline, killed at it, unknown; other rules go on."""
    executor.add("deaf", deaf, Recovery.MANUAL)
    async with bench.worker(executor) as worker:
        await running(bench, worker, spec("t1", "deaf"), waiting("t2"))
        bench.control.is_down = True
        await worker.pass_time(31)
        assert executor.started("t1.1")[0].told.is_set()
        assert list(executor.alive) == ["t2.1"]
        bench.control.is_down = False
        await worker.pass_time(31)
        assert bench.control.task("t1").state is TaskState.UNKNOWN
        assert list(executor.alive) == ["t2.1"]
