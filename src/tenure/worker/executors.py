"""The executors of a worker: started when needed, kept warm, and all gone when it closes. C074 C122.

`process`: one execution per process at a time; idle processes are kept, up to as many as there are slots.
`shared`: many executions in one process. The first process of all says what the app declares, and serves
whatever comes first.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import Struct

from tenure.core.errors import InvalidConfig, Unavailable
from tenure.core.execution import Finished, ManifestEntry, Work
from tenure.ports.executor import Execution, ExecutorDied
from tenure.ports.ids import Ids
from tenure.ports.local import ExecutorRow, LocalStore
from tenure.ports.observer import Observer
from tenure.wire.executor import Cancel, Stop
from tenure.worker.executor import KILLED, Executor
from tenure.worker.processes import MARKER, ExecutorsLock
from tenure.worker.spawning import Child

IMPORTS_MAX: Final = 3
"""Bound: first executors that are killed before one has told what it declares."""


class ExecutorPlan(Struct, frozen=True):
    """How executors are started.

    `faults` and `clock` name what an executor makes for itself, as `MODULE:NAME`: its layer knows neither.
    `output` is the descriptor that takes what the author's code prints.
    """

    app: str
    slots: int
    environment: Mapping[str, str]
    faults: str
    clock: str
    python: str = sys.executable
    output: int = 2
    import_s: float = 300.0
    """Bound: how long the author's module may take to import."""


@dataclass(frozen=True, slots=True)
class Remembering:
    """Saves an executor's identity before it receives work, and forgets it once it was shown dead. C103."""

    save: Callable[[ExecutorRow], Awaitable[None]]
    forget: Callable[[ExecutorRow], Awaitable[None]]


def remembered_in(store: LocalStore) -> Remembering:
    """Remember executors in the worker's own store."""

    async def save(row: ExecutorRow) -> None:
        await asyncio.wrap_future(store.write(lambda tx: tx.executors.add(row), urgent=True))

    async def forget(row: ExecutorRow) -> None:
        await asyncio.wrap_future(store.write(lambda tx: tx.executors.remove(row.pid, row.start_time)))

    return Remembering(save, forget)


@dataclass(slots=True)
class _Placing:
    """What was said of an attempt before an executor was found for it."""

    fenced_at_boot: float | None
    is_cancelled: bool = False
    is_killed: bool = False


