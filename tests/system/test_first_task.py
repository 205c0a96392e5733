"""The first hour from the shell: a server, a worker, a task, in one folder and without any setting."""

import json
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tenure.testing.processes import Managed, Processes
from tests.cli.conftest import Ran
from tests.crash.rig import until

pytestmark = pytest.mark.slow

MEDIA = """
import os, signal, threading, time
from pathlib import Path
from tenure import App, Attempt, Failed, OutcomeUnknown, Recovery

app = App("media")


@app.capability("scale", recovery=Recovery.RECOMPUTE)
def scale(attempt: Attempt, width: int = 320) -> dict[str, int]:
    print("the author's own words")
    attempt.progress(1, total=2, stage="scale")
    return {"width": width}


@app.capability("break", recovery=Recovery.RECOMPUTE)
def break_(attempt: Attempt) -> None:
    raise Failed("the lens is broken", retry=False)


@app.capability("pay", recovery=Recovery.QUERY)
def pay(attempt: Attempt, cents: int) -> str:
    def apply(request_id: str) -> str:
        raise OSError("the bank has hung up")

    return attempt.effect("charge", params={"cents": cents}, apply=apply)


@app.capability("wait", recovery=Recovery.RECOMPUTE)
def wait(attempt: Attempt, file: str) -> str:
    Path(file + ".started").touch()
    while not Path(file).exists():  # work: it ends when the test says so
        attempt.progress(1, total=2)
        time.sleep(0.02)
    return "waited"
"""

Start = Callable[..., Managed]
Run = Callable[..., Ran]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "media.py").write_text(MEDIA)
    return folder


