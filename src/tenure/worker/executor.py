"""One executor process, as the supervisor sees it: its executions, their questions, its death."""

import asyncio
import signal
import socket
from collections.abc import Callable
from typing import Final

from anyio import CancelScope

from tenure.core.errors import InvalidConfig, TenureError, Unavailable
from tenure.core.execution import Finished, ManifestEntry, Work
from tenure.ports.executor import Execution, ExecutorDied
from tenure.wire.executor import (
    Advance,
    Answer,
    Begin,
    Declared,
    Durable,
    End,
    Ended,
    FindStep,
    Found,
    Held,
    HoldLease,
    Question,
    Refusal,
    Run,
    SaveCheckpoint,
    SaveStep,
    Standing,
    Unimportable,
    Up,
)
from tenure.worker.line import Line
from tenure.worker.spawning import Child, Exit

QUESTIONS_MAX: Final = 512  # Bound: questions of one executor that wait for answers
KILLED: Final = "killed"
"""The reason of an executor's end that says nothing about what it was doing."""
LEAVING_S: Final = 2.0  # Bound: how long an executor may take to end when its line has closed
DRAIN_S: Final = 1.0  # Bound: what a dead executor had written is read for so long


class Executor:
    """A process that executes; `gone` resolves when it is shown dead and all it had said is taken."""

    def __init__(self, child: Child, line: socket.socket, on_gone: Callable[["Executor"], None]) -> None:
        """Watch a process that was just started."""
        self._loop = asyncio.get_running_loop()
        self._child = child
        self._on_gone = on_gone
        self._running: dict[str, _Running] = {}
        self._questions = 0
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._line = Line(self._take, self._line_closed)
        self._socket = line
        self.ready: asyncio.Future[list[ManifestEntry]] = self._loop.create_future()
        self.gone: asyncio.Future[Exit] = self._loop.create_future()
        self._watch = self._loop.create_task(self._live())

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._child.pid

    @property
    def is_alive(self) -> bool:
        """Whether it can be given work."""
        return not self._child.gone.done() and not self._closed.done()

    @property
    def is_idle(self) -> bool:
        """Whether it executes nothing."""
        return not self._running

    @property
    def line(self) -> Line:
        """The line to it."""
        return self._line

    async def run(self, work: Work, execution: Execution) -> Finished:
        """Hand over the work and return how its code ended."""
        running = _Running(self._loop, execution)
        self._running[work.attempt_id] = running
        self._line.send(Run(work))
        try:
            return await running.ended
        except ExecutorDied:
            raise
        except BaseException:
            # The code may still run, and nobody would take its end.
            await self.kill_and_wait()
            raise
        finally:
            if running.is_asking:
                with CancelScope(shield=True):
                    await running.leave()
            self._line.forget(work.attempt_id)
            del self._running[work.attempt_id]

    def kill(self) -> None:
        """Kill it."""
        self._child.kill()

    async def kill_and_wait(self) -> None:
        """Kill it and return when it is shown dead, whatever is cancelled meanwhile."""
        self.kill()
        await self.wait_gone()

    async def wait_gone(self) -> None:
        """Return when it is shown dead; a cancellation comes through afterwards."""
        cancelled: asyncio.CancelledError | None = None
        with CancelScope(shield=True):
            while not self.gone.done():
                try:
                    await asyncio.wait({self.gone})
                except asyncio.CancelledError as error:
                    cancelled = error
        if cancelled is not None:
            raise cancelled

    def retire(self) -> None:
        """Close the line: an idle executor ends by itself."""
        self._line.close()

    def _take(self, messages: list[Up]) -> None:
        for message in messages:
            match message:
                case Ended():
                    self._finish(message)
                case Advance():
                    if running := self._running.get(message.attempt_id):
                        running.execution.progress(message.progress)
                case Declared():
                    if not self.ready.done():
                        self.ready.set_result(message.entries)
                case Unimportable():
                    if not self.ready.done():
                        self.ready.set_exception(InvalidConfig(message.text))
                case _:
                    self._ask(message)

    def _finish(self, ended: Ended) -> None:
        running = self._running.get(ended.attempt_id)
        if running is not None and not running.ended.done():
            running.ended.set_result(ended.finished)

    def _ask(self, question: Question) -> None:
        running = self._running.get(question.attempt_id)
        if running is None or running.ended.done():
            self._line.send(Refusal(question.number, "lease_lost", "the attempt has ended"))
            return
        self._questions += 1
        if self._questions == QUESTIONS_MAX:
            self._line.pause_reading()
        running.ask(question, self._answered)

    def _answered(self, answer: Answer | None) -> None:
        if self._questions == QUESTIONS_MAX:
            self._line.resume_reading()
        self._questions -= 1
        if answer is not None:
            self._line.send(answer)

    def _line_closed(self) -> None:
        if not self._closed.done():
            self._closed.set_result(None)

    async def _live(self) -> None:
        await self._loop.create_unix_connection(lambda: self._line, sock=self._socket)
        await asyncio.wait({self._closed, self._child.gone}, return_when=asyncio.FIRST_COMPLETED)
        # The line of one that dies closes first, and how it died is known only if it is left to it.
        await asyncio.wait({self._child.gone}, timeout=LEAVING_S)
        self._child.kill()
        found = await self._child.gone
        # What it had written before it died is evidence: an effect's result, perhaps the end itself.
        self._line.resume_reading()
        await asyncio.wait({self._closed}, timeout=DRAIN_S)
        self._line.close()
        self._bury(found)

    def _bury(self, found: Exit) -> None:
        text = f"executor {self.pid} {found}"
        if not self.ready.done():
            reason = KILLED if found.signal == signal.SIGKILL else None
            self.ready.set_exception(Unavailable(f"{text} while it imported the app", reason=reason))
            self.ready.exception()  # Seen: whoever started it may have been cancelled
        left = [running for running in self._running.values() if not running.ended.done()]
        for running in left:
            running.ended.set_exception(
                ExecutorDied(text, alone=len(left) == 1, cause=found.cause, signal=found.signal)
            )
        self.gone.set_result(found)
        self._on_gone(self)


