"""The single sender: order, batches, classes of failure, and what is set aside."""

import asyncio
from collections.abc import Callable

import pytest

from tenure.core.attempt import AttemptState
from tenure.core.errors import DeliveryFailed, Forbidden, Invalid, TenureError, TooLarge, Unauthenticated
from tenure.core.event import EventKind
from tenure.core.execution import Saved
from tenure.core.task import TaskState
from tests.support.worker.bench import Bench, Worker
from tests.support.worker.builders import spec
from tests.support.worker.control import Call
from tests.support.worker.executor import CoroutineExecutor

pytestmark = pytest.mark.anyio


async def running(bench: Bench, worker: Worker, *ids: str, rule: str = "recompute") -> None:
    bench.control.submit(*(spec(id_, f"wait-{rule}") for id_ in ids))
    bench.control.push(*ids)
    await worker.until(lambda: len(worker.executor.alive) == len(ids))
    await worker.settle()


def refuse(kind: EventKind, error: TenureError) -> Callable[[Call], TenureError | None]:
    """Refuse every batch that holds an event of this kind."""

    def judge(call: Call) -> TenureError | None:
        return error if any(event.kind is kind for event in call.events) else None

    return judge


async def test_events_of_an_attempt_arrive_in_the_order_they_were_saved(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C090: and the end never before what led to it."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, "t1")
        bench.control.held["report"] = asyncio.Event()
        execution = executor.runs[0].execution
        for number in range(3):
            await execution.checkpoint(number, portable=True)
        await execution.save_step(Saved("read", "step", [1]))
        bench.control.cancel("t1")
        await worker.pass_time(11)
        bench.control.held.pop("report").set()
        await worker.pass_time(5)
        kinds = bench.control.kinds("t1")
        assert kinds[-3:] == [EventKind.CHECKPOINT, EventKind.STEP, EventKind.CANCELLED]
        assert bench.control.tasks["t1"].checkpoint is not None
        assert bench.control.tasks["t1"].checkpoint.value == 2
        numbers = [event.sequence for event in bench.control.events.values()]
        assert numbers == sorted(set(numbers))


async def test_delays_grow_to_thirty_seconds_and_one_success_begins_anew(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C083, C087, C089: hints change nothing meanwhile, each deferral is told, what runs is not touched."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, "t1", "t2")
        bench.control.refused["report"] = lambda _: DeliveryFailed("no route")
        await executor.runs[0].execution.checkpoint(1, portable=True)
        for number in range(100):
            await worker.pass_time(1)
            if number % 3 == 0:
                await executor.runs[1].execution.checkpoint(number, portable=True)
        told = [fields["delay_s"] for name, fields in worker.ledger.told if name == "delivery.deferred"]
        assert [round(float(str(delay))) for delay in told][:7] == [1, 2, 4, 8, 16, 30, 30]
        assert len(executor.alive) == 2
        bench.control.refused.clear()
        await worker.pass_time(31)
        assert bench.control.tasks["t1"].checkpoint is not None
        bench.control.refused["report"] = lambda _: DeliveryFailed("no route")
        await executor.runs[0].execution.checkpoint(2, portable=True)
        await worker.settle()
        last = [fields["delay_s"] for name, fields in worker.ledger.told if name == "delivery.deferred"][-1]
        assert round(float(str(last))) == 1


async def test_a_wish_to_be_left_alone_is_kept_within_the_cap(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """B12: Retry-After counts, at most 30 s."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, "t1")
        bench.control.refused["report"] = lambda _: DeliveryFailed("busy", retry_after_s=300.0)
        await executor.runs[0].execution.checkpoint(1, portable=True)
        await worker.settle()
        told = [fields["delay_s"] for name, fields in worker.ledger.told if name == "delivery.deferred"]
        assert told == [30.0]


async def test_a_lost_reply_leads_to_a_resend_that_is_applied_once(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C081, C082: marked only after the confirmation; a duplicate counts as reported."""
    bench.control.lost["report"] = 2
    async with bench.worker(executor) as worker:
        bench.control.submit(spec(input={"a": 1}))
        bench.control.push("task-1")
        await worker.until(lambda: bench.control.task("task-1").state is TaskState.DONE)
        assert len(await worker.local(lambda tx: tx.outbox.pending(10))) == 1
        await worker.pass_time(5)
        assert await worker.local(lambda tx: tx.outbox.pending(10)) == []
        ids = {event.event_id for call in bench.control.called("report") for event in call.events}
        assert len(ids) == 1
        assert len(bench.control.called("report")) == 3


@pytest.mark.parametrize(
    ("rule", "kind", "state"),
    [("recompute", EventKind.FAILED, TaskState.OPEN), ("query", EventKind.UNKNOWN, TaskState.UNKNOWN)],
)
async def test_an_end_that_is_never_taken_is_set_aside_and_another_stands_in(
    bench: Bench, executor: CoroutineExecutor, rule: str, kind: EventKind, state: TaskState
) -> None:
    """D8, C090: visible here, and the task does not hang there."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, "t1", rule=rule)
        bench.control.refused["report"] = refuse(EventKind.CANCELLED, Invalid("no such field"))
        bench.control.cancel("t1")
        held = bench.control.tasks["t1"]
        await worker.pass_time(11)
        assert bench.control.kinds("t1") == [kind]
        counts = await worker.local(lambda tx: tx.outbox.counts())
        assert counts == {"pending": 0, "reported": 1, "quarantined": 1}
        assert [name for name in worker.ledger.names() if name == "event.quarantined"] == [
            "event.quarantined"
        ]
        attempt = await worker.local(lambda tx: tx.attempts.load(["t1.1"])["t1.1"])
        assert (attempt.state, attempt.lease_kept) == (AttemptState.CANCELLED, False)
        assert held.task.state in (
            state,
            TaskState.CANCELLED,
        )  # A cancel was asked for, so a failed try ends it


async def test_one_bad_event_spoils_nothing_and_an_outage_parks_nothing(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """B28, B12: of 101 all good ones arrive and one is parked; by an outage of a minute, nothing."""
    async with bench.worker(executor, slots=120) as worker:
        await running(bench, worker, *(f"t{n}" for n in range(101)))
        bench.control.held["report"] = asyncio.Event()
        for run in executor.runs:
            await run.execution.checkpoint(run.work.task_id, portable=True)

        def judge(call: Call) -> TenureError | None:
            return TooLarge("too large") if any(event.task_id == "t50" for event in call.events) else None

        bench.control.refused["report"] = judge
        bench.control.held.pop("report").set()
        await worker.until(lambda: "event.quarantined" in worker.ledger.names())
        await worker.settle()
        assert sum(held.checkpoint is not None for held in bench.control.tasks.values()) == 100
        assert worker.ledger.names().count("event.quarantined") == 1
        bench.control.is_down = True
        for run in executor.runs:
            await run.execution.checkpoint("again", portable=True)
        await worker.pass_time(60, step_s=5)
        bench.control.is_down = False
        counts = await worker.local(lambda tx: tx.outbox.counts())
        assert (counts["quarantined"], counts["pending"]) == (1, 101)


async def test_an_event_answered_invalid_is_set_aside_alone(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """C090: a token that was never minted there."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, "t1", "t2")
        bench.control.tasks["t1"].tokens.clear()
        for run in executor.runs:
            await run.execution.checkpoint(1, portable=True)
        await worker.until(lambda: "event.quarantined" in worker.ledger.names())
        await worker.until(lambda: bench.control.tasks["t2"].checkpoint is not None)


@pytest.mark.parametrize("error", [Unauthenticated("revoked"), Forbidden("not for this")])
async def test_a_refused_credential_ends_the_session_and_keeps_the_events(
    bench: Bench, executor: CoroutineExecutor, error: TenureError
) -> None:
    """C086: no hammering; a later session delivers."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, "t1")
        bench.control.refused["report"] = lambda _: error
        await executor.runs[0].execution.checkpoint(1, portable=True)
        await worker.settle()
        assert len(bench.control.called("report")) == 1
        assert len(bench.control.called("register")) == 1
        bench.control.refused.clear()
        await worker.pass_time(5)
        assert len(bench.control.called("register")) == 2
        assert bench.control.tasks["t1"].checkpoint is not None
        assert len(executor.runs) == 1


async def test_a_flush_is_told_what_it_came_to(bench: Bench, executor: CoroutineExecutor) -> None:
    """C088: what one complete flush comes to; asked during a back-off it waits; who left harms nobody."""
    async with bench.worker(executor) as worker:
        sender = worker.runtime._sender
        await running(bench, worker, "t1")
        bench.control.refused["report"] = lambda _: DeliveryFailed("no route")
        await executor.runs[0].execution.checkpoint(1, portable=True)
        await worker.settle()
        early = asyncio.ensure_future(sender.flush())
        gone = asyncio.ensure_future(sender.flush())
        await worker.settle()
        assert not early.done()
        gone.cancel()
        await worker.pass_time(2)
        assert isinstance(early.result(), DeliveryFailed)
        bench.control.refused.clear()
        late = asyncio.ensure_future(sender.flush())
        await worker.pass_time(4)
        assert late.result() is None
        assert await worker.local(lambda tx: tx.outbox.pending(1)) == []


async def test_a_lost_hint_costs_a_second(
    bench: Bench, executor: CoroutineExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C080: what is saved is found without a signal."""
    async with bench.worker(executor) as worker:
        await running(bench, worker, "t1")
        monkeypatch.setattr(worker.runtime._sender, "wake", lambda: None)
        await executor.runs[0].execution.checkpoint(1, portable=True)
        await worker.settle()
        assert bench.control.tasks["t1"].checkpoint is None
        await worker.pass_time(1.5)
        assert bench.control.tasks["t1"].checkpoint is not None
