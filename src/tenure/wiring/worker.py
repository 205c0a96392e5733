"""The worker process: local store, executors, HTTP to the control plane, and the Runtime that joins them."""

import asyncio
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Final

from tenure.client.command_stream import HttpCommandStream
from tenure.client.control_plane import HttpControlPlane
from tenure.client.http import Newest
from tenure.core.errors import InvalidConfig, Unauthenticated
from tenure.ports.observer import Observer
from tenure.settings import WorkerSettings
from tenure.stores.sqlite.local.store import SqliteLocalStore, open_local_store
from tenure.system.capacity import capacity
from tenure.system.clock import SystemClock
from tenure.system.environment import inherited_environment
from tenure.system.faults import faults_of
from tenure.system.ids import SystemIds
from tenure.system.machine import boot_id, node_id
from tenure.telemetry.libraries import libraries_told
from tenure.telemetry.log import LogObserver
from tenure.wiring.running import run_process
from tenure.wiring.warnings import teller
from tenure.worker.config import RuntimeConfig
from tenure.worker.ended import Ended
from tenure.worker.executors import ExecutorPlan, Executors, remembered_in
from tenure.worker.parts import Parts
from tenure.worker.processes import ExecutorsLock
from tenure.worker.runtime import Runtime

Ready = Callable[[int], None]

EXECUTORS_LOCK: Final = "executors.lock"
FAULTS_OF_AN_EXECUTOR: Final = "tenure.system.faults:faults_of"
CLOCK_OF_AN_EXECUTOR: Final = "tenure.system.clock:SystemClock"
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def run_worker(settings: WorkerSettings, ready: Ready) -> Ended:
    """Work until a signal or the control plane ends it, and say which it was.

    `ready` is told the number of slots, once, when it is registered and takes commands.

    Raises:
        InvalidConfig: The application, the state folder or a setting cannot be used.
        Unauthenticated: No credential is set.
        StoreUnavailable: The local store cannot be read.
    """
    clock = SystemClock()
    with (
        LogObserver(sys.stderr, clock.wall, clock.boot, json=settings.json, color=settings.color) as log,
        libraries_told(log.tell),
        open_local_store(settings.state, clock, warn=teller(log)) as store,
    ):
        return run_process(lambda: _work(settings, clock, log, store, ready), log)


async def _work(
    settings: WorkerSettings, clock: SystemClock, log: LogObserver, store: SqliteLocalStore, ready: Ready
) -> Ended:
    config, ids = _config(settings), SystemIds()
    async with AsyncExitStack() as stack:
        newest = Newest()
        control_plane = HttpControlPlane(settings.client.url, _credential(settings), newest)
        stack.push_async_callback(control_plane.aclose)
        commands = HttpCommandStream(settings.client.url, log, newest=newest)
        stack.push_async_callback(commands.aclose)
        lock = _executors_lock(settings.state, log)
        stack.callback(lock.close)
        runtime = Runtime(
            Parts(
                control_plane=control_plane,
                commands=commands,
                store=store,
                executor=Executors(_plan(settings, config), lock, remembered_in(store), ids, log),
                none_left=lock.none_left,
                ids=ids,
                clock=clock,
                observer=log,
                faults=faults_of("supervisor", settings.faults),
            ),
            config,
        )
        with _stopped_by_signals(runtime.stop):
            return await runtime.run(_once(lambda: ready(config.slots)))


def _config(settings: WorkerSettings) -> RuntimeConfig:
    resources = capacity() | settings.resources
    return RuntimeConfig(
        worker_id=settings.worker_id,
        node_id=node_id(),
        resources=resources,
        slots=settings.slots or max(1, int(resources["cpu_millis"] / 1000)),
        queues=settings.queues,
        labels=settings.labels,
        on_stop=settings.on_stop,
        grace_s=settings.grace_s,
    )


def _plan(settings: WorkerSettings, config: RuntimeConfig) -> ExecutorPlan:
    return ExecutorPlan(
        app=settings.app,
        slots=config.slots,
        environment=inherited_environment(),
        faults=FAULTS_OF_AN_EXECUTOR,
        clock=CLOCK_OF_AN_EXECUTOR,
    )


def _credential(settings: WorkerSettings) -> str:
    if settings.client.token is None:
        raise Unauthenticated(f"no credential is set for {settings.client.url}")
    return settings.client.token


def _executors_lock(state: Path, observer: Observer) -> ExecutorsLock:
    path = state / EXECUTORS_LOCK
    try:
        return ExecutorsLock(path, node_id=node_id(), boot_id=boot_id(), observer=observer)
    except OSError as error:
        raise InvalidConfig(f"{path} cannot be used: {error.strerror or error}", path="--state") from error


def _once(tell: Callable[[], None]) -> Callable[[], None]:
    """Return a function that tells only the first time that it is called."""
    told = False

    def once() -> None:
        nonlocal told
        if not told:
            told = True
            tell()

    return once


@contextmanager
def _stopped_by_signals(stop: Callable[[], None]) -> Generator[None]:
    """Have the first signal drain and the second cancel; a third one is the kernel's, and ends the process.

    That is an ordinary crash: executors end with their supervisor, and the next start finds everything.
    """
    loop = asyncio.get_running_loop()
    signals = 0

    def told() -> None:
        nonlocal signals
        signals += 1
        stop()
        if signals == 2:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
                signal.signal(number, signal.SIG_DFL)

    for number in _SIGNALS:
        loop.add_signal_handler(number, told)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
