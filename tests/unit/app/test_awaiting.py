"""Effects of async capabilities: awaited functions, timeouts, and cancellations that have to wait. C058."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine

import anyio
import anyio.lowlevel
import pytest

from tenure import ABSENT, Absent, AsyncAttempt
from tenure.app import awaiting, effects
from tenure.app.attempt import AsyncAttempt as Made
from tenure.app.awaiting import LoopWaiting
from tenure.core.errors import OutcomeUnknown
from tests.unit.app.acting import MAY_ACT, REQUEST, Scene

pytestmark = pytest.mark.anyio


class Slow:
    """An act that ends when a test says so."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.go_on = asyncio.Event()

    async def apply(self, request_id: str) -> str:
        self.began.set()
        await self.go_on.wait()
        return request_id


@pytest.fixture
def scene() -> Scene:
    return Scene("async")


@pytest.fixture
def attempt(scene: Scene) -> AsyncAttempt:
    return Made(scene.running, LoopWaiting(scene.running))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effects, "LOOK_S_FIRST", 0.0005)
    monkeypatch.setattr(effects, "LOOK_S_MAX", 0.001)
    monkeypatch.setattr(awaiting, "LEAVING_S", 0.05)


async def awaited(request_id: str) -> str:
    await asyncio.sleep(0)
    return request_id


def hidden(request_id: str) -> Awaitable[str]:
    return awaited(request_id)


def plain(request_id: str) -> str:
    return request_id


async def returns_typed(request_id: str) -> tuple[int, ...]:
    return (1, 2)


def returns_an_awaitable(request_id: str) -> Awaitable[tuple[int, ...]]:
    return returns_typed(request_id)


def returns_a_coroutine(request_id: str) -> Coroutine[None, None, tuple[int, ...]]:
    return returns_typed(request_id)


@pytest.mark.parametrize("apply", [awaited, hidden, plain])
async def test_apply_may_be_async_or_hide_it_or_be_plain(
    attempt: AsyncAttempt, apply: Callable[[str], Awaitable[str] | str]
) -> None:
    assert await attempt.effect("act", {}, apply) == REQUEST


@pytest.mark.parametrize("apply", [returns_typed, returns_an_awaitable, returns_a_coroutine])
async def test_what_an_awaited_function_says_it_returns_is_the_type(
    attempt: AsyncAttempt, apply: Callable[[str], Awaitable[tuple[int, ...]]]
) -> None:
    assert await attempt.effect("act", {}, apply) == (1, 2)


async def test_find_may_be_async(scene: Scene, attempt: AsyncAttempt) -> None:
    async def find(request_id: str) -> str | Absent:
        await asyncio.sleep(0)
        return request_id if scene.desk.asked else ABSENT

    async def lose(request_id: str) -> str:
        raise ConnectionResetError

    assert await attempt.effect("act", {}, lose, find) == REQUEST


async def test_effects_of_one_attempt_may_overlap(scene: Scene, attempt: AsyncAttempt) -> None:
    slow = Slow()
    first = asyncio.create_task(attempt.effect("one", {}, slow.apply))
    await slow.began.wait()
    assert await attempt.effect("two", {}, awaited) == REQUEST
    slow.go_on.set()
    await first
    assert [told.name for told in scene.desk.told] == ["two", "one"]


async def test_a_cancellation_waits_until_the_outcome_is_saved(scene: Scene, attempt: AsyncAttempt) -> None:
    """C058: also when it is repeated."""
    slow = Slow()
    task = asyncio.create_task(attempt.effect("act", {}, slow.apply))
    await slow.began.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    slow.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert scene.desk.outcomes == ["applied"]


async def test_a_scope_of_the_authors_own_waits_as_well(scene: Scene, attempt: AsyncAttempt) -> None:
    """Anyio cancels again at every turn of the loop; that must neither break in nor burn the processor."""
    slow = Slow()

    async def let_go() -> None:
        await slow.began.wait()
        scope.cancel()
        for _ in range(10):
            await asyncio.sleep(0)
        slow.go_on.set()

    releasing = asyncio.create_task(let_go())
    with anyio.CancelScope() as scope:
        await attempt.effect("act", {}, slow.apply)
        await anyio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    await releasing
    assert scene.desk.outcomes == ["applied"]


async def test_a_cancellation_ends_the_looking(scene: Scene, attempt: AsyncAttempt) -> None:
    scene.desk.standings = [MAY_ACT]
    looked = asyncio.Event()

    async def find(request_id: str) -> str | Absent:
        looked.set()
        return ABSENT

    task = asyncio.create_task(attempt.effect("act", {}, awaited, find))
    await looked.wait()
    scene.running.cancel()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert scene.desk.outcomes == ["in_doubt"]


async def test_an_awaited_call_that_takes_too_long_is_cancelled(scene: Scene, attempt: AsyncAttempt) -> None:
    cancelled = asyncio.Event()

    async def apply(request_id: str) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return request_id

    with pytest.raises(OutcomeUnknown, match="apply has not returned within"):
        await attempt.effect("act", {}, apply, timeout=0.02)
    assert cancelled.is_set()
    assert scene.desk.outcomes == ["in_doubt"]


async def test_a_call_that_ignores_its_end_may_still_act(scene: Scene, attempt: AsyncAttempt) -> None:
    """An absence does not count while it goes on, and its result does when it comes."""
    slow = Slow()
    looks: list[int] = []

    async def apply(request_id: str) -> str:
        try:
            return await slow.apply(request_id)
        except asyncio.CancelledError:
            return await slow.apply(request_id)

    async def find(request_id: str) -> str | Absent:
        looks.append(1)
        if len(looks) == 3:
            slow.go_on.set()
        return ABSENT

    assert await attempt.effect("act", {}, apply, find, timeout=0.02) == REQUEST
    assert scene.desk.outcomes == ["applied"]


async def test_a_thread_that_takes_too_long_is_left_behind_and_believed_when_it_returns(
    scene: Scene, attempt: AsyncAttempt
) -> None:
    go_on = threading.Event()
    looks: list[int] = []

    def apply(request_id: str) -> str:
        go_on.wait(20)
        return request_id

    def find(request_id: str) -> str | Absent:
        looks.append(1)
        if len(looks) == 3:
            go_on.set()
        return ABSENT

    assert await attempt.effect("act", {}, apply, find, timeout=0.02) == REQUEST
    assert scene.desk.outcomes == ["applied"]


async def test_effects_that_the_code_did_not_wait_for_are_waited_for(scene: Scene) -> None:
    slow, waiting = Slow(), LoopWaiting(scene.running)
    attempt = Made(scene.running, waiting)
    task = asyncio.create_task(attempt.effect("act", {}, slow.apply))
    await slow.began.wait()
    leaving = asyncio.create_task(waiting.leave())
    slow.go_on.set()
    await leaving
    assert scene.desk.outcomes == ["applied"]
    await task
