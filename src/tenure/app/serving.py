"""Takes work from the line and executes it: on the main thread one at a time, or on a loop many at once."""

import os
import threading
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import Final

from tenure.app.app import Declaration
from tenure.app.attempt import Attempt
from tenure.app.link import Link, Order
from tenure.app.outcome import outcome_of_bad_input, outcome_of_error, outcome_of_result
from tenure.app.running import Running, Surroundings
from tenure.core.errors import InvariantBroken, TenureError
from tenure.core.execution import Finished, Work
from tenure.wire.executor import Cancel, Ended, LeaseMoved, Run, Stop

LEAVING_S: Final = 1.0  # Bound: what the author's exit handlers get when the line has closed

Execution = tuple[Declaration, Running]


def call_plain(declared: Declaration, running: Running) -> Finished:
    """Execute a plain function on this thread; returns its outcome whatever it does. C060."""
    try:
        arguments = declared.signature.read(running.work.input)
    except TenureError as error:
        return outcome_of_bad_input(error)
    try:
        result = declared.function(Attempt(running), **arguments)
    except BaseException as error:  # noqa: BLE001 - the border to user code: exits are outcomes too (C060)
        finished = outcome_of_error(error, running, declared.recovery)
    else:
        finished = outcome_of_result(result, declared.recovery)
    running.wait_effects()
    return finished


class Serving:
    """What this process executes; orders come on the thread that reads the line."""

    def __init__(self, link: Link, around: Surroundings) -> None:
        """Serve nothing yet."""
        self._link = link
        self._around = around
        self._declared: Mapping[tuple[str, str], Declaration] = {}
        self._running: dict[str, Running] = {}
        self._guard = threading.Lock()
        self._waiting: SimpleQueue[Execution | None] = SimpleQueue()
        self._deliver: Callable[[list[Execution | None]], object] = self._keep_waiting

    def offer(self, declared: Mapping[tuple[str, str], Declaration]) -> None:
        """Serve these from now on; said before the supervisor learns of them."""
        self._declared = declared

    def take(self, orders: list[Order]) -> None:
        """Act on what the supervisor says."""
        executions: list[Execution | None] = []
        for order in orders:
            match order:
                case Run():
                    executions.append(self._begin(order.work))
                case Cancel():
                    if running := self._running.get(order.attempt_id):
                        running.cancel()
                case LeaseMoved():
                    if running := self._running.get(order.attempt_id):
                        running.move_lease(order.fenced_at_boot)
                case Stop():
                    self._around.is_stopping = True
        if executions:
            with self._guard:
                self._deliver(executions)

    def closed(self) -> None:
        """End this process: at once if it executes anything, else after the author's exit handlers."""
        if self._running:
            os._exit(0)
        threading.Thread(target=_end, name="end", daemon=True).start()
        with self._guard:
            self._deliver([None])

    def deliver_to(self, deliver: Callable[[list[Execution | None]], object]) -> None:
        """Have executions handed to a loop from now on, and first those that wait."""
        with self._guard:
            waiting: list[Execution | None] = []
            try:
                while True:
                    waiting.append(self._waiting.get_nowait())
            except Empty:
                self._deliver = deliver
            if waiting:
                deliver(waiting)

    def next(self) -> Execution | None:
        """Wait for the next execution; None: the line has closed."""
        return self._waiting.get()

    def ended(self, running: Running, finished: Finished) -> None:
        """Report an outcome now."""
        attempt_id = self._leave(running)
        self._link.send(Ended(attempt_id, finished), attempt_id)

    def put_ended(self, running: Running, finished: Finished) -> None:
        """Report an outcome with the next `flush`."""
        attempt_id = self._leave(running)
        self._link.put(Ended(attempt_id, finished), attempt_id)

    def flush(self) -> None:
        """Write what was put."""
        self._link.flush()

    def call_on_thread(self, execution: Execution) -> None:
        """Execute a plain function beside others."""
        declared, running = execution
        self._around.threads.call(lambda: self.ended(running, call_plain(declared, running)))

    def _begin(self, work: Work) -> Execution:
        declared = self._declared.get((work.capability, work.version))
        if declared is None:
            raise InvariantBroken(f"{work.capability} {work.version} was given to a process without it")
        running = Running(work, self._around)
        self._running[work.attempt_id] = running
        return declared, running

    def _leave(self, running: Running) -> str:
        attempt_id = running.work.attempt_id
        del self._running[attempt_id]
        return attempt_id

    def _keep_waiting(self, executions: list[Execution | None]) -> None:
        for execution in executions:
            self._waiting.put(execution)


def _end() -> None:
    """End this process in a moment, whatever its exit handlers and threads do."""
    threading.Event().wait(LEAVING_S)
    os._exit(0)
