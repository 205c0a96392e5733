"""Start-up: what an earlier process left is decided by evidence, each decision once. C091 to C095."""

import asyncio

import pytest

from tenure.core.capability import Recovery
from tenure.core.command import CommandKind
from tenure.core.event import EventKind
from tenure.core.execution import BeginEffect
from tenure.core.faultpoints import FaultPoint
from tenure.core.task import TaskState
from tenure.ports.local import ExecutorRow
from tests.support.worker.bench import Bench
from tests.support.worker.builders import spec
from tests.support.worker.executor import CoroutineExecutor, Run, add

pytestmark = pytest.mark.anyio


def fresh() -> CoroutineExecutor:
    """The executor of a new process: what waited in the old one now ends by itself."""
    made = CoroutineExecutor()
    made.add("add", add)
    for recovery in Recovery:
        made.add(f"wait-{recovery}", ends, recovery)
    return made


async def ends(run: Run) -> object:
    return {"epoch": run.work.epoch, "from": run.work.checkpoint}


async def crash_while_running(
    bench: Bench, executor: CoroutineExecutor, rule: str, *, checkpoint: object = None
) -> None:
    async with bench.worker(executor) as worker:
        bench.control.submit(spec(capability=f"wait-{rule}"))
        bench.control.push("task-1")
        await worker.until(lambda: executor.alive)
        if checkpoint is not None:
            await executor.runs[0].execution.checkpoint(checkpoint, portable=True)
        await worker.settle()
        worker.crash()


async def test_four_rules_have_four_outcomes(bench: Bench, executor: CoroutineExecutor) -> None:
    """C091, B34: recomputed, resumed from its checkpoint, re-entered, and left to a person."""
    rules = [str(recovery) for recovery in Recovery]
    async with bench.worker(executor, slots=4) as worker:
        bench.control.submit(*(spec(rule, f"wait-{rule}") for rule in rules))
        bench.control.push(*rules)
        await worker.until(lambda: len(executor.alive) == 4)
        resumed = next(run for run in executor.runs if run.work.task_id == "resume")
        await resumed.execution.checkpoint({"offset": 7}, portable=True)
        await worker.settle()
        worker.crash()
    second = fresh()
    async with bench.worker(second, slots=4) as worker:
        await worker.until(lambda: bench.control.task("manual").state is TaskState.UNKNOWN)
        for rule in ("recompute", "resume", "query"):
            await worker.until(lambda rule=rule: bench.control.task(rule).state is TaskState.DONE)
            assert bench.control.task(rule).losses == 1
        assert bench.control.task("resume").result == {"epoch": 2, "from": {"offset": 7}}
        assert bench.control.task("manual").subjects == ("attempt",)
        assert [run.work.task_id for run in second.runs].count("manual") == 0
    causes = [e.body["cause"] for e in bench.control.events.values() if e.kind is EventKind.LOST]
    assert causes == ["worker_restarted"] * 4


