"""Waiting for a time: one sleeper for all, in order, called off without a trace."""

import asyncio
from collections.abc import Sequence

import anyio
import anyio.lowlevel
import pytest

from tenure.core.errors import DeliveryFailed, Invalid
from tenure.worker.alarms import Alarms
from tenure.worker.groups import Groups, Inflow
from tests.support.worker.clock import VirtualClock

pytestmark = pytest.mark.anyio


async def turns() -> None:
    for _ in range(10):
        await anyio.lowlevel.checkpoint()


async def test_alarms_ring_in_their_order_and_not_when_called_off() -> None:
    clock = VirtualClock()
    alarms = Alarms(clock)
    rung: list[str] = []
    async with anyio.create_task_group() as group:
        group.start_soon(alarms.run)
        alarms.after(5, lambda: rung.append("late"))
        await turns()
        alarms.after(1, lambda: rung.append("early"))
        off = alarms.after(2, lambda: rung.append("never"))
        await turns()
        alarms.call_off(off)
        alarms.call_off(off)
        alarms.call_off(None)
        clock.advance(1)
        await turns()
        assert rung == ["early"]
        clock.advance(10)
        await turns()
        assert rung == ["early", "late"]
        group.cancel_scope.cancel()


async def test_what_was_called_off_does_not_pile_up() -> None:
    """A thousand timeouts an hour away that were never needed take no room for an hour."""
    alarms = Alarms(VirtualClock())
    for _ in range(10_000):
        alarms.call_off(alarms.after(3_600, lambda: None))
    assert len(alarms._heap) < 3_000


async def test_a_bound_ends_what_takes_too_long() -> None:
    clock = VirtualClock()
    alarms = Alarms(clock)
    async with anyio.create_task_group() as group:
        group.start_soon(alarms.run)

        async def slow() -> None:
            with pytest.raises(DeliveryFailed, match="within 3 s"), alarms.bound(3, "a call"):
                await asyncio.Event().wait()
            group.cancel_scope.cancel()

        group.start_soon(slow)
        await turns()
        clock.advance(3)


async def test_a_group_is_in_flight_and_the_rest_is_the_next() -> None:
    """No timers: a lone request goes at once, and whatever arrives meanwhile goes together."""
    performed: list[list[int]] = []
    gate = asyncio.Event()

    async def perform(asked: Sequence[int]) -> list[int]:
        performed.append(list(asked))
        await gate.wait()
        return [number * 2 for number in asked]

    groups: Groups[int, int] = Groups(perform, limit=3)
    async with anyio.create_task_group() as group:
        group.start_soon(groups.run)
        first = groups.ask(1)
        await turns()
        others = [groups.ask(number) for number in (2, 3, 4, 5)]
        others[0].cancel()
        await turns()
        assert performed == [[1]]
        gate.set()
        assert await first == 2
        assert [await other for other in others[1:]] == [6, 8, 10]
        assert performed == [[1], [3, 4], [5]]
        group.cancel_scope.cancel()


async def test_an_error_is_everybodys_in_its_group_and_nobodys_after() -> None:
    async def perform(asked: Sequence[int]) -> list[int]:
        if 13 in asked:
            raise Invalid("unlucky")
        return list(asked)

    groups: Groups[int, int] = Groups(perform)
    async with anyio.create_task_group() as group:
        group.start_soon(groups.run)
        together = [groups.ask(12), groups.ask(13)]
        for future in together:
            with pytest.raises(Invalid):
                await future
        assert await groups.ask(14) == 14
        group.cancel_scope.cancel()


async def test_an_inflow_gives_what_is_there_up_to_its_limit() -> None:
    inflow: Inflow[int] = Inflow()
    inflow.put(range(5))
    assert len(inflow) == 5
    assert await inflow.take(3) == [0, 1, 2]
    assert await inflow.take() == [3, 4]
