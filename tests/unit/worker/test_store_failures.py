"""A full disk is weather, a commit that may have happened ends the process. D28, C085."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

import pytest

from tenure.core.checkpoint import Progress
from tenure.core.errors import DiskFull, OutcomeUnknown, StoreUnavailable
from tenure.core.execution import BeginEffect, EndEffect
from tenure.core.task import TaskState
from tenure.ports.local import LocalTransaction
from tenure.worker.ended import EndReason
from tests.support.worker.bench import Bench, Worker
from tests.support.worker.builders import spec
from tests.support.worker.executor import CoroutineExecutor, Run

pytestmark = pytest.mark.anyio
T = TypeVar("T")


class Disk:
    """Stands before a real store and fills or breaks its disk."""

    def __init__(self, worker: Worker) -> None:
        self.store = worker.store
        self.is_full = False
        self.has_reserve = True
        self.broken: Exception | None = None
        self.failed: Future[BaseException | None] = Future()
        worker.runtime._tools.saving._store = self

    def write(self, operation: Callable[[LocalTransaction], T], *, urgent: bool = False) -> Future[T]:
        error = self.broken or (
            DiskFull("full", reason="full") if self.is_full and self.has_reserve else None
        )
        if error is None:
            return self.store.write(operation, urgent=urgent)
        refused: Future[T] = Future()
        refused.set_exception(error)
        return refused

    def read(self, query: Callable[[LocalTransaction], T]) -> Future[T]:
        return self.store.read(query)

    def give_up_reserve(self) -> None:
        self.has_reserve = False

    def hold_reserve(self) -> bool:
        self.has_reserve = not self.is_full
        return self.has_reserve

    def close(self) -> None: ...


async def running(bench: Bench, worker: Worker, *ids: str, capability: str = "wait-recompute") -> None:
    bench.control.submit(*(spec(id_, capability) for id_ in ids))
    bench.control.push(*ids)
    await worker.until(lambda: len(worker.executor.alive) == len(ids))
    await worker.settle()


async def test_a_full_disk_takes_nothing_new_and_still_says_how_things_ended(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """D28, C085: the reserve is given up for final states, heartbeats go on, it is said; then all is well."""
    async with bench.worker(executor) as worker:
        disk = Disk(worker)
        await running(bench, worker, "t1")
        disk.is_full = True
        bench.control.submit(spec("t2", "wait-recompute"))
        bench.control.push("t2")
        await worker.until(lambda: bench.control.sent["t2.1"].state == "rejected: capacity")
        assert worker.ledger.names().count("disk.filled") == 1
        await worker.pass_time(10)
        assert bench.control.called("heartbeat")[-1].room == 0
        bench.control.cancel("t1")
        await worker.pass_time(20)
        assert bench.control.task("t1").state is TaskState.CANCELLED
        disk.is_full = False
        await worker.pass_time(10)
        assert "disk.freed" in worker.ledger.names()
        bench.control.push("t2")
        await worker.until(lambda: any(id_.startswith("t2.") for id_ in executor.alive))


async def test_what_waits_for_a_slot_on_a_full_disk_starts_when_there_is_room(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """D28: renewed all the while; a stop hands it back without that."""
    async with bench.worker(executor, slots=1) as worker:
        disk = Disk(worker)
        bench.control.submit(*(spec(id_, "wait-recompute") for id_ in ("t1", "t2", "t3")))
        bench.control.push("t1", "t2", "t3")
        await worker.until(lambda: executor.alive)
        await worker.settle()
        disk.is_full = True
        bench.control.cancel("t1")
        await worker.pass_time(40)
        assert not executor.alive
        claim = bench.control.task("t2").claim
        assert claim is not None
        assert claim.lease_is_live(bench.clock.wall())
        disk.is_full = False
        await worker.pass_time(10)
        assert len(executor.alive) == 1
        disk.is_full = True
        worker.runtime.stop()
        worker.runtime.stop()
        await worker.pass_time(10)
        worker.runtime.stop()
        await worker.until(lambda: worker.ended)
        assert {bench.control.task(id_).state for id_ in ("t2", "t3")} <= {TaskState.OPEN, TaskState.CLAIMED}


async def test_a_checkpoint_that_cannot_be_written_is_the_hosts_fault(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C078, B37: it stops the code before its next effect, and the try counts nothing."""

    async def saves(run: Run) -> object:
        await run.told.wait()
        await run.execution.checkpoint(1, portable=True)
        return None

    executor.add("saves", saves)
    async with bench.worker(executor) as worker:
        disk = Disk(worker)
        await running(bench, worker, "t1", capability="saves")
        disk.is_full = True
        executor.runs[0].told.set()
        await worker.until(lambda: bench.control.task("t1").state is TaskState.OPEN)
        assert bench.control.task("t1").attempts == 0
        assert bench.control.task("t1").interruptions == 1


async def test_an_outcome_is_written_into_the_reserve(bench: Bench, executor: CoroutineExecutor) -> None:
    """D28: what has happened outside is said, whatever the disk; what has not begun does not."""
    async with bench.worker(executor) as worker:
        disk = Disk(worker)
        await running(bench, worker, "t1", capability="wait-query")
        execution = executor.runs[0].execution
        await execution.begin_effect(BeginEffect("pay", "d", None, ()))
        disk.is_full = True
        execution.progress(Progress(percent=3.0))
        await execution.end_effect(EndEffect("pay", "applied", 1))
        await worker.until(lambda: bench.control.tasks["t1"].ledger["pay"].result == 1)
        with pytest.raises(DiskFull):
            await execution.begin_effect(BeginEffect("other", "d", None, ()))
        with pytest.raises(DiskFull):
            await execution.checkpoint(1, portable=True)
        await worker.pass_time(2)
        assert executor.alive


@pytest.mark.parametrize(
    "error",
    [
        OutcomeUnknown("the commit ended with an error", subjects=()),
        StoreUnavailable("disk I/O error", reason="broken"),
    ],
)
async def test_a_store_that_is_written_to_no_more_ends_the_process(
    bench: Bench, executor: CoroutineExecutor, error: Exception
) -> None:
    """D28, C085: no retry, no further write, executors killed, and the reason in words."""
    async with bench.worker(executor) as worker:
        disk = Disk(worker)
        await running(bench, worker, "t1")
        disk.broken = error
        bench.control.submit(spec("t2", "wait-recompute"))
        bench.control.push("t2")
        await worker.until(lambda: worker.ended)
        assert worker.ended is not None
        assert (worker.ended.reason, worker.ended.exit_code) == (EndReason.STORE_FAILED, 1)
        assert str(error) in worker.ended.text
        assert not executor.alive
        assert executor.is_closed
        assert not bench.control.called("deregister")


async def test_a_store_that_fails_by_itself_ends_the_process_at_once(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """D28: nobody has to write first."""
    async with bench.worker(executor, wait=False) as worker:
        disk = Disk(worker)
        await worker.until(lambda: bench.control.called("open"))
        await worker.settle()
        disk.failed.set_exception(OutcomeUnknown("gone", subjects=()))
        await worker.until(lambda: worker.ended)
        assert worker.ended is not None
        assert worker.ended.reason is EndReason.STORE_FAILED
