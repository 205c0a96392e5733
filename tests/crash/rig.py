"""One control plane behind a proxy, and workers with their state folders: all of them real processes."""

import os
import select
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self, TypeVar

import apsw
import psutil

from tenure.client.client import Client
from tenure.core.backoff import Backoff
from tenure.core.errors import DeliveryFailed
from tenure.core.faultpoints import FaultPoint
from tenure.core.task import TaskSpec
from tenure.core.view import TaskView
from tenure.testing.gates import Gate
from tenure.testing.processes import Managed, Processes
from tenure.testing.proxy import Proxy
from tests.crash.stores import query

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]
TENURE = str(Path(sys.executable).with_name("tenure"))
TOKEN = "tnr_a_" + "crash" * 8
WAIT_S = 25.0
"""Bound on everything that a healed system has to come to."""

TICK_S = 0.03
_DEAD_S = 5.0


def until(holds: Callable[[], T | None], what: str | Callable[[], str], timeout_s: float = WAIT_S) -> T:
    """Return what holds once it does; the fact is looked at again and again, with a bound.

    Raises:
        TimeoutError: It never held; the text says what was waited for.
    """
    tick, end = threading.Event(), time.monotonic() + timeout_s
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > end:
            raise TimeoutError(f"waited {timeout_s:g} s for {what if isinstance(what, str) else what()}")
        tick.wait(TICK_S)


