"""The story's processes: one control plane, two workers, one remote service; struck, and started again.

A struck process gets SIGKILL, a worker with everything it has started. Started again, it is given the same
state: the workers their folders, the control plane its store and its address.
"""

import contextlib
import secrets
import sys
from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType
from typing import Final

import psutil

from tenure.client.client import Client
from tenure.testing.processes import EXIT_S, Managed, ProcessEnded, Processes
from tenure.wire.service import TokenRequest

WORKERS: Final = ("north", "south")
SLOTS: Final = 3
RENDER_S: Final = 1.5

MISBEHAVIOUR: Final = ("lose:create:1", "delay:create:2:4", "delay:charge:1:4")
"""The remote service's bad manners. Its client gives up after 5 s, so a late reply is worth waiting for."""

# Settings of the person who runs the story would change it.
_NOBODYS: Final = MappingProxyType({"TENURE_STATE": "", "TENURE_FAULTS": ""})


class Fleet:
    """Everything that runs; use `Processes` around it, which leaves nothing running."""

    def __init__(self, folder: Path, processes: Processes) -> None:
        """Start nothing yet; the folder gets the store, the state folders and the journal."""
        self.journal = folder / "remote.journal"
        self.url = ""
        self._folder = folder
        self._processes = processes
        self.admin_token = f"tnr_k_{secrets.token_urlsafe(24)}"
        self._worker_token = ""
        self._server: Managed | None = None
        self._service: Managed | None = None
        self._workers: dict[str, Managed] = {}
        self.service_url = ""

    @property
    def workers(self) -> list[str]:
        """The workers' names."""
        return list(self._workers)

    def start(self) -> Client:
        """Start the remote service and the control plane, then the workers; return a client."""
        self._service = self._start(
            "service",
            "tenure.demo.service",
            *("--journal", str(self.journal), "--job-s", str(RENDER_S)),
            *(option for plan in MISBEHAVIOUR for option in ("--misbehave", plan)),
        )
        self.start_server("127.0.0.1:0")
        self.service_url = str(self._service.wait_ready()["url"])
        self.url = str(self._running_server.wait_ready()["url"])
        client = Client(self.url, self.admin_token)
        self._worker_token = client.create_token(TokenRequest(role="worker", name="fleet")).token
        for name in WORKERS:
            self.start_worker(name)
        return client

    def start_server(self, listen: str | None = None) -> None:
        """Start the control plane on its store; without an address, at the one it had."""
        self._server = self._tenure(
            "server",
            *("server", "--json", "--store", f"sqlite:///{self._folder / 'tenure.db'}"),
            *("--listen", listen or self.url.removeprefix("http://")),
            TENURE_ADMIN_TOKEN=self.admin_token,
        )

    def start_worker(self, name: str) -> None:
        """Start a worker on its state folder."""
        self._workers[name] = self._tenure(
            name,
            *("worker", "--json", "--app", "tenure.demo.capabilities:app", "--id", name),
            *("--state", str(self._folder / name), "--slots", str(SLOTS), "--grace", "5"),
            TENURE_URL=self.url,
            TENURE_TOKEN=self._worker_token,
        )

    def is_up(self, name: str) -> bool:
        """Say whether a worker takes work: it runs and has said that it is ready."""
        return self._workers[name].is_running and _is_ready(self._workers[name])

    def server_is_up(self) -> bool:
        """Say whether the control plane has said that it answers."""
        return self._running_server.is_running and _is_ready(self._running_server)

    def strike_worker(self, name: str) -> int:
        """Kill a worker and every process that it has started, in one stroke; return how many died."""
        supervisor = self._workers[name]
        executors = supervisor.children()
        supervisor.kill()
        _kill(executors)
        return 1 + len(executors)

    def executors(self, name: str) -> list[psutil.Process]:
        """Return a worker's executor processes."""
        return self._workers[name].children()

    def strike_server(self) -> None:
        """Kill the control plane."""
        self._running_server.kill()

    def check(self) -> None:
        """Raise `ProcessEnded` with its logs if a process has ended that nobody struck."""
        for process in (self._service, self._server, *self._workers.values()):
            if process is not None and process.exit_code not in (None, -9):
                raise ProcessEnded(f"{process.name} ended by itself\n{process.logs()}")

    def cli(self, name: str, *arguments: str) -> str:
        """Run one public command as a person would, and return what it printed."""
        command = self._tenure(name, *arguments, TENURE_URL=self.url, TENURE_TOKEN=self.admin_token)
        code = command.wait_exit()
        command.release()
        if code != 0:
            raise ProcessEnded(f"tenure {' '.join(arguments)} ended with {code}\n{command.logs()}")
        return command.out.read_text()

    def leave(self) -> dict[str, int | None]:
        """Tell workers to drain, then the control plane to end; return what each ended with, if it did."""
        exits: dict[str, int | None] = {}
        for group in (self._workers.values(), (self._running_server,)):
            for process in group:
                process.terminate()
            for process in group:
                with contextlib.suppress(TimeoutError):
                    process.wait_exit(EXIT_S)
                exits[process.name] = process.exit_code
        return exits

    @property
    def _running_server(self) -> Managed:
        assert self._server is not None  # noqa: S101 - `start` comes first
        return self._server

    def _tenure(self, name: str, *arguments: str, **environment: str) -> Managed:
        return self._start(name, "tenure.cli.main", *arguments, **environment)

    def _start(self, name: str, module: str, *arguments: str, **environment: str) -> Managed:
        # In its own folder: whatever lies where the story was started is not imported by accident.
        return self._processes.start(
            name,
            [sys.executable, "-m", module, *arguments],
            environment={**_NOBODYS, **environment},
            cwd=self._folder,
        )


def _is_ready(process: Managed) -> bool:
    try:
        process.wait_ready(0)
    except (TimeoutError, ProcessEnded):
        return False
    return True


def _kill(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue  # It shares its supervisor's fate, and was quicker
