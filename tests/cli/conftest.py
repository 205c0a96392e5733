"""A real server for the verbs that speak to one, and a worker's part played by hand."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tenure.cli.main import run
from tenure.testing.processes import Processes

TOKEN = "tnr_k_of_the_command_line_tests"


@dataclass(frozen=True)
class Server:
    """A running control plane and its first credential."""

    url: str
    folder: Path

    def post(self, path: str, **body: object) -> dict[str, object]:
        """Make a call as a pull worker would."""
        answer = httpx2.post(self.url + path, json=body, headers={"authorization": f"Bearer {TOKEN}"})
        answer.raise_for_status()
        return answer.json()

    def claim(self, task_id: str) -> str:
        """Claim a task and return the claim's token."""
        return str(self.post(f"/v1/tasks/{task_id}/claim", agent="by-hand")["token"])

    def release(self, task_id: str, token: str, reason: str, **more: object) -> None:
        """Give a claim back."""
        self.post(f"/v1/tasks/{task_id}/release", token=token, reason=reason, **more)

    def complete(self, task_id: str, result: object) -> None:
        """Do a task."""
        self.post(f"/v1/tasks/{task_id}/complete", token=self.claim(task_id), result=result)

    def doubt(self, task_id: str, subject: str = "attempt") -> None:
        """Bring a task into doubt."""
        self.release(task_id, self.claim(task_id), "unknown", subjects=[subject])


@dataclass(frozen=True)
class Ran:
    """What one command line did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:  # JSON
        """Return standard output as one JSON document."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:  # JSON
        """Return standard output as one JSON document per line."""
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    with Processes(folder / "logs", {"TENURE_ADMIN_TOKEN": TOKEN}) as processes:
        arguments = ("server", "--store", f"sqlite:///{folder}/a.db", "--listen", "127.0.0.1:0", "--json")
        started = processes.start_module("server", "tenure.cli.main", *arguments)
        yield Server(str(started.wait_ready()["url"]), folder)
        started.terminate()
        assert started.wait_exit() == 0


@pytest.fixture
def tenure(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Run a command line against the server."""
    monkeypatch.setenv("TENURE_URL", server.url)
    monkeypatch.setenv("TENURE_TOKEN", TOKEN)

    def ran(*args: str) -> Ran:
        capsys.readouterr()
        code = run(args)
        shown = capsys.readouterr()
        return Ran(code, shown.out, shown.err)

    return ran