class Rig:
    """A control plane, its proxy, a gate at the fault points, and workers by name; use as a context.

    Args:
        folder: Where stores, state folders and logs go.
        app: What the workers load.
        watch: Fault points whose visits are recorded although nothing strikes there.
        gated: Whether the processes stop at fault points at all.
    """

    def __init__(
        self,
        folder: Path,
        *,
        app: str = "tests.crash.work:app",
        watch: Iterable[FaultPoint] = (),
        gated: bool = True,
    ) -> None:
        """Start the server and its proxy; workers are started one by one."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.app = folder, app
        self.store = folder / "tenure.db"
        self.kills = 0
        self.left: list[str] = []
        self.workers: dict[str, Managed] = {}
        self.names: list[str] = []
        self._orphans: list[psutil.Process] = []
        self.gate = Gate(watch)
        settings = {"TENURE_ADMIN_TOKEN": TOKEN, "TENURE_TOKEN": TOKEN, "TENURE_URL": "", "NO_COLOR": "1"}
        if gated:
            settings |= self.gate.environment
        self.processes = Processes(folder / "logs", settings)
        try:
            self.server = self._serve()
            self.url = str(self.server.wait_ready()["url"])
            self.proxy = Proxy(self.url)
            self.client = Client(self.url, TOKEN)
        except BaseException:
            self.processes.close()
            self.gate.close()
            raise

    # The control plane.

    def _serve(self) -> Managed:
        argv = [TENURE, "server", "--json", "--store", f"sqlite:///{self.store}", "--listen", "127.0.0.1:0"]
        return self.processes.start("server", argv, cwd=self.folder)

    def kill_server(self) -> None:
        """`kill -9`; nothing answers until `start_server`."""
        self.server.kill()
        self.kills += 1

    def start_server(self) -> None:
        """Start it again on its store, and lead the proxy there."""
        self.server = self._serve()
        self.url = str(self.server.wait_ready()["url"])
        self.proxy.retarget(self.url)
        self.client.close()
        self.client = Client(self.url, TOKEN)

    # Workers.

    def state_of(self, name: str) -> Path:
        """Return a worker's state folder."""
        return self.folder / f"state-{name}"

    def start_worker(
        self,
        name: str,
        *arguments: str,
        ready: bool = True,
        url: str | None = None,
        state: Path | None = None,
        grace_s: float = 1.0,
        slots: int = 1,
    ) -> Managed:
        """Start a worker on its state folder, the first time or again."""
        argv = [
            TENURE,
            "worker",
            "--json",
            f"--app={self.app}",
            f"--url={url or self.proxy.url}",
            f"--state={state or self.state_of(name)}",
            f"--id={name}",
            f"--slots={slots}",
            f"--grace={grace_s:g}",
            *arguments,
        ]
        worker = self.processes.start(name, argv, cwd=ROOT)
        self.workers[name] = worker
        if name not in self.names:
            self.names.append(name)
        if ready:
            worker.wait_ready()
        return worker

    def kill_worker(self, name: str) -> None:
        """`kill -9` the supervisor; its executors share its fate."""
        self._orphans += self.workers[name].children()
        self.workers[name].kill()
        self.kills += 1

    def kill_executors(self, name: str, *, reaped: bool = False) -> int:
        """`kill -9` every executor of a worker, and return how many there were once all are dead.

        With `reaped` their supervisor has noticed, too; one that stands at a fault point cannot.
        """
        pids = [child.pid for child in self.workers[name].children()]
        held = [os.pidfd_open(pid) for pid in pids]
        try:
            for executor in held:
                signal.pidfd_send_signal(executor, signal.SIGKILL)
            for executor in held:
                # Dead with its last thread: the supervisor may stand at a point and not reap it, and a leader
                # that is a zombie already may have threads that still hold its end of the line.
                if not select.select([executor], [], [], _DEAD_S)[0]:
                    raise TimeoutError(f"an executor of {name} has not died in {_DEAD_S:g} s")
        finally:
            for executor in held:
                os.close(executor)
        self.kills += len(held)
        if reaped:
            until(lambda: not any(map(psutil.pid_exists, pids)), f"{name} to notice", _DEAD_S)
        return len(held)

    # Tasks.

    def submit(self, capability: str, input: object, *, lease_ttl_s: float = 30.0, **more: object) -> str:
        """Submit a task that retries at once, and return its id."""
        backoff = Backoff(initial_s=0.05, factor=1.0, max_s=0.05)
        spec = TaskSpec(
            capability=capability,
            input=input,
            lease_ttl_s=lease_ttl_s,
            backoff=backoff,
            **more,  # pyright: ignore[reportArgumentType]  - fields of the spec by name
        )
        return self.client.submit_many([spec])[0].id

    def task(self, task_id: str) -> TaskView | None:
        """Return the task, or None while the server does not answer."""
        try:
            return self.client.task(task_id)
        except DeliveryFailed:
            return None

    def wait_task(
        self, task_id: str, holds: Callable[[TaskView], bool], what: str, timeout_s: float = WAIT_S
    ) -> TaskView:
        """Return the task once something holds of it."""
        seen: list[TaskView] = []

        def look() -> TaskView | None:
            task = self.task(task_id)
            if task is not None:
                seen[:] = [task]
            return task if task is not None and holds(task) else None

        return until(look, lambda: f"task {task_id} {what}; it is {_shown(seen)}", timeout_s)

    # Looking at local stores from outside.

    def local(self, name: str) -> Path:
        """Return the file of a worker's local store."""
        return self.state_of(name) / "worker.db"

    def is_idle(self, name: str) -> bool:
        """Say whether a worker has nothing unfinished and nothing left to report."""
        asked = (
            "select (select count(*) from attempt where state in ('pending', 'running'))"
            " + (select count(*) from event where state = 'pending')"
        )
        try:
            return not query(self.local(name), asked)[0][0]
        except apsw.Error:
            return False  # being made, or being recovered by its owner at this instant

    def wait_idle(self, name: str, timeout_s: float = WAIT_S) -> None:
        """Return once a worker has nothing unfinished and nothing left to report."""
        until(lambda: self.is_idle(name), f"worker {name} to be idle", timeout_s)

    # The end.

    def stop(self) -> dict[str, int]:
        """Ask every process to leave, and return how each has ended; one that just starts is ready first."""
        ends: dict[str, int] = {}
        for worker in self.workers.values():
            worker.wait_ready()
        for worker in self.workers.values():
            worker.terminate()
        for name, worker in self.workers.items():
            ends[name] = worker.wait_exit()
        self.server.terminate()
        ends["server"] = self.server.wait_exit()
        return ends

    def close(self) -> None:
        """End everything; `left` then names what nobody had started any more."""
        self.client.close()
        self.gate.close()
        psutil.wait_procs(self._orphans, timeout=_DEAD_S)  # what shares a fate takes a moment to meet it
        self.left = self.processes.close()
        self.proxy.close()

    def remove(self) -> None:
        """Remove the folder with all that it holds."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        self.close()
        if error is not None:
            error.add_note(self.processes.report())


def _shown(seen: list[TaskView]) -> str:
    if not seen:
        return "not to be seen"
    task = seen[0]
    return f"{task.state}, generation {task.generation}, losses {task.losses}, error {task.error}"
