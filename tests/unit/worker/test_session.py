"""Sessions: identity with proof, expiry, displacement, refusals, and what each ends."""

from itertools import pairwise

import pytest

from tenure.core.command import CommandKind
from tenure.core.errors import Forbidden, Invalid, TenureError, Unauthenticated
from tenure.core.registration import RegisterRequest
from tenure.core.task import TaskState
from tenure.ports.local import InstanceRow
from tenure.worker.ended import EndReason
from tests.support.worker.bench import Bench, Worker
from tests.support.worker.builders import spec
from tests.support.worker.executor import CoroutineExecutor

pytestmark = pytest.mark.anyio


def requests(bench: Bench) -> list[RegisterRequest]:
    return [call.request for call in bench.control.called("register")]


async def running(bench: Bench, worker: Worker, rule: str = "recompute") -> None:
    bench.control.submit(spec(capability=f"wait-{rule}"))
    bench.control.push("task-1")
    await worker.until(lambda: worker.executor.alive)
    await worker.settle()


async def test_identity_outlives_starts_and_each_start_proves_itself(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C117, D23: one instance, a new incarnation each time, the last confirmed one as predecessor."""
    for _ in range(3):
        async with bench.worker(executor):
            pass
    first, second, third = requests(bench)
    assert first.instance_id == second.instance_id == third.instance_id
    assert len({first.incarnation, second.incarnation, third.incarnation}) == 3
    assert (first.predecessors, second.predecessors) == ([], [first.incarnation])
    assert third.predecessors == [second.incarnation]
    assert first.capabilities[0].name == "add"


async def test_an_unconfirmed_incarnation_is_a_predecessor_too(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """D23: a start that died before it heard of its registration is no copy, accepted or not."""
    bench.control.lost["register"] = 100
    async with bench.worker(executor, wait=False) as worker:
        await worker.until(lambda: bench.control.called("register"))
        await worker.pass_time(4)
        tries = [request.try_number for request in requests(bench)]
        assert tries == list(range(1, len(tries) + 1))
        assert len(tries) > 1
    bench.control.lost.clear()
    async with bench.worker(executor) as worker:
        row = await worker.local(lambda tx: tx.identity.read())
        assert row is not None
        assert (row.confirmed, row.unconfirmed) == (requests(bench)[-1].incarnation, ())
    assert requests(bench)[0].incarnation in requests(bench)[-1].predecessors


async def test_a_copy_of_a_folder_that_lived_on_is_told_so(bench: Bench, executor: CoroutineExecutor) -> None:
    """C117, D23: it changes nothing and exits 2."""
    async with bench.worker(executor):
        pass
    bench.control.known_incarnation = "somebody-elses"
    async with bench.worker(executor) as worker:
        assert worker.ended is not None
        assert (worker.ended.reason, worker.ended.exit_code) == (EndReason.FORKED, 2)


@pytest.mark.parametrize("reason", ["expired", "deregistered"])
async def test_a_session_that_ended_is_followed_by_another(
    bench: Bench, executor: CoroutineExecutor, reason: str
) -> None:
    """D12: as the same instance and incarnation; what runs goes on, and its lease is renewed at once."""
    async with bench.worker(executor) as worker:
        await running(bench, worker)
        await worker.pass_time(20)
        bench.control.end_session(reason)
        await worker.pass_time(3)
        first, second = requests(bench)
        assert (first.incarnation, first.instance_id) == (second.incarnation, second.instance_id)
        assert second.try_number > first.try_number
        assert len(executor.runs) == 1
        claim = bench.control.task("task-1").claim
        assert claim is not None
        assert claim.lease_is_live(bench.clock.wall())
        assert bench.control.streams == 2


async def test_a_displaced_worker_kills_its_executors_and_reports_nothing(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """D5: its claims belong to whoever holds the state folder; the outbox stays where it is."""
    async with bench.worker(executor) as worker:
        await running(bench, worker)
        reports = len(bench.control.called("report"))
        bench.control.end_session("displaced")
        await worker.until(lambda: worker.ended)
        assert worker.ended is not None
        assert (worker.ended.reason, worker.ended.exit_code) == (EndReason.DISPLACED, 1)
        assert not executor.alive
        assert executor.is_closed
        assert len(bench.control.called("report")) == reports
        assert not bench.control.called("deregister")
        unfinished = await worker.local(lambda tx: tx.attempts.unfinished())
        assert [attempt.id for attempt in unfinished] == ["task-1.1"]


@pytest.mark.parametrize(
    ("error", "reason", "code"),
    [
        (Unauthenticated("unknown credential"), EndReason.UNAUTHORISED, 4),
        (Forbidden("no worker"), EndReason.UNAUTHORISED, 4),
        (Invalid("no such queue", path="queues"), EndReason.REFUSED, 2),
    ],
)
async def test_a_registration_that_is_refused_ends_the_worker(
    bench: Bench, executor: CoroutineExecutor, error: TenureError, reason: EndReason, code: int
) -> None:
    """A 401 to registering itself ends the worker; nothing is tried again."""
    bench.control.refused["register"] = lambda _: error
    async with bench.worker(executor) as worker:
        assert worker.ended is not None
        assert (worker.ended.reason, worker.ended.exit_code) == (reason, code)
        assert len(bench.control.called("register")) == 1


async def test_a_worker_waits_for_a_control_plane_that_is_not_there_yet(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """B31: with growing, jittered delays within the cap."""
    bench.control.is_down = True
    async with bench.worker(executor, wait=False) as worker:
        await worker.pass_time(120, step_s=1)
        calls = bench.control.called("register")
        gaps = [b.at - a.at for a, b in pairwise(calls)]
        assert max(gaps) <= 31
        assert gaps == sorted(gaps)
        bench.control.is_down = False
        await worker.pass_time(31)
        await running(bench, worker)


async def test_the_drained_mark_is_kept_and_its_number_decides(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C111, C112: it survives a restart, only a newer mark removes it, and what has started goes on."""
    async with bench.worker(executor, slots=1) as worker:
        await running(bench, worker)
        bench.control.submit(spec("t2", "wait-recompute"))
        bench.control.push("t2")
        await worker.settle()
        bench.control.order("drain-1", CommandKind.DRAIN, number=2)
        await worker.until(lambda: bench.control.task("t2").state is TaskState.OPEN)
        assert bench.control.task("t2").interruptions == 1
        assert executor.alive
        bench.control.push("t2")
        await worker.until(lambda: bench.control.sent["t2.2"].state == "rejected: draining")
        bench.control.order("undrain-1", CommandKind.UNDRAIN, number=1)
        await worker.settle()
        assert worker.runtime._tools.books.is_drained
    async with bench.worker(executor) as worker:
        assert worker.runtime._tools.books.room == 0
        row = await worker.local(lambda tx: tx.identity.read())
        assert isinstance(row, InstanceRow)
        assert (row.drained, row.drained_number) == (True, 2)
        bench.control.drained, bench.control.drained_number = False, 3
        await worker.pass_time(10)
        bench.control.submit(spec("t3", "wait-recompute"))
        bench.control.push("t3")
        await worker.until(lambda: executor.started("t3.1"))


async def test_a_mark_that_is_heard_with_a_heartbeat_counts(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C111: a command is not the only way."""
    async with bench.worker(executor) as worker:
        bench.control.drained, bench.control.drained_number = True, 1
        await worker.pass_time(10)
        assert "worker.drained" in worker.ledger.names()
        assert worker.runtime._tools.books.room == 0
