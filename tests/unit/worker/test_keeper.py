"""Heartbeats: on fixed ticks, lease by lease, and nothing that is slow is waited for."""

import asyncio
from itertools import pairwise

import pytest

from tenure.core.checkpoint import Progress
from tenure.core.task import TaskState
from tests.support.worker.bench import Bench, Worker
from tests.support.worker.builders import spec
from tests.support.worker.executor import CoroutineExecutor

pytestmark = pytest.mark.anyio


def named(worker: Worker, since: int = 0) -> list[list[str]]:
    """Return which tasks' leases each heartbeat named."""
    return [[lease.task_id for lease in call.leases] for call in worker.control.called("heartbeat")[since:]]


async def running(bench: Bench, worker: Worker, *ids: str, **changes: object) -> None:
    bench.control.submit(*(spec(id_, "wait-recompute", **changes) for id_ in ids))
    bench.control.push(*ids)
    await worker.until(lambda: len(worker.executor.alive) == len(ids))
    await worker.settle()


async def test_ticks_are_a_third_of_the_ttl_apart(bench: Bench, executor: CoroutineExecutor) -> None:
    """D9: one at once, then fixed ticks; a late one does not move those after it."""
    async with bench.worker(executor, ttl_s=30.0) as worker:
        await worker.pass_time(45, step_s=0.25)
        times = [call.at for call in bench.control.called("heartbeat")]
        gaps = [round(b - a, 2) for a, b in pairwise(times[1:])]
        assert gaps == [10.0, 10.0, 10.0]


async def test_each_lease_is_named_from_go_until_its_end_is_confirmed(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C054, D15: also while the final event cannot be delivered."""
    async with bench.worker(executor, slots=1) as worker:
        await running(bench, worker, "t1")
        await worker.pass_time(10)
        assert named(worker)[-1] == ["t1"]
        bench.control.held["report"] = asyncio.Event()
        bench.control.cancel("t1")
        await worker.pass_time(20)
        assert not executor.alive
        assert named(worker)[-1] == ["t1"]
        since = len(bench.control.called("heartbeat"))
        bench.control.held.pop("report").set()
        await worker.until(lambda: bench.control.task("t1").state is TaskState.CANCELLED)
        await worker.settle()
        await worker.pass_time(20)
        assert all(ids == [] for ids in named(worker, since + 1))


async def test_a_short_lease_shortens_the_ticks(bench: Bench, executor: CoroutineExecutor) -> None:
    """No lease of a running attempt runs out because others are longer."""
    async with bench.worker(executor, ttl_s=300.0) as worker:
        await running(bench, worker, "t1", lease_ttl_s=3.0)
        for _ in range(40):
            await worker.pass_time(0.5)
            claim = bench.control.task("t1").claim
            assert claim is not None
            assert claim.lease_is_live(bench.clock.wall())


async def test_a_hung_heartbeat_does_not_hold_up_the_next(bench: Bench, executor: CoroutineExecutor) -> None:
    """D9: each call's bound is shorter than the interval."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, "t1")
        bench.control.held["heartbeat"] = asyncio.Event()
        before = len(bench.control.called("heartbeat"))
        await worker.pass_time(20, step_s=0.5)
        assert len(bench.control.called("heartbeat")) == before + 2
        assert worker.ledger.names().count("heartbeat.deferred") >= 1


async def test_a_temporary_failure_stops_nothing(bench: Bench, executor: CoroutineExecutor) -> None:
    """C087, D14: recompute goes on behind a partition, and its lease is asked for again after it."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, "t1")
        bench.control.is_down = True
        await worker.pass_time(28)
        bench.control.is_down = False
        await worker.pass_time(40)
        assert executor.alive
        assert len(executor.runs) == 1


async def test_progress_travels_with_a_number_until_it_is_heard(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C022, C075, C076: the newest wins, each is sent until answered, and percent never goes back."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, "t1")
        execution = executor.runs[0].execution
        execution.progress(Progress(stage="copy", percent=40.0, completed=4, total=10))
        execution.progress(Progress(stage="copy", percent=30.0, completed=5, total=10))
        execution.progress(Progress(percent=140.0))
        bench.control.lost["heartbeat"] = 1
        await worker.pass_time(20)
        assert bench.control.tasks["t1"].progress == {
            "stage": "copy",
            "percent": 40.0,
            "completed": 5,
            "total": 10,
        }
        sent = [
            lease for call in bench.control.called("heartbeat") for lease in call.leases if lease.progress
        ]
        assert len(sent) >= 2
        number = sent[-1].progress_number
        since = len(bench.control.called("heartbeat"))
        await worker.pass_time(20)
        assert all(
            not lease.progress for c in bench.control.called("heartbeat")[since:] for lease in c.leases
        )
        attempt = await worker.local(lambda tx: tx.attempts.load(["t1.1"])["t1.1"])
        assert attempt.progress is not None
        assert (attempt.progress.percent, attempt.progress_number) == (40.0, number)
        assert "progress.refused" in worker.ledger.names()


async def test_progress_does_not_wait_for_a_far_tick(bench: Bench, executor: CoroutineExecutor) -> None:
    """C075: whoever watches sees it within two seconds, by one more heartbeat for all that has changed."""
    async with bench.worker(executor, ttl_s=300.0) as worker:
        await running(bench, worker, "t1", "t2", lease_ttl_s=300.0)
        since = len(bench.control.called("heartbeat"))
        for completed in range(3):
            for run in executor.runs:
                run.execution.progress(Progress(completed=completed, total=10))
        await worker.pass_time(2.5)
        assert [bench.control.tasks[id_].progress for id_ in ("t1", "t2")] == [
            {"completed": 2, "total": 10}
        ] * 2
        assert len(bench.control.called("heartbeat")) == since + 1
        await worker.pass_time(20)
        assert len(bench.control.called("heartbeat")) == since + 1


async def test_the_code_learns_of_each_new_end_of_its_lease(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """D14: the deadline counts from before the heartbeat was sent."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, "t1")
        fenced = executor.runs[0].work.fenced_at_boot
        await worker.pass_time(10)
        assert fenced is not None
        sent_at = bench.control.called("heartbeat")[-1].at
        assert executor.runs[0].deadlines[-1] == sent_at + 30.0


async def test_more_leases_than_one_call_may_carry(bench: Bench, executor: CoroutineExecutor) -> None:
    """The protocol's bound of 1,000 is kept by splitting."""
    async with bench.worker(executor, slots=1_100) as worker:
        await running(bench, worker, *(f"t{n}" for n in range(1_100)))
        since = len(bench.control.called("heartbeat"))
        await worker.pass_time(10)
        sizes = [len(ids) for ids in named(worker, since)]
        assert sizes[:2] == [1_000, 100]


async def test_ensure_lease_asks_when_it_does_not_know(bench: Bench, executor: CoroutineExecutor) -> None:
    """D14: certain, asked for, or said to be uncertain within a bound."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, "t1")
        execution = executor.runs[0].execution
        since = len(bench.control.called("heartbeat"))
        assert await execution.ensure_lease(25.0)
        assert len(bench.control.called("heartbeat")) == since
        bench.clock.advance(9.0)
        assert await execution.ensure_lease(25.0)
        assert len(bench.control.called("heartbeat")) == since + 1
        assert not await execution.ensure_lease(31.0)
        bench.control.is_down = True
        bench.clock.advance(25.0)
        assert not await execution.ensure_lease(10.0)