@pytest.fixture
def start(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start a command line in the folder and leave it running."""
    for name in ("TENURE_URL", "TENURE_TOKEN", "TENURE_ADMIN_TOKEN", "TENURE_STATE"):
        monkeypatch.delenv(name, raising=False)
    with Processes(tmp_path / "logs") as processes:

        def started(*args: str, **environment: str) -> Managed:
            argv = [sys.executable, "-m", "tenure.cli.main", *args]
            return processes.start(args[0], argv, environment=environment, cwd=folder)

        yield started
        assert processes.close() == []


@pytest.fixture
def tenure(start: Start) -> Run:
    """Run a command line in the folder to its end."""

    def ran(*args: str, **environment: str) -> Ran:
        process = start(*args, **environment)
        code = process.wait_exit()
        process.release()
        return Ran(code, process.out.read_text(), process.err.read_text())

    return ran


@pytest.fixture
def server(start: Start) -> Managed:
    process = start("server", "--listen", "127.0.0.1:0", "--json")
    process.wait_ready()
    return process


def work(start: Start, *args: str) -> Managed:
    process = start("worker", "--app", "media:app", "--id", "w1", "--slots", "2", "--json", *args)
    process.wait_ready()
    return process


def test_a_task_from_submission_to_result(start: Start, server: Managed, tenure: Run, folder: Path) -> None:
    worker = work(start)
    ran = tenure("submit", "scale", "--input", '{"width": 640}', "--wait")
    assert (ran.code, ran.document, ran.err) == (0, {"width": 640}, "")
    listed = tenure("tasks", "--json").document
    history = tenure("task", listed[0]["id"], "--json").document["history"]
    assert [line["kind"] for line in history][:2] == ["submitted", "claimed"]
    assert history[-1]["kind"] == "succeeded"
    assert tenure("workers", "--json").document[0]["worker_id"] == "w1"
    assert (folder / ".tenure" / "w1").is_dir()
    worker.terminate()
    assert worker.wait_exit() == 0
    worker.release()
    assert [json.loads(line)["ready"] for line in worker.out.read_text().splitlines()] == [True]
    assert "the author's own words" in worker.err.read_text()
    assert tenure("workers", "--json").document[0]["alive"] is False
    server.terminate()
    assert server.wait_exit() == 0


def test_a_failure_is_told_with_its_reason(start: Start, server: Managed, tenure: Run) -> None:
    work(start)
    ran = tenure("submit", "break", "--wait")
    assert (ran.code, ran.out) == (1, "")
    assert "failed" in ran.err
    assert "the lens is broken" in ran.err
    assert ran.err.count("\n") == 1


def test_an_input_that_does_not_fit_fails_without_another_try(
    start: Start, server: Managed, tenure: Run
) -> None:
    work(start)
    ran = tenure("submit", "scale", "--input", '{"width": "wide"}', "--wait", "--json")
    assert ran.code == 1
    assert ran.document["attempts"] == 1
    assert "width" in ran.document["error"]["message"]


def test_a_doubt_waits_for_a_person_and_goes_on_after_the_verdict(
    start: Start, server: Managed, tenure: Run
) -> None:
    work(start)
    ran = tenure("submit", "pay", "--input", '{"cents": 4900}', "--wait")
    assert ran.code == 5
    waiting = tenure("unknown", "--json").document[0]
    assert (waiting["subject"]["subject"], waiting["subject"]["params"]) == ("charge", {"cents": 4900})
    task_id = waiting["task_id"]
    verdict = ("--happened", '"receipt 7"', "--note", "it is on the bank's statement")
    assert tenure("reconcile", task_id, "charge", *verdict).code == 0
    assert tenure("watch", task_id).code == 0
    assert tenure("result", task_id).document == "receipt 7"


def test_the_first_signal_waits_for_what_runs(
    start: Start, server: Managed, tenure: Run, folder: Path
) -> None:
    """C051."""
    worker = work(start)
    task_id = tenure("submit", "wait", "--input", json.dumps({"file": str(folder / "go")})).out.strip()
    _until_there(folder / "go.started", worker)
    worker.terminate()
    later = tenure("submit", "scale").out.strip()
    (folder / "go").touch()
    assert worker.wait_exit() == 0
    assert tenure("result", task_id).document == "waited"
    assert tenure("result", later).code == 1, "nothing new is taken"


def test_the_second_signal_cancels_what_runs(
    start: Start, server: Managed, tenure: Run, folder: Path
) -> None:
    """C057."""
    worker = work(start, "--grace", "inf")
    task_id = tenure("submit", "wait", "--input", json.dumps({"file": str(folder / "never")})).out.strip()
    _until_there(folder / "never.started", worker)
    worker.send(signal.SIGINT)
    until(lambda: "worker.stopping" in worker.logs(), worker.logs)  # Two at once are one to the kernel
    worker.send(signal.SIGINT)
    assert worker.wait_exit() == 0
    task = tenure("task", task_id, "--json").document["task"]
    assert (task["state"], task["attempts"], task["losses"]) == ("open", 0, 0)


def test_killed_and_started_again_it_goes_on(
    start: Start, server: Managed, tenure: Run, folder: Path
) -> None:
    """C069."""
    worker = work(start)
    task_id = tenure("submit", "wait", "--input", json.dumps({"file": str(folder / "go")})).out.strip()
    _until_there(folder / "go.started", worker)
    worker.kill()
    (folder / "go").touch()
    work(start)
    assert tenure("watch", task_id).code == 0
    task = tenure("task", task_id, "--json").document["task"]
    assert (task["generation"], task["losses"], task["result"]) == (1, 1, "waited")


@pytest.mark.parametrize(
    ("app", "said"),
    [
        ("none:app", "No module named 'none'"),
        ("media:none", "media"),
        ("broken:app", "ZeroDivisionError"),
        ("leaving:app", "leaving"),
    ],
)
def test_an_application_that_cannot_be_loaded_is_exit_code_2(
    start: Start, server: Managed, tenure: Run, folder: Path, app: str, said: str
) -> None:
    (folder / "broken.py").write_text("print('before')\n1 / 0\n")
    (folder / "leaving.py").write_text("import sys\nsys.exit('leaving')\n")
    ran = tenure("worker", "--app", app, "--id", "w1", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1].startswith("tenure: ")
    assert said in ran.err.splitlines()[-1]
    assert "Traceback" not in ran.err


def test_a_state_folder_in_use_is_exit_code_2(start: Start, server: Managed, tenure: Run) -> None:
    """D29."""
    work(start)
    ran = tenure("worker", "--app", "media:app", "--id", "w1")
    assert ran.code == 2
    assert ran.err.startswith("tenure: state folder ")
    assert ran.err.count("\n") == 1


def test_without_a_credential_or_with_a_wrong_one_it_is_exit_code_4(tenure: Run, server: Managed) -> None:
    url = str(server.wait_ready()["url"])
    for token in ("", "tnr_wrong"):
        ran = tenure(
            "worker",
            "--app",
            "media:app",
            TENURE_URL="http://localhost:" + url.rpartition(":")[2],
            TENURE_TOKEN=token,
        )
        assert ran.code == 4, ran.err
        assert ran.err.splitlines()[-1].startswith(("tenure: ", "hint: "))


def test_a_worker_waits_for_its_control_plane_and_says_so_when_it_is_stopped(start: Start) -> None:
    url, token = "http://127.0.0.1:9", "tnr_k_x"
    worker = start("worker", "--app", "media:app", "--json", TENURE_URL=url, TENURE_TOKEN=token)
    until(lambda: "register.deferred" in worker.logs(), worker.logs)
    worker.terminate()
    assert worker.wait_exit() == 3


def _until_there(file: Path, worker: Managed) -> None:
    until(lambda: file.exists() or not worker.is_running, worker.logs)
    assert worker.is_running, worker.logs()
