"""Carries out the effect protocol on an event loop, for async functions."""

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar, cast

from anyio import CancelScope

from tenure.app.blocking import saved
from tenure.app.effects import Action, Ask, Call, Called, Effect, Ensure, Pause, Tell, perform
from tenure.app.reply import Reply
from tenure.app.running import Running
from tenure.core.faultpoints import FaultPoint

T = TypeVar("T")

LEAVING_S: Final = 1.0  # Bound: how long a call that ran into its timeout may take to notice


class LoopWaiting:
    """Waits on the running event loop."""

    def __init__(self, running: Running) -> None:
        """Serve one execution."""
        self._running = running
        self._effects: set[asyncio.Task[None]] = set()

    async def perform(self, effect: Effect) -> object:
        """Perform an effect in a task of its own, so that a cancellation waits until it is saved."""
        outcome: Reply[object] = Reply()
        interrupted = asyncio.Event()
        task = asyncio.get_running_loop().create_task(self._perform(effect, outcome, interrupted))
        self._effects.add(task)
        cancelled: asyncio.CancelledError | None = None
        with CancelScope(shield=True):  # anyio would cancel again at every turn of the loop
            while not task.done():
                try:
                    await asyncio.wait({task})
                except asyncio.CancelledError as error:
                    cancelled = error
                    interrupted.set()
        self._effects.discard(task)
        if cancelled is not None:
            raise cancelled
        return outcome.result()

    async def answer(self, reply: Reply[T]) -> T:
        """Wait for an answer that comes from another thread."""
        if not reply.is_done:
            await self._done(reply)
        return reply.result()

    async def call(self, function: Callable[[], object]) -> object:
        """Call a function, on a thread if it is a plain one, and await what it returns if that is awaited."""
        if inspect.iscoroutinefunction(function):
            return await function()
        result = await self.answer(self._running.around.threads.call(function))
        return await cast("Awaitable[object]", result) if inspect.isawaitable(result) else result

    async def sleep(self, seconds: float) -> None:
        """Wait; a cancel ends it."""
        await asyncio.sleep(seconds)

    async def leave(self) -> None:
        """Wait for effects that the capability began and did not wait for."""
        while self._effects:
            await asyncio.wait(set(self._effects))

    async def _perform(self, effect: Effect, outcome: Reply[object], interrupted: asyncio.Event) -> None:
        try:
            outcome.settle(await self._drive(effect, interrupted))
        except BaseException as error:  # noqa: BLE001 - user code: exits must not end the loop (C060)
            outcome.fail(error)

    async def _drive(self, effect: Effect, interrupted: asyncio.Event) -> object:
        steps = perform(effect, self._running)
        told: object = None
        while True:
            try:
                action = steps.send(told)
            except StopIteration as end:
                return cast("object", end.value)
            told = await self._carry_out(action, interrupted)

    async def _carry_out(self, action: Action, interrupted: asyncio.Event) -> object:
        desk, attempt_id = self._running.around.desk, self._running.work.attempt_id
        match action:
            case Ask():
                return await self._saved(desk.begin_effect(attempt_id, action.wanted))
            case Tell():
                return await self._saved(desk.end_effect(attempt_id, action.ended))
            case Ensure():
                return self._running.holds_for(action.seconds) or await self._saved(
                    desk.hold_lease(attempt_id, action.seconds)
                )
            case Pause():
                return not (self._running.is_cancelled or await _is_set(interrupted, action.seconds))
            case Call():
                return await self._call(action)

    async def _call(self, call: Call) -> Called:
        """Call the author's function; after its timeout it is cancelled and, on a thread, left behind."""
        reply: Reply[object] = Reply()
        late = f"{call.what} has not returned within {call.timeout_s:g} s"
        task = asyncio.get_running_loop().create_task(self._settle(reply, call))
        done, _ = await asyncio.wait({task}, timeout=call.timeout_s)
        if not done:
            task.cancel(late)
            await asyncio.wait({task}, timeout=LEAVING_S)
        return Called(reply, late)

    async def _settle(self, reply: Reply[object], call: Call) -> None:
        faults, task_id = self._running.around.faults, self._running.work.task_id
        is_apply = call.what == "apply"
        on_thread: Reply[object] | None = None
        try:
            if is_apply:
                faults.reach(FaultPoint.INSIDE_APPLY, task_id)
            if inspect.iscoroutinefunction(call.function):
                result = await call.function(call.request_id)
            else:
                on_thread = self._running.around.threads.call(lambda: call.function(call.request_id))
                result = await self.answer(on_thread)
                on_thread = None
                if inspect.isawaitable(result):
                    result = await cast("Awaitable[object]", result)
            if is_apply:
                faults.reach(FaultPoint.APPLIED, task_id)
        except asyncio.CancelledError as error:
            if on_thread is not None:
                _pass_on(on_thread, reply)  # it goes on there, and may still act
            else:
                reply.fail(TimeoutError(*error.args) if error.args else error)
        except BaseException as error:  # noqa: BLE001 - user code: exits are results too (C060)
            reply.fail(error)
        else:
            reply.settle(result)

    async def _saved(self, reply: Reply[T]) -> T:
        await self._done(reply)
        return saved(self._running, reply)

    async def _done(self, reply: Reply[T]) -> None:
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody waits any more
                loop.call_soon_threadsafe(_wake, woken)

        reply.when_done(wake)
        await woken


def _pass_on(source: Reply[object], target: Reply[object]) -> None:
    """Have one reply settled as another one is, whenever that comes."""

    def pass_on() -> None:
        if source.error is not None:
            target.fail(source.error)
        else:
            target.settle(source.result())

    source.when_done(pass_on)


def _wake(woken: "asyncio.Future[None]") -> None:
    if not woken.done():
        woken.set_result(None)


async def _is_set(event: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
