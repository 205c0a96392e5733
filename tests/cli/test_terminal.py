"""What a person at a terminal sees: live bars, colours unless unwanted, and Ctrl-C that harms nothing."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Self

import pytest

from tests.cli.conftest import TOKEN, Ran, Server
from tests.crash.rig import until

Tenure = Callable[..., Ran]


class Terminal:
    """A command line with a terminal on all three ends."""

    def __init__(self, server: Server, *args: str, **environment: str) -> None:
        ours, theirs = pty.openpty()
        settings = {"TENURE_URL": server.url, "TENURE_TOKEN": TOKEN, "TERM": "xterm", "COLUMNS": "120"}
        self._ours = ours
        self.shown = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tenure.cli.main", *args],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, **settings, **environment},
            start_new_session=True,
        )
        os.close(theirs)
        os.set_blocking(ours, False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def wait_for(self, text: str) -> None:
        """Read on until the text was shown."""
        until(lambda: text in self._read(), lambda: f"{text!r} in {self.shown!r}")

    def end(self) -> int:
        """Read on until it has ended, and return its exit code."""
        until(lambda: self._read() and self.process.poll() is not None, lambda: self.shown)
        self._read()
        return self.process.wait()

    def _read(self) -> str:
        try:
            while piece := os.read(self._ours, 65_536):
                self.shown += piece.decode(errors="replace")
        except (BlockingIOError, OSError):
            pass  # Nothing more now, or the other end has gone
        return self.shown


def running(server: Server, tenure: Tenure, percent: float) -> tuple[str, str]:
    """Submit and claim a task, and let it say how far it is; return its id and its claim's token."""
    task_id = tenure("submit", "scale").out.strip()
    token = server.claim(task_id)
    progress = {"stage": "scale", "percent": percent}
    server.post(f"/v1/tasks/{task_id}/renew", token=token, ttl_s=30, progress=progress, progress_number=1)
    return task_id, token


def test_watching_a_task_ends_with_it(server: Server, tenure: Tenure) -> None:
    task_id, token = running(server, tenure, 40)
    with Terminal(server, "watch", task_id) as terminal:
        terminal.wait_for("scale 40 %")
        server.post(f"/v1/tasks/{task_id}/complete", token=token, result=None)
        assert terminal.end() == 0
        assert "━" in terminal.shown
        assert "\x1b[3" in terminal.shown


def test_no_colours_for_whom_wants_none(server: Server, tenure: Tenure) -> None:
    task_id = tenure("submit", "plain").out.strip()
    server.complete(task_id, None)
    for verb in (["watch", task_id], ["tasks", "--capability", "plain"]):
        with Terminal(server, *verb, NO_COLOR="1") as terminal:
            assert terminal.end() == 0
            assert "done" in terminal.shown
            assert "\x1b[32m" not in terminal.shown
            assert "\x1b[3" not in terminal.shown


def test_the_fleet_is_watched_until_it_is_interrupted(server: Server, tenure: Tenure) -> None:
    task_id, token = running(server, tenure, 70)
    with Terminal(server, "watch") as terminal:
        terminal.wait_for("scale 70 %")
        server.post(f"/v1/tasks/{task_id}/complete", token=token, result=None)
        terminal.wait_for("done")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == 130
        assert "Traceback" not in terminal.shown


def test_interrupted_waiting_says_that_the_work_goes_on(server: Server, tenure: Tenure) -> None:
    with Terminal(server, "submit", "slow", "--key", "interrupted", "--wait") as terminal:
        terminal.wait_for("open")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == 130
        assert "the work goes on without this command" in terminal.shown
    assert tenure("tasks", "--capability", "slow", "--json").document[0]["state"] == "open"


@pytest.mark.parametrize("verb", ["result", "task"])
def test_json_is_indented_for_a_person(server: Server, tenure: Tenure, verb: str) -> None:
    task_id = tenure("submit", "plain").out.strip()
    server.complete(task_id, {"a": [1]})
    with Terminal(server, verb, task_id, "--json") as terminal:
        assert terminal.end() == 0
        assert '"a": [' in terminal.shown
