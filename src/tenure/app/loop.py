"""Executions on an event loop: many at once in a `shared` executor, or one async one by itself. C074."""

import asyncio
import sys
from collections.abc import Awaitable
from typing import Final, TypeVar, cast

from tenure.app.app import Declaration
from tenure.app.attempt import AsyncAttempt
from tenure.app.awaiting import LoopWaiting
from tenure.app.outcome import outcome_of_bad_input, outcome_of_error, outcome_of_result
from tenure.app.running import Running
from tenure.app.serving import Execution, Serving, call_plain
from tenure.core.errors import TenureError
from tenure.core.execution import Finished

T = TypeVar("T")

EARLY_S: Final = 1.0
"""Async code is not cancelled before it has run for so long: only the calls of its attempt raise until then.

Code that is executed again under a cancel, so that it settles its effects, has to reach them first.
"""


def serve_on_loop(serving: Serving, execution: Execution) -> None:
    """Execute until the line closes; plain functions that are to be alone run on this thread in between."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    following: Execution | None = execution
    while following is not None:
        declared, running = following
        if running.work.isolation == "shared":
            _Shared(serving, loop).run(following)
            return
        if declared.is_async:
            task = loop.create_task(call_async(declared, running))
            _run_until_done(loop, task)
            _end_rest(loop)
            serving.ended(running, task.result())
        else:
            serving.ended(running, call_plain(declared, running))
        following = serving.next()


async def call_async(declared: Declaration, running: Running) -> Finished:
    """Execute an async function; returns its outcome whatever it does. C060."""
    try:
        arguments = declared.signature.read(running.work.input)
    except TenureError as error:
        return outcome_of_bad_input(error)
    waiting = LoopWaiting(running)
    cancel = _Cancel(running)
    try:
        result = await cast(
            "Awaitable[object]", declared.function(AsyncAttempt(running, waiting), **arguments)
        )
    except BaseException as error:  # noqa: BLE001 - the border to user code: exits are outcomes too (C060)
        finished = outcome_of_error(error, running, declared.recovery)
    else:
        finished = outcome_of_result(result, declared.recovery)
    cancel.is_over = True
    await waiting.leave()
    return finished


class _Cancel:
    """Throws a cancel into the task that made it, not too early and not too late."""

    def __init__(self, running: Running) -> None:
        self.is_over = False
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._due = self._loop.time() + EARLY_S
        running.when_cancelled(lambda: self._loop.call_soon_threadsafe(self._throw))

    def _throw(self) -> None:
        if self._loop.time() < self._due:
            self._loop.call_at(self._due, self._throw)
        elif not self.is_over and self._task is not None:
            self._task.cancel()


class _Shared:
    """Many executions at once: async ones as tasks, plain ones on threads."""

    def __init__(self, serving: Serving, loop: asyncio.AbstractEventLoop) -> None:
        self._serving = serving
        self._loop = loop
        self._closed: asyncio.Future[None] = loop.create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._will_flush = False

    def run(self, execution: Execution) -> None:
        self._begin([execution])
        self._loop.call_soon(self._serving.deliver_to, self._take)
        _run_until_done(self._loop, self._closed)

    def _take(self, executions: list[Execution | None]) -> None:
        self._loop.call_soon_threadsafe(self._begin, executions)

    def _begin(self, executions: list[Execution | None]) -> None:
        for execution in executions:
            if execution is None:
                self._closed.set_result(None)
            elif execution[0].is_async:
                task = self._loop.create_task(self._call(execution))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            else:
                self._serving.call_on_thread(execution)

    async def _call(self, execution: Execution) -> None:
        declared, running = execution
        self._serving.put_ended(running, await call_async(declared, running))
        if not self._will_flush:
            # All outcomes of this turn of the loop go in one write.
            self._will_flush = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._will_flush = False
        self._serving.flush()


def _run_until_done(loop: asyncio.AbstractEventLoop, awaited: "asyncio.Future[T]") -> None:
    """Run; an exit in a task that the author started does not end the loop (C060)."""
    while not awaited.done():
        try:
            loop.run_until_complete(awaited)
        except (SystemExit, KeyboardInterrupt) as error:
            sys.stderr.write(f"a task of its own raised {type(error).__name__}; the executor goes on\n")


def _end_rest(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel the tasks that a single execution left behind, as `asyncio.run` does."""
    rest = asyncio.all_tasks(loop)
    for task in rest:
        task.cancel()
    if rest:
        _run_until_done(loop, asyncio.ensure_future(asyncio.wait(rest, timeout=1.0), loop=loop))