class _Running:
    """One execution: its end, and the questions of its code that are being answered."""

    def __init__(self, loop: asyncio.AbstractEventLoop, execution: Execution) -> None:
        self.execution = execution
        self.ended: asyncio.Future[Finished] = loop.create_future()
        self._loop = loop
        self._saving: set[asyncio.Task[None]] = set()
        self._asking: set[asyncio.Task[None]] = set()

    @property
    def is_asking(self) -> bool:
        """Whether a question is being answered."""
        return bool(self._asking or self._saving)

    def ask(self, question: Question, answered: Callable[[Answer | None], None]) -> None:
        """Answer a question beside others; what has to come in order is waited for by the code that asks."""
        task = self._loop.create_task(self._answer(question, answered))
        tasks = self._asking if isinstance(question, Begin | HoldLease | FindStep) else self._saving
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def leave(self) -> None:
        """End what nobody waits for any more, and wait until what was handed in is saved."""
        for task in self._asking:
            task.cancel()
        while tasks := self._asking | self._saving:
            await asyncio.wait(tasks)

    async def _answer(self, question: Question, answered: Callable[[Answer | None], None]) -> None:
        answer: Answer | None = None
        try:
            answer = await self._answer_of(question)
        except TenureError as error:
            answer = Refusal(question.number, error.code, error.text)
        except Exception as error:  # noqa: BLE001 - a fault of ours, not of the code: raised where `run` is awaited
            if not self.ended.done():
                self.ended.set_exception(error)
        finally:
            answered(answer)

    async def _answer_of(self, question: Question) -> Answer:
        number, execution = question.number, self.execution
        match question:
            case Begin():
                return Standing(number, await execution.begin_effect(question.wanted))
            case End():
                await execution.end_effect(question.ended)
            case FindStep():
                return Found(number, await execution.find_step(question.name))
            case SaveStep():
                await execution.save_step(question.saved)
            case SaveCheckpoint():
                await execution.checkpoint(question.value, question.portable)
            case HoldLease():
                return Held(number, await execution.ensure_lease(question.seconds))
        return Durable(number)
