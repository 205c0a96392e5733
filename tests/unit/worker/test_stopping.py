"""The way out: nothing new, an end for what runs, the last events, and only then no more heartbeats."""

import asyncio

import pytest

from tenure.core.capability import Recovery
from tenure.core.errors import NotRegistered
from tenure.core.event import EventKind
from tenure.core.task import TaskState
from tenure.worker.ended import EndReason
from tests.support.worker.bench import Bench, Worker
from tests.support.worker.builders import spec
from tests.support.worker.executor import CoroutineExecutor, Run

pytestmark = pytest.mark.anyio


async def running(bench: Bench, worker: Worker, *ids: str, capability: str = "wait-recompute") -> None:
    bench.control.submit(*(spec(id_, capability) for id_ in ids))
    bench.control.push(*ids)
    await worker.until(lambda: worker.executor.alive)
    await worker.settle()


def release(worker: Worker, attempt_id: str) -> None:
    """Let the code of an execution end by itself, as if its work were done."""
    worker.executor.alive[attempt_id][0].told.set()


async def test_a_stop_waits_for_what_runs_and_hands_back_what_does_not(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C051 to C054: heartbeats go on until everything is settled; deregistration is the last call."""

    async def finishes(run: Run) -> object:
        await run.told.wait()
        return "finished"

    executor.add("finishes", finishes)
    async with bench.worker(executor, slots=1, grace_s=None) as worker:
        await running(bench, worker, "t1", "t2", capability="finishes")
        worker.runtime.stop()
        await worker.until(lambda: bench.control.task("t2").state is TaskState.OPEN)
        assert bench.control.task("t2").interruptions == 1
        assert executor.is_stopping
        bench.control.submit(spec("t3", "finishes"))
        bench.control.push("t3")
        await worker.until(lambda: bench.control.sent["t3.1"].state == "rejected: draining")
        await worker.pass_time(600, step_s=10)
        claim = bench.control.task("t1").claim
        assert claim is not None
        assert claim.lease_is_live(bench.clock.wall())
        release(worker, "t1.1")
        await worker.until(lambda: worker.ended)
        assert worker.ended is not None
        assert (worker.ended.reason, worker.ended.exit_code) == (EndReason.STOPPED, 0)
        assert bench.control.task("t1").result == "finished"
        assert bench.control.calls[-1].name == "deregister"


@pytest.mark.parametrize("how", ["grace", "second", "cancel"])
async def test_what_does_not_end_in_time_is_cancelled_and_handed_back(
    bench: Bench, executor: CoroutineExecutor, how: str
) -> None:
    """C055, C057: after the grace, by a second wish, or at once if that was configured."""
    on_stop, grace_s = ("cancel" if how == "cancel" else "wait"), (20.0 if how == "grace" else None)
    async with bench.worker(executor, on_stop=on_stop, grace_s=grace_s) as worker:
        await running(bench, worker, "t1")
        worker.runtime.stop()
        await worker.settle()
        if how == "grace":
            await worker.pass_time(19)
            assert executor.alive
            await worker.pass_time(2)
        elif how == "second":
            assert executor.alive
            worker.runtime.stop()
            worker.runtime.stop()  # A third one changes nothing
        await worker.until(lambda: worker.ended)
        assert bench.control.kinds("t1") == [EventKind.HANDED_BACK]
        assert (bench.control.task("t1").state, bench.control.task("t1").attempts) == (TaskState.OPEN, 0)


async def test_what_ignores_the_stop_is_killed_and_handed_back_by_its_rule(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """B10: and under MANUAL it is unknown, since nobody knows what it did."""

    async def deaf(_: Run) -> object:
        await asyncio.Event().wait()
        return None

    executor.add("deaf", deaf)
    executor.add("deaf-manual", deaf, Recovery.MANUAL)
    async with bench.worker(executor, on_stop="cancel") as worker:
        await running(bench, worker, "t1", capability="deaf")
        await running(bench, worker, "t2", capability="deaf-manual")
        worker.runtime.stop()
        await worker.pass_time(11)
        await worker.until(lambda: worker.ended)
        assert bench.control.task("t1").state is TaskState.OPEN
        assert bench.control.task("t2").state is TaskState.UNKNOWN
        assert len(executor.runs) == 2


async def test_a_failure_of_its_own_during_a_stop_is_a_failure(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C055: what ends by itself while stopping was not interrupted."""

    async def breaks(run: Run) -> object:
        await run.told.wait()
        raise RuntimeError("of its own")

    executor.add("breaks", breaks)
    async with bench.worker(executor, on_stop="cancel") as worker:
        await running(bench, worker, "t1", capability="breaks")
        worker.runtime.stop()
        await worker.until(lambda: worker.ended)
        assert bench.control.task("t1").attempts == 1


async def test_an_unclean_end_is_never_called_clean(bench: Bench, executor: CoroutineExecutor) -> None:
    """C056: events that wait on are said, with exit code 3, and are delivered by the next start."""
    async with bench.worker(executor, on_stop="cancel", flush_s=5.0) as worker:
        await running(bench, worker, "t1")
        bench.control.is_down = True
        worker.runtime.stop()
        await worker.pass_time(25)
        await worker.until(lambda: worker.ended)
        assert worker.ended is not None
        assert (worker.ended.reason, worker.ended.exit_code) == (EndReason.UNDELIVERED, 3)
        assert len(await worker.local(lambda tx: tx.outbox.pending(10))) == 1
    bench.control.is_down = False
    async with bench.worker(executor) as worker:
        await worker.until(lambda: bench.control.task("t1").state is TaskState.OPEN)


async def test_a_stop_before_anybody_answered_ends_too(bench: Bench, executor: CoroutineExecutor) -> None:
    """C057: whatever is waited for."""
    bench.control.is_down = True
    async with bench.worker(executor, wait=False, flush_s=5.0) as worker:
        await worker.until(lambda: bench.control.called("register"))
        await worker.settle()
        worker.runtime.stop()
        await worker.pass_time(6)
        await worker.until(lambda: worker.ended)
        assert worker.ended is not None
        assert worker.ended.reason is EndReason.UNDELIVERED


async def test_somebody_elses_registration_at_the_end_is_said(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """D7: deregistering a session that was displaced is no clean end."""
    async with bench.worker(executor) as worker:
        bench.control.refused["deregister"] = lambda _: NotRegistered("displaced", reason="displaced")
        worker.runtime.stop()
        await worker.until(lambda: worker.ended)
        assert worker.ended is not None
        assert worker.ended.reason is EndReason.DISPLACED


async def test_a_start_that_is_under_way_when_the_stop_comes_is_handed_back(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C051: a claim whose `go` arrives after the stop is given back, not executed and not forgotten."""
    async with bench.worker(executor) as worker:
        held = bench.control.held["acknowledge"] = asyncio.Event()
        bench.control.submit(spec("t1", "wait-recompute"))
        bench.control.push("t1")
        await worker.until(lambda: bench.control.called("acknowledge"))
        worker.runtime.stop()
        await worker.settle()
        held.set()
        await worker.until(lambda: worker.ended)
        assert executor.runs == []
        assert bench.control.task("t1").state is TaskState.OPEN


async def test_a_kill_during_a_stop_is_an_ordinary_crash(bench: Bench, executor: CoroutineExecutor) -> None:
    """B07: stopping is never saved; the next start recovers and takes new work."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, "t1")
        worker.runtime.stop()
        await worker.settle()
        worker.crash()
    async with bench.worker(executor) as worker:
        await worker.until(lambda: executor.alive)
        await running(bench, worker, "t2")
        await worker.until(lambda: len(executor.alive) == 2)
