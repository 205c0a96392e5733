"""An executor whose capabilities are coroutines in this process; it keeps the port's promises on death."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

import anyio

from tenure.core.canonical import digest
from tenure.core.capability import Recovery
from tenure.core.errors import TenureError
from tenure.core.execution import Finished, ManifestEntry, Work
from tenure.core.task import ErrorInfo
from tenure.ports.executor import Execution, ExecutorDied

Code = Callable[["Run"], Awaitable[object]]


@dataclass
class Run:
    """One execution, as its code sees it."""

    work: Work
    execution: Execution
    told: asyncio.Event = field(default_factory=asyncio.Event)
    deadlines: list[float] = field(default_factory=list[float])

    async def until_told(self) -> None:
        """Wait for the word to stop, then end as cancelled."""
        await self.told.wait()
        raise Stopped


class Stopped(Exception):
    """The code stops because it was told to."""


class Unknown(Exception):
    """The code says that nobody can know what happened."""


class CoroutineExecutor:
    """Runs coroutines; a kill cancels one, and it is dead once it has unwound."""

    def __init__(self) -> None:
        self.entries: list[ManifestEntry] = []
        self.codes: dict[str, Code] = {}
        self.runs: list[Run] = []
        self.alive: dict[str, tuple[Run, asyncio.Task[object]]] = {}
        self.deaths: dict[str, ExecutorDied] = {}
        self.most_alive = 0
        self.is_stopping = False
        self.is_closed = False
        self.fault: Exception | None = None

    def add(self, name: str, code: Code, recovery: Recovery = Recovery.RECOMPUTE, version: str = "1") -> None:
        """Declare a capability."""
        digested = digest([name, version, str(recovery)])
        self.entries.append(ManifestEntry(name, version, recovery, "", {}, "shared", digested))
        self.codes[name] = code

    def die(self, attempt_id: str, *, alone: bool = True, cause: str = "executor_died") -> None:
        """Let the process of an execution die by itself."""
        self.deaths[attempt_id] = ExecutorDied("it died", alone=alone, cause=cause, signal=9)
        self.alive[attempt_id][1].cancel()

    def started(self, attempt_id: str) -> list[Run]:
        """Return the executions of an attempt so far."""
        return [run for run in self.runs if run.work.attempt_id == attempt_id]

    async def manifest(self) -> Sequence[ManifestEntry]:
        return self.entries

    async def run(self, work: Work, execution: Execution) -> Finished:
        if self.fault is not None:
            raise self.fault
        run = Run(work, execution)
        self.runs.append(run)
        task = asyncio.ensure_future(self.codes[work.capability](run))
        self.alive[work.attempt_id] = (run, task)
        self.most_alive = max(self.most_alive, len(self.alive))
        try:
            return await self._end(task, work.attempt_id)
        finally:
            if not task.done():
                task.cancel()
                with anyio.CancelScope(shield=True):
                    await asyncio.wait([task])
            del self.alive[work.attempt_id]

    async def _end(self, task: "asyncio.Task[object]", attempt_id: str) -> Finished:
        await asyncio.wait([task])
        if task.cancelled():
            raise self.deaths.pop(attempt_id)
        error = task.exception()
        match error:
            case None:
                return Finished("succeeded", result=task.result())
            case Stopped():
                return Finished("cancelled")
            case Unknown():
                return Finished("unknown", subjects=tuple(error.args))
            case TenureError():
                return Finished("failed", error=ErrorInfo(type=error.code, message=error.text))
            case _:
                return Finished("failed", error=ErrorInfo(type=type(error).__name__, message=str(error)))

    def cancel(self, attempt_id: str) -> None:
        if attempt_id in self.alive:
            self.alive[attempt_id][0].told.set()

    async def kill(self, attempt_id: str) -> None:
        found = self.alive.get(attempt_id)
        if found is None:
            return
        self.deaths.setdefault(
            attempt_id, ExecutorDied("killed", alone=True, cause="executor_died", signal=9)
        )
        found[1].cancel()
        await asyncio.wait([found[1]])

    def lease_moved(self, attempt_id: str, fenced_at_boot: float) -> None:
        if attempt_id in self.alive:
            self.alive[attempt_id][0].deadlines.append(fenced_at_boot)

    def stop(self) -> None:
        self.is_stopping = True

    async def close(self) -> None:
        for id_ in tuple(self.alive):
            await self.kill(id_)
        self.is_closed = True


async def add(run: Run) -> object:
    """Return the sum of the input's numbers."""
    return sum(cast("dict[str, int]", run.work.input).values())