class Executors:
    """Implements `CapabilityExecutor` with real processes. Made and used on the main thread's event loop."""

    def __init__(
        self, plan: ExecutorPlan, lock: ExecutorsLock, remembering: Remembering, ids: Ids, observer: Observer
    ) -> None:
        """Start nothing yet."""
        self._plan = plan
        self._lock = lock
        self._remembering = remembering
        self._ids = ids
        self._observer = observer
        self._manifest: list[ManifestEntry] | None = None
        self._all: set[Executor] = set()
        self._idle: list[Executor] = []
        self._shared: Executor | None = None
        self._shared_start: asyncio.Task[Executor] | None = None
        self._placing: dict[str, _Placing] = {}
        self._placed: dict[str, Executor] = {}
        self._errands: set[asyncio.Task[None]] = set()
        self._starts: set[asyncio.Task[Executor]] = set()
        self._is_stopping = False
        self._is_closing = False

    async def manifest(self) -> Sequence[ManifestEntry]:
        """Start the first executor and return what it declares.

        One that somebody killed meanwhile says nothing about the module, and another one is started.

        Raises:
            InvalidConfig: The module cannot be imported.
        """
        for tries_left in reversed(range(IMPORTS_MAX)):
            if self._manifest is not None:
                break
            try:
                self._idle.append(await self._start())
            except Unavailable as error:
                if error.reason != KILLED or not tries_left:
                    raise InvalidConfig(f"{self._plan.app}: {error.text}") from error
        return self._manifest or []

    async def run(self, work: Work, execution: Execution) -> Finished:
        """Execute and return how the code ended; the contract is the port's."""
        placing = self._placing[work.attempt_id] = _Placing(work.fenced_at_boot)
        try:
            executor = self._take_warm(work) or await self._find(work)
        finally:
            del self._placing[work.attempt_id]
        if placing.is_killed:
            self._give_back(executor, work)
            text = "it was killed before it began"
            raise ExecutorDied(text, alone=True, cause="executor_died", signal=signal.SIGKILL)
        if placing.fenced_at_boot != work.fenced_at_boot:
            work = msgspec.structs.replace(work, fenced_at_boot=placing.fenced_at_boot)
        self._placed[work.attempt_id] = executor
        try:
            if placing.is_cancelled:
                asyncio.get_running_loop().call_soon(self.cancel, work.attempt_id)
            return await executor.run(work, execution)
        finally:
            del self._placed[work.attempt_id]
            self._give_back(executor, work)

    def cancel(self, attempt_id: str) -> None:
        """Tell the code to stop; what has ended meanwhile is not told."""
        if executor := self._placed.get(attempt_id):
            executor.line.send(Cancel(attempt_id))
        elif placing := self._placing.get(attempt_id):
            placing.is_cancelled = True

    async def kill(self, attempt_id: str) -> None:
        """Kill the attempt's executor and return when it is shown dead."""
        if executor := self._placed.get(attempt_id):
            await executor.kill_and_wait()
        elif placing := self._placing.get(attempt_id):
            placing.is_killed = True  # Nothing of it is executed, and nothing will be

    def lease_moved(self, attempt_id: str, fenced_at_boot: float) -> None:
        """Tell the code's side the newest local deadline, without waiting."""
        if executor := self._placed.get(attempt_id):
            executor.line.move_lease(attempt_id, fenced_at_boot)
        elif placing := self._placing.get(attempt_id):
            placing.fenced_at_boot = fenced_at_boot

    def stop(self) -> None:
        """Tell all code, now and later, that this worker is on its way out."""
        self._is_stopping = True
        for executor in self._all:
            executor.line.send(Stop())

    async def close(self) -> None:
        """End all executors; returns when all are shown dead."""
        self._is_closing = True
        for executor in tuple(self._all):
            if executor.is_idle and executor.ready.done():
                executor.retire()
            else:
                executor.kill()
        for executor in tuple(self._all):
            await executor.wait_gone()
        while rest := self._starts | self._errands:
            await asyncio.wait(rest)

    def _take_warm(self, work: Work) -> Executor | None:
        """Return an executor that waits for work; taken at once, so that the hand-over waits for nothing."""
        if work.isolation == "process":
            return self._take_idle()
        if self._shared is None or not self._shared.is_alive:
            self._shared = None if self._shared_start is not None else self._take_idle()
        return self._shared

    def _take_idle(self) -> Executor | None:
        while self._idle:
            executor = self._idle.pop()
            if executor.is_alive:
                return executor
        return None

    async def _find(self, work: Work) -> Executor:
        if work.isolation == "shared":
            if self._shared_start is None:
                self._shared_start = self._start_aside()
                self._shared_start.add_done_callback(self._share)
            return await asyncio.shield(self._shared_start)
        start = self._start_aside()
        try:
            return await asyncio.shield(start)
        except asyncio.CancelledError:
            start.add_done_callback(self._keep)  # Whoever wanted it is gone; the next one is glad of it
            raise

    def _start_aside(self) -> "asyncio.Task[Executor]":
        task = asyncio.get_running_loop().create_task(self._start())
        self._starts.add(task)
        task.add_done_callback(self._starts.discard)
        return task

    async def _start(self) -> Executor:
        """Start a process, remember it, and return it once it has said what it declares."""
        executor, row = self._spawn()
        try:
            # 1. Remember it. A crash before this leaves a process that holds the lock, and has no work.
            await self._remembering.save(row)
            # 2. Hear what it declares, which was imported meanwhile. Only then it is given anything.
            self._check(await self._declared(executor))
        except BaseException:
            await executor.kill_and_wait()
            raise
        if self._is_stopping:
            executor.line.send(Stop())
        return executor

    def _spawn(self) -> tuple[Executor, ExecutorRow]:
        if self._is_closing:
            raise Unavailable("this worker's executors are ending")
        marker = f"{self._lock.node_id}/{self._ids.new_id()}"
        ours, theirs = socket.socketpair()
        try:
            lock = self._lock.share()
            child = Child(
                self._argv(theirs.fileno(), lock),
                environment={**self._plan.environment, MARKER: marker},
                output=self._plan.output,
                descriptors=(theirs.fileno(), lock),
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.settimeout(0)
        row = ExecutorRow(child.pid, child.start_time, self._lock.boot_id, marker)
        executor = Executor(child, ours, lambda gone: self._gone(gone, row))
        self._all.add(executor)
        self._observer.tell("executor.started", pid=child.pid)
        return executor, row

    def _argv(self, line: int, lock: int) -> list[str]:
        plan = self._plan
        named = [plan.app, plan.faults, plan.clock]
        return [plan.python, "-m", "tenure.app.child", str(line), str(lock), str(os.getpid()), *named]

    async def _declared(self, executor: Executor) -> list[ManifestEntry]:
        await asyncio.wait({executor.ready}, timeout=self._plan.import_s)
        if not executor.ready.done():
            raise Unavailable(f"the import of {self._plan.app} takes longer than {self._plan.import_s:g} s")
        return executor.ready.result()

    def _check(self, declared: list[ManifestEntry]) -> None:
        if self._manifest is None:
            self._manifest = declared
        elif declared != self._manifest:
            raise InvalidConfig(
                f"{self._plan.app} declares other capabilities than when this worker started; start it again"
            )

    def _give_back(self, executor: Executor, work: Work) -> None:
        if work.isolation != "shared":
            self._keep_warm(executor)

    def _share(self, start: "asyncio.Task[Executor]") -> None:
        self._shared_start = None
        if not start.cancelled() and start.exception() is None:
            self._shared = start.result()

    def _keep(self, start: "asyncio.Task[Executor]") -> None:
        if not start.cancelled() and start.exception() is None:
            self._keep_warm(start.result())

    def _keep_warm(self, executor: Executor) -> None:
        if executor.is_alive and len(self._idle) < self._plan.slots and not self._is_closing:
            self._idle.append(executor)
        else:
            executor.retire()

    def _gone(self, executor: Executor, row: ExecutorRow) -> None:
        self._all.discard(executor)
        if executor in self._idle:
            self._idle.remove(executor)
        self._observer.tell("executor.ended", pid=row.pid, how=str(executor.gone.result()))
        errand = asyncio.get_running_loop().create_task(self._forget(row))
        self._errands.add(errand)
        errand.add_done_callback(self._errands.discard)

    async def _forget(self, row: ExecutorRow) -> None:
        try:
            await self._remembering.forget(row)
        except Unavailable as error:
            # It is found dead at the next start as well.
            self._observer.tell("executor.kept", pid=row.pid, error=error.text)