async def test_what_was_pending_is_acknowledged_again_and_starts_freely(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C069, D13: it was never started, so nothing is lost and nothing is recovered."""
    async with bench.worker(executor) as worker:
        bench.control.held["acknowledge"] = asyncio.Event()
        bench.control.submit(spec(input={"a": 4}))
        bench.control.push("task-1")
        await worker.until(lambda: bench.control.called("acknowledge"))
        worker.crash()
    bench.control.held.clear()
    async with bench.worker(fresh()) as worker:
        await worker.until(lambda: bench.control.task("task-1").state is TaskState.DONE)
        assert bench.control.kinds("task-1") == [EventKind.SUCCEEDED]
        order = [call.name for call in bench.control.calls if call.name in ("acknowledge", "open")]
        assert order[-2:] == ["acknowledge", "open"] or order[-3:-1] == ["acknowledge", "open"]


async def test_recovered_work_is_in_the_books_before_the_first_command(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C094, C114: capacity that recovered work uses is not given away."""
    async with bench.worker(executor, slots=1) as worker:
        bench.control.submit(*(spec(f"t{n}", "wait-recompute") for n in range(4)))
        bench.control.push("t0", "t1")
        await worker.until(lambda: executor.alive)
        await worker.settle()
        worker.crash()
    bench.control.push("t2", "t3")
    async with bench.worker(executor, slots=1) as worker:
        assert bench.control.request is not None
        assert bench.control.request.room == 2  # What is restored is not known when it registers …
        await worker.settle()
        rooms = [call.room for call in bench.control.called("acknowledge")]
        assert rooms[-1] == 0  # … but counted in everything after that
        states = {id_: bench.control.sent[f"{id_}.1"].state for id_ in ("t2", "t3")}
        assert states == {"t2": "rejected: capacity", "t3": "rejected: capacity"}


async def test_a_lost_lease_is_not_executed_again(bench: Bench, executor: CoroutineExecutor) -> None:
    """C091: what somebody else has by now is superseded, and said so."""
    await crash_while_running(bench, executor, "recompute")
    bench.control.take_away("task-1")
    second = fresh()
    async with bench.worker(second) as worker:
        await worker.settle()
        assert second.runs == []
        assert bench.control.kinds("task-1") == [EventKind.LOST, EventKind.SUPERSEDED]
        assert await worker.local(lambda tx: tx.attempts.unfinished()) == []


async def test_a_death_is_told_once_however_often_recovery_is_killed(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C095: a crash loop adds no loss and no execution."""
    await crash_while_running(bench, executor, "recompute")
    bench.control.held["heartbeat"] = (
        asyncio.Event()
    )  # So that no lease is held, and nothing is started again
    for _ in range(4):
        async with bench.worker(fresh()) as worker:
            await worker.settle()
            worker.crash()
    bench.control.held.clear()
    second = fresh()
    async with bench.worker(second) as worker:
        await worker.until(lambda: bench.control.task("task-1").state is TaskState.DONE)
        assert bench.control.kinds("task-1") == [EventKind.LOST, EventKind.SUCCEEDED]
        assert [run.work.epoch for run in second.runs] == [2]


async def test_a_changed_capability_is_never_re_entered_with_new_meaning(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C093, C113: gone, changed, or of another rule: a person decides."""
    await crash_while_running(bench, executor, "recompute")
    second = CoroutineExecutor()
    second.add("wait-recompute", ends, Recovery.RESUME)
    async with bench.worker(second) as worker:
        await worker.until(lambda: bench.control.task("task-1").state is TaskState.UNKNOWN)
        assert second.runs == []


async def test_a_capability_that_is_gone_leaves_the_decision_to_a_person(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C093: and what was only pending goes back at no cost."""
    async with bench.worker(executor, slots=1) as worker:
        bench.control.submit(spec("t1", "wait-recompute"), spec("t2", "wait-recompute"))
        bench.control.push("t1", "t2")
        await worker.until(lambda: executor.alive)
        await worker.settle()
        worker.crash()
    second = CoroutineExecutor()
    second.add("other", ends)
    async with bench.worker(second) as worker:
        await worker.until(lambda: bench.control.task("t1").state is TaskState.UNKNOWN)
        await worker.until(lambda: bench.control.task("t2").state is TaskState.OPEN)
        assert bench.control.task("t2").interruptions == 1


async def test_a_cancel_is_obeyed_across_a_restart(bench: Bench, executor: CoroutineExecutor) -> None:
    """C073: saved in one process, acted on in the next."""

    async def deaf(_: Run) -> object:
        await asyncio.Event().wait()
        return None

    executor.add("deaf", deaf)
    async with bench.worker(executor) as worker:
        bench.control.submit(spec(capability="deaf"))
        bench.control.push("task-1")
        await worker.until(lambda: executor.alive)
        bench.control.cancel("task-1")
        bench.control.order("cancel-1", CommandKind.CANCEL, "task-1")
        await worker.until(lambda: bench.control.sent["cancel-1"].state == "acknowledged")
        worker.crash()
    second = fresh()
    second.add("deaf", deaf)
    async with bench.worker(second) as worker:
        await worker.until(lambda: bench.control.task("task-1").state is TaskState.CANCELLED)
        assert second.runs == []


async def test_where_no_proof_is_found_doubts_go_to_a_person(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C122: on another machine an earlier execution may still act; what has no doubt goes on."""
    async with bench.worker(executor) as worker:
        bench.control.submit(spec("t1", "wait-query"), spec("t2", "wait-query"))
        bench.control.push("t1", "t2")
        await worker.until(lambda: len(executor.alive) == 2)
        first = next(run for run in executor.runs if run.work.task_id == "t1")
        await first.execution.begin_effect(BeginEffect("pay", "d", None, ("find",)))
        worker.crash()
    bench.is_proved = False
    second = fresh()
    async with bench.worker(second) as worker:
        await worker.until(lambda: bench.control.task("t1").state is TaskState.UNKNOWN)
        await worker.until(lambda: bench.control.task("t2").state is TaskState.DONE)
        assert bench.control.task("t1").subjects == ("pay",)
        assert EventKind.LOST not in bench.control.kinds("t1") + bench.control.kinds("t2")


async def test_executors_are_shown_dead_before_anything_else(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C104, C122: the saved identities are handed over for the kill and forgotten once it is proved."""
    row = ExecutorRow(4711, "1", "boot", "marker")
    async with bench.worker(executor) as worker:
        await asyncio.wrap_future(worker.store.write(lambda tx: tx.executors.add(row)))
        worker.crash()
    calls = len(bench.control.calls)
    async with bench.worker(fresh()) as worker:
        assert bench.rows_shown == [[], [row]]
        assert bench.control.calls[calls].name == "register"
        assert await worker.local(lambda tx: tx.executors.all()) == []


async def test_what_earlier_sessions_left_is_sent_first(bench: Bench, executor: CoroutineExecutor) -> None:
    """C080, C081, C090: a kill between the end and its delivery costs a resend."""
    async with bench.worker(executor) as worker:
        bench.control.held["report"] = asyncio.Event()
        bench.control.submit(spec(input={"a": 4}))
        bench.control.push("task-1")
        await worker.until(lambda: worker.ledger.reached(FaultPoint.FINAL_COMMITTED))
        worker.crash()
    bench.control.held.clear()
    second = fresh()
    async with bench.worker(second) as worker:
        await worker.until(lambda: bench.control.task("task-1").state is TaskState.DONE)
        await worker.settle()
        assert second.runs == []
        assert await worker.local(lambda tx: tx.attempts.leased()) == []
