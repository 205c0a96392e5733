"""Commands in: saved before they are acknowledged, judged once, and started when the answer is `go`."""

import asyncio

import msgspec
import pytest

from tenure.core.attempt import AttemptState
from tenure.core.command import Ack, CommandKind
from tenure.core.errors import Invalid
from tenure.core.faultpoints import FaultPoint
from tenure.core.task import TaskSpec, TaskState
from tests.support.worker.bench import Bench, Worker
from tests.support.worker.builders import spec, start
from tests.support.worker.control import Call
from tests.support.worker.executor import CoroutineExecutor

pytestmark = pytest.mark.anyio


def waiting(task_id: str = "task-1", **changes: object) -> TaskSpec:
    return spec(task_id, "wait-recompute", **changes)


def acked(worker: Worker, command_id: str) -> list[Ack]:
    """Return how often and how a command was answered."""
    return [
        ack
        for call in worker.control.called("acknowledge")
        for ack in call.acks
        if ack.command_id == command_id
    ]


async def test_a_command_is_saved_before_it_is_acknowledged(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C062, C063: at the moment of the acknowledgement inbox row and pending attempt are there."""
    seen: list[object] = []
    async with bench.worker(executor) as worker:
        held = bench.control.held["acknowledge"] = asyncio.Event()
        bench.control.submit(waiting())
        bench.control.push("task-1")
        await worker.until(lambda: bench.control.called("acknowledge"))
        seen.append(await worker.local(lambda tx: tx.inbox.seen(["task-1.1"])["task-1.1"].accepted))
        seen.append(await worker.local(lambda tx: tx.attempts.load(["task-1.1"])["task-1.1"].state))
        assert executor.runs == []
        held.set()
        await worker.until(lambda: executor.alive)
    assert seen == [True, AttemptState.PENDING]


@pytest.mark.parametrize("state", ["pending", "running", "ended"])
async def test_a_repeated_command_is_acknowledged_again_and_starts_nothing(
    bench: Bench, executor: CoroutineExecutor, state: str
) -> None:
    """C064, C112: in every state, and while drained and full too."""
    async with bench.worker(executor, slots=1) as worker:
        bench.control.submit(waiting("busy"), spec(input={"a": 1}) if state == "ended" else waiting())
        if state == "pending":
            bench.control.push("busy")
            await worker.until(lambda: executor.alive)
        bench.control.push("task-1")
        await worker.until(lambda: acked(worker, "task-1.1"))
        await worker.settle()
        command = bench.control.sent["task-1.1"].command
        if state != "pending":
            bench.control.order("drain", CommandKind.DRAIN, number=1)
            await worker.settle()
        bench.control.offer(command)
        bench.control.offer(command, command)
        await worker.until(lambda: len(acked(worker, "task-1.1")) == 4)
        assert {ack.accepted for ack in acked(worker, "task-1.1")} == {True}
        await worker.settle()
        assert len(executor.started("task-1.1")) == (0 if state == "pending" else 1)


async def test_the_same_id_with_other_content_is_a_conflict(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C065: neither executed nor taken for a duplicate; so is a digest that is not that of the content."""
    async with bench.worker(executor) as worker:
        bench.control.submit(waiting())
        bench.control.push("task-1")
        await worker.until(lambda: executor.alive)
        sent = bench.control.sent["task-1.1"].command
        other = start(waiting(input={"n": 2}), instance_id=sent.instance_id, token=sent.token)
        bench.control.offer(other)
        await worker.until(lambda: len(acked(worker, "task-1.1")) == 2)
        bench.control.offer(msgspec.structs.replace(sent, digest="0" * 64))
        await worker.until(lambda: len(acked(worker, "task-1.1")) == 3)
        assert [ack.reason for ack in acked(worker, "task-1.1")] == [None, "conflict", "conflict"]
        assert len(executor.runs) == 1


async def test_a_command_for_another_instance_is_refused(bench: Bench, executor: CoroutineExecutor) -> None:
    """C117."""
    async with bench.worker(executor) as worker:
        bench.control.submit(waiting())
        bench.control.offer(start(waiting(), instance_id="somebody-else"))
        await worker.until(lambda: acked(worker, "task-1.1"))
        assert acked(worker, "task-1.1")[0].reason == "conflict"


async def test_what_can_never_run_here_is_recorded_and_refused(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C067: an unknown capability and an unknown version, answered again in the same way."""
    async with bench.worker(executor) as worker:
        bench.control.submit(waiting())
        assert bench.control.request is not None
        instance = bench.control.request.instance_id
        commands = [
            start(spec("t1", "no-such-thing"), instance_id=instance),
            start(spec("t2", "add", version="9"), instance_id=instance),
        ]
        bench.control.submit(*(c.task for c in commands if c.task is not None))
        for _ in range(2):
            bench.control.offer(*commands)
            await worker.settle()
        for id_ in ("t1.1", "t2.1"):
            assert [ack.reason for ack in acked(worker, id_)] == ["unsupported", "unsupported"]
            row = await worker.local(lambda tx, id_=id_: tx.inbox.seen([id_])[id_])
            assert (row.accepted, row.reason) == (False, "unsupported")
        assert await worker.local(lambda tx: tx.attempts.unfinished()) == []


async def test_capacity_is_one_serialised_step(bench: Bench, executor: CoroutineExecutor) -> None:
    """C114: of a burst exactly what fits is taken, and each of the rest gets an explicit no."""
    async with bench.worker(executor, slots=2) as worker:
        bench.control.submit(*(waiting(f"t{n}") for n in range(10)))
        bench.control.push(*(f"t{n}" for n in range(5)))
        bench.control.push(*(f"t{n}" for n in range(5, 10)))
        await worker.until(lambda: all(acked(worker, f"t{n}.1") for n in range(10)))
        await worker.settle()
        reasons = [acked(worker, f"t{n}.1")[0].reason for n in range(10)]
        assert reasons == [None] * 4 + ["capacity"] * 6  # Two slots and as many in the backlog
        assert executor.most_alive == 2
        assert bench.control.called("acknowledge")[-1].room == 0


async def test_resources_are_counted_too(bench: Bench, executor: CoroutineExecutor) -> None:
    """C114."""
    async with bench.worker(executor, slots=4, resources={"cpu_millis": 1_000.0, "gpu": 1.0}) as worker:
        bench.control.submit(*(waiting(f"t{n}", resources={"gpu": 0.5}) for n in range(3)))
        bench.control.push("t0", "t1", "t2")
        await worker.until(lambda: acked(worker, "t2.1"))
        assert [acked(worker, f"t{n}.1")[0].reason for n in range(3)] == [None, None, "capacity"]


async def test_a_backlog_waits_renewed_and_starts_in_order(bench: Bench, executor: CoroutineExecutor) -> None:
    """C054: what waits for a slot keeps its lease, whatever time that takes."""
    async with bench.worker(executor, slots=1) as worker:
        bench.control.submit(waiting("t0"), spec("t1", input={"a": 1}))
        bench.control.push("t0", "t1")
        await worker.until(lambda: executor.alive)
        await worker.pass_time(100, step_s=5)
        claim = bench.control.task("t1").claim
        assert claim is not None
        assert claim.lease_is_live(bench.clock.wall())
        bench.control.cancel("t0")
        await worker.pass_time(15, step_s=5)
        await worker.until(lambda: bench.control.task("t1").state is TaskState.DONE)


async def test_an_answer_that_is_void_ends_the_matter_without_an_event(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """D13: a voided pending attempt becomes superseded, and nothing is said about it."""
    async with bench.worker(executor) as worker:
        held = bench.control.held["acknowledge"] = asyncio.Event()
        bench.control.submit(waiting())
        bench.control.push("task-1")
        await worker.until(lambda: bench.control.called("acknowledge"))
        bench.control.take_away("task-1")
        held.set()
        await worker.settle()
        assert executor.runs == []
        attempt = await worker.local(lambda tx: tx.attempts.load(["task-1.1"])["task-1.1"])
        assert (attempt.state, attempt.lease_kept) == (AttemptState.SUPERSEDED, False)
        assert bench.control.kinds("task-1") == []


async def test_a_go_that_came_too_late_is_asked_for_again(bench: Bench, executor: CoroutineExecutor) -> None:
    """D13: the deadline counts from before the acknowledgement was sent."""
    async with bench.worker(executor, ttl_s=3_600.0) as worker:
        held = bench.control.held["acknowledge"] = asyncio.Event()
        bench.control.submit(waiting(lease_ttl_s=5.0))
        bench.control.push("task-1")
        await worker.until(lambda: bench.control.called("acknowledge"))
        bench.control.is_down = False
        bench.clock.advance(6.0)
        held.set()
        await worker.until(lambda: executor.alive)
        assert len(acked(worker, "task-1.1")) == 2


async def test_a_lost_reply_to_an_acknowledgement_changes_nothing(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C064."""
    bench.control.lost["acknowledge"] = 2
    async with bench.worker(executor) as worker:
        bench.control.submit(waiting())
        bench.control.push("task-1")
        await worker.until(lambda: bench.control.called("acknowledge"))
        await worker.pass_time(5)
        assert len(acked(worker, "task-1.1")) == 3
        assert len(executor.runs) == 1


async def test_one_bad_acknowledgement_does_not_hold_up_the_others(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C090, for acknowledgements: the batch is divided until the bad one stands alone."""

    def bad(call: Call) -> Invalid | None:
        return Invalid("no") if any(ack.command_id == "t2.1" for ack in call.acks) else None

    async with bench.worker(executor, slots=8) as worker:
        bench.control.refused["acknowledge"] = bad
        bench.control.submit(*(waiting(f"t{n}") for n in range(5)))
        bench.control.push(*(f"t{n}" for n in range(5)))
        await worker.until(lambda: len(executor.alive) == 4)
        assert "acknowledgement.refused" in worker.ledger.names()


async def test_unanswered_commands_come_again_on_the_next_stream(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C115, B13: a stream that breaks after every command loses none and doubles none."""
    async with bench.worker(executor, slots=50) as worker:
        bench.control.submit(*(spec(f"t{n}", input={"a": n}) for n in range(20)))
        for number in range(20):
            bench.control.push(f"t{number}")
            bench.control.break_stream()
            await worker.pass_time(3, step_s=1)
        await worker.pass_time(31, step_s=5)
        assert all(bench.control.task(f"t{n}").state is TaskState.DONE for n in range(20))
        assert len(executor.runs) == 20
        assert bench.control.streams > 3


async def test_a_worker_says_that_it_cannot_look_up(bench: Bench, executor: CoroutineExecutor) -> None:
    """A find is answered honestly: the code that could look lives inside its capability."""
    async with bench.worker(executor) as worker:
        bench.control.order("find-1", CommandKind.FIND)
        await worker.until(lambda: acked(worker, "find-1"))
        assert acked(worker, "find-1")[0].reason == "unsupported"


async def test_commands_come_in_groups(bench: Bench, executor: CoroutineExecutor) -> None:
    """One group in flight: a burst costs a few commits and acknowledgements, not one each."""
    async with bench.worker(executor, slots=200) as worker:
        bench.control.submit(*(spec(f"t{n}", input={"a": n}) for n in range(200)))
        bench.control.push(*(f"t{n}" for n in range(200)))
        await worker.until(
            lambda: all(bench.control.task(f"t{n}").state is TaskState.DONE for n in range(200))
        )
        assert len(bench.control.called("acknowledge")) <= 4
        assert len(bench.control.called("report")) <= 100
        assert len(worker.ledger.reached(FaultPoint.RUNNING_COMMITTED)) == 200
