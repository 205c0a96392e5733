"""One control plane and one worker as real processes, as a user starts them."""

import secrets
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import psutil

from bench import app
from bench.cost import Usage, usage
from tenure.client.client import Client
from tenure.testing.processes import Managed, Processes

WORKER = "bench"
LOOK_S = 0.02
WAIT_S = 300.0
ROOT = Path(__file__).resolve().parent.parent


class Plant:
    """A running pair in a new folder; use as a context, which leaves nothing running."""

    def __init__(self, folder: Path, slots: int) -> None:
        """Start both, and wait until the worker takes work."""
        self.folder = folder
        self.store = folder / "tenure.db"
        self.counted = folder / "executions"
        self.token = f"tnr_k_{secrets.token_urlsafe(24)}"
        self._processes = Processes(folder / "logs")
        try:
            self._server = self._start(
                "server",
                *("server", "--json", "--store", f"sqlite:///{self.store}", "--listen", "127.0.0.1:0"),
                TENURE_ADMIN_TOKEN=self.token,
            )
            self.url = str(self._server.wait_ready()["url"])
            self._worker = self._start(
                "worker",
                *("worker", "--json", "--app", "bench.app:app", "--id", WORKER, "--slots", str(slots)),
                *("--state", str(folder / "state")),
                TENURE_URL=self.url,
                TENURE_TOKEN=self.token,
                **{app.COUNT: str(self.counted)},
            )
            self._worker.wait_ready()
            self.client = Client(self.url, self.token)
        except BaseException:
            self._processes.close()
            raise

    def usage(self) -> Usage:
        """Return what both have used so far, the worker's executors apart."""
        executors = [child for child in self._worker.children() if child.is_running()]
        return usage(
            {
                "server": [psutil.Process(self._server.pid)],
                "supervisor": [psutil.Process(self._worker.pid)],
                "executors": executors,
            }
        )

    @property
    def pids(self) -> dict[str, int]:
        """The pids of both."""
        return {"server": self._server.pid, "supervisor": self._worker.pid}

    def executions(self) -> int:
        """Return how often a handler that counts has begun."""
        return app.count(self.counted)

    def wait_executions(self, wanted: int) -> None:
        """Return once so many have begun."""
        self.wait(lambda: self.executions() >= wanted, f"{wanted} executions")

    def wait_settled(self) -> None:
        """Return once nothing is open or claimed any more."""
        for state in ("open", "claimed"):
            self.wait(
                lambda state=state: next(self.client.tasks(state=state, limit=1), None) is None,
                f"no task to be {state}",
            )

    def wait(self, is_so: Callable[[], bool], what: str) -> None:
        """Return once it is so, or raise with the logs."""
        until = time.monotonic() + WAIT_S
        pause = threading.Event()
        while not is_so():
            running = self._server.is_running and self._worker.is_running
            if not running or time.monotonic() > until:
                raise TimeoutError(
                    f"waited for {what}; {self.executions()} executions\n{self._processes.report()}"
                )
            pause.wait(LOOK_S)

    def stop(self) -> None:
        """Tell both to leave, and wait until they have."""
        for process in (self._worker, self._server):
            process.terminate()
            if process.wait_exit() != 0:
                raise RuntimeError(f"{process.name} did not leave cleanly\n{process.logs()}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self._processes.close()

    def _start(self, name: str, *arguments: str, **environment: str) -> Managed:
        return self._processes.start(
            name, [sys.executable, "-m", "tenure.cli.main", *arguments], environment=environment, cwd=ROOT
        )
