"""A task's whole life on one worker, and what keeps it alive."""

import pytest

from tenure.core.event import EventKind
from tenure.core.faultpoints import FaultPoint
from tenure.core.task import TaskState
from tenure.worker.ended import EndReason
from tests.support.worker.bench import Bench
from tests.support.worker.builders import spec
from tests.support.worker.executor import CoroutineExecutor

pytestmark = pytest.mark.anyio


async def test_a_task_is_done_and_its_lease_let_go(bench: Bench, executor: CoroutineExecutor) -> None:
    """C062, C069, C070, C081: saved, acknowledged, running, ended, reported, in this order."""
    async with bench.worker(executor) as worker:
        bench.control.submit(spec(input={"a": 2, "b": 3}))
        bench.control.push("task-1")
        await worker.until(lambda: bench.control.task("task-1").state is TaskState.DONE)
        await worker.until(lambda: worker.ledger.reached(FaultPoint.REPORTED))
        assert bench.control.task("task-1").result == 5
        assert [str(point) for point, _ in worker.ledger.points] == [
            "command_received",
            "inbox_committed",
            "ack_sent",
            "ack_answered",
            "running_committed",
            "handed_to_executor",
            "final_committed",
            "event_sent",
            "event_answered",
            "reported",
        ]
        assert await worker.local(lambda tx: tx.attempts.leased()) == []
        worker.runtime.stop()
        await worker.until(lambda: worker.ended)
    assert worker.ended is not None
    assert (worker.ended.reason, worker.ended.exit_code) == (EndReason.STOPPED, 0)
    assert bench.control.called("deregister")
    assert executor.is_closed
    assert bench.control.kinds("task-1") == [EventKind.SUCCEEDED]
