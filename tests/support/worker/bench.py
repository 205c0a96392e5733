"""A worker under test: a real Runtime on a real file, between the test's control plane and executor."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.lowlevel

from tenure.core.errors import OutcomeUnknown, StoreUnavailable
from tenure.core.faultpoints import FaultPoint
from tenure.ports.local import ExecutorRow, LocalTransaction
from tenure.stores.sqlite.local.store import SqliteLocalStore, open_local_store
from tenure.worker.config import RuntimeConfig
from tenure.worker.ended import Ended
from tenure.worker.parts import Parts
from tenure.worker.runtime import Runtime
from tests.support.worker.clock import VirtualClock
from tests.support.worker.control import MemoryControlPlane
from tests.support.worker.executor import CoroutineExecutor

T = TypeVar("T")
WAIT_S = 10.0
RESERVE_BYTES = 65_536


class CountingIds:
    """Ids in order, no jitter."""

    def __init__(self, start: str) -> None:
        self._start = start
        self._numbers = count(1)

    def new_id(self) -> str:
        return f"{self._start}-{next(self._numbers):06d}"

    def new_token(self, prefix: str) -> str:
        return f"{prefix}{self.new_id()}"

    def jitter(self) -> float:
        return 0.999


@dataclass
class Ledger:
    """What was told, and which points were reached."""

    told: list[tuple[str, dict[str, object]]] = field(default_factory=list[tuple[str, dict[str, object]]])
    points: list[tuple[FaultPoint, str]] = field(default_factory=list[tuple[FaultPoint, str]])
    at: dict[FaultPoint, Callable[[str], None]] = field(
        default_factory=dict[FaultPoint, Callable[[str], None]]
    )

    def tell(self, name: str, **fields: object) -> None:
        self.told.append((name, fields))

    def reach(self, point: FaultPoint, subject: str = "") -> None:
        self.points.append((point, subject))
        if point in self.at:
            self.at[point](subject)

    def names(self) -> list[str]:
        return [name for name, _ in self.told]

    def reached(self, point: FaultPoint) -> list[str]:
        return [subject for found, subject in self.points if found is point]


class Dead:
    """A local store after its process has died: nothing comes of anything."""

    def __init__(self) -> None:
        self.failed: Future[BaseException | None] = Future()

    def write(self, operation: Callable[[LocalTransaction], T], *, urgent: bool = False) -> Future[T]:
        return Future()

    def read(self, query: Callable[[LocalTransaction], T]) -> Future[T]:
        return Future()

    def give_up_reserve(self) -> None: ...

    def hold_reserve(self) -> bool:
        return False

    def close(self) -> None: ...


@dataclass
class Worker:
    """One process's worth of a worker."""

    runtime: Runtime
    store: SqliteLocalStore
    executor: CoroutineExecutor
    control: MemoryControlPlane
    clock: VirtualClock
    ledger: Ledger
    scope: anyio.CancelScope
    ended: Ended | None = None

    async def local(self, query: Callable[[LocalTransaction], T]) -> T:
        """Look into the local store."""
        return await asyncio.wrap_future(self.store.read(query))

    async def until(self, fact: Callable[[], object]) -> None:
        """Wait for a fact, with a bound; time stands still meanwhile."""
        with anyio.fail_after(WAIT_S):
            while not fact():
                await self.turn()

    async def turn(self) -> None:
        """Return when all that was written so far is durable, and everybody has had a turn."""
        with suppress(StoreUnavailable, OutcomeUnknown):
            await asyncio.wrap_future(self.store.write(lambda _: None))
        for _ in range(5):
            await anyio.lowlevel.checkpoint()

    async def settle(self) -> None:
        """Wait until nothing moves any more without time passing."""
        still = 0
        before: object = None
        with anyio.fail_after(WAIT_S):
            while still < 5:
                await self.turn()
                now = (len(self.control.calls), len(self.ledger.points), len(self.ledger.told))
                still, before = (still + 1 if now == before else 0), now

    async def pass_time(self, seconds: float, step_s: float = 0.5) -> None:
        """Let time pass in steps, and let everything happen that is due at each."""
        passed = 0.0
        while passed < seconds:
            step = min(step_s, seconds - passed)
            self.clock.advance(step)
            passed += step
            await self.settle()

    def crash(self) -> None:
        """Stop at once, as far as one process can: nothing is written or sent from here on."""
        self.runtime._tools.saving._store = Dead()
        self.control.is_deaf = True
        self.scope.cancel()


class Bench:
    """What outlives the worker's processes: its folder, the clock and the control plane."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = VirtualClock()
        self.control = MemoryControlPlane(self.clock)
        self.is_proved = True
        self.rows_shown: list[Sequence[ExecutorRow]] = []
        self._starts = count(1)

    def config(self, **changes: object) -> RuntimeConfig:
        values: dict[str, object] = {
            "worker_id": "worker-1",
            "node_id": "node-1",
            "resources": {"cpu_millis": 1_000.0},
            "slots": 2,
        }
        return RuntimeConfig(**(values | changes))  # pyright: ignore[reportArgumentType] - a test's own words

    def parts(self, executor: CoroutineExecutor, store: SqliteLocalStore, ledger: Ledger) -> Parts:
        async def none_left(rows: Sequence[ExecutorRow]) -> bool:
            self.rows_shown.append(rows)
            return self.is_proved

        return Parts(
            control_plane=self.control,
            commands=self.control,
            store=store,
            executor=executor,
            none_left=none_left,
            ids=CountingIds(f"start-{next(self._starts)}"),
            clock=self.clock,
            observer=ledger,
            faults=ledger,
        )

    @asynccontextmanager
    async def worker(
        self,
        executor: CoroutineExecutor,
        *,
        wait: bool = True,
        ledger: Ledger | None = None,
        **changes: object,
    ) -> AsyncGenerator[Worker]:
        """Run a worker; when the block ends it crashes, unless it has ended before."""
        ledger = ledger or Ledger()
        self.control.is_deaf = False
        with open_local_store(self.folder, self.clock, reserve_bytes=RESERVE_BYTES) as store:
            runtime = Runtime(self.parts(executor, store, ledger), self.config(**changes))
            ready = asyncio.Event()
            async with anyio.create_task_group() as group:
                worker = Worker(
                    runtime, store, executor, self.control, self.clock, ledger, group.cancel_scope
                )

                async def run() -> None:
                    worker.ended = await runtime.run(ready.set)

                group.start_soon(run)
                if wait:
                    await worker.until(lambda: ready.is_set() or worker.ended is not None)
                try:
                    yield worker
                finally:
                    group.cancel_scope.cancel()
