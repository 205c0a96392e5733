"""`tenure server` as a process: that it is ready, its files, its end, and what keeps it from starting."""

import json
import signal
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from tenure.testing.processes import Managed, Processes
from tests.crash.rig import until

LEAVES_S = 3.0
ANY_PORT = ("server", "--listen", "127.0.0.1:0")

Start = Callable[..., Managed]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


@pytest.fixture
def start(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start command lines in an empty folder, without settings from outside."""
    for name in ("TENURE_URL", "TENURE_TOKEN", "TENURE_ADMIN_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with Processes(tmp_path / "logs") as processes:

        def started(*args: str, **environment: str) -> Managed:
            argv = [sys.executable, "-m", "tenure.cli.main", *args]
            return processes.start(args[0], argv, environment=environment, cwd=folder)

        yield started


def error_of(process: Managed) -> str:
    """Return what it said when it had ended."""
    process.release()
    return process.err.read_text()


def submit(start: Start, **environment: str) -> str:
    process = start("submit", "x", **environment)
    assert process.wait_exit() == 0, process.logs()
    process.release()
    return process.out.read_text().strip()


def test_it_says_where_it_is_and_leaves_files_for_the_command_line(start: Start, folder: Path) -> None:
    server = start(*ANY_PORT, "--json")
    ready = server.wait_ready()
    assert ready == {
        "ready": True,
        "url": ready["url"],
        "pid": server.pid,
        "store": "tenure.db",
        "token_file": "tenure.db.token",
    }
    assert (folder / "tenure.db.url").read_text() == f"{ready['url']}\n"
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())
    assert submit(start)


def test_a_second_server_on_one_store_is_refused(start: Start, folder: Path, tmp_path: Path) -> None:
    """Each wakes only its own callers; and the second one's address would stand where the first one stood."""
    first = start(*ANY_PORT, "--json")
    url = first.wait_ready()["url"]
    (tmp_path / "another-name").symlink_to(folder)
    for store in ("tenure.db", str(tmp_path / "another-name" / "tenure.db")):
        second = start(*ANY_PORT, "--store", f"sqlite:///{store}")
        assert second.wait_exit() == 2
        assert f"store {store} is in use by process {first.pid}; stop it or use another store" in error_of(
            second
        )
    assert (folder / "tenure.db.url").read_text() == f"{url}\n"
    assert submit(start)


def test_a_restart_keeps_tasks_and_credential(start: Start, folder: Path) -> None:
    first = start(*ANY_PORT, "--json")
    first.wait_ready()
    task_id = submit(start)
    token = (folder / "tenure.db.token").read_text()
    first.kill()
    start(*ANY_PORT, "--json").wait_ready()
    assert (folder / "tenure.db.token").read_text() == token
    shown = start("tasks", "--json")
    assert shown.wait_exit() == 0
    shown.release()
    assert [task["id"] for task in json.loads(shown.out.read_text())] == [task_id]


def test_a_given_credential_is_good_and_no_file_is_made(start: Start, folder: Path) -> None:
    server = start(*ANY_PORT, "--json", TENURE_ADMIN_TOKEN="tnr_given")
    ready = server.wait_ready()
    assert ready["token_file"] is None
    assert not (folder / "tenure.db.token").exists()
    assert submit(start, TENURE_URL=str(ready["url"]), TENURE_TOKEN="tnr_given")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_at_once_also_with_a_stream_open(start: Start, number: signal.Signals) -> None:
    server = start(*ANY_PORT, "--json", TENURE_ADMIN_TOKEN="tnr_given")
    url = server.wait_ready()["url"]
    task_id = submit(start, TENURE_URL=str(url), TENURE_TOKEN="tnr_given")
    headers = {"authorization": "Bearer tnr_given"}
    with httpx2.stream("GET", f"{url}/v1/tasks/{task_id}/stream", headers=headers) as stream:
        pieces = stream.iter_raw()
        assert b"event: task" in next(pieces)
        server.send(number)
        assert b"event: bye" in b"".join(pieces)
    assert server.wait_exit(LEAVES_S) == 0
    assert error_of(server) == ""


def test_people_are_told_in_sentences(start: Start) -> None:
    server = start(*ANY_PORT)
    until(lambda: "credential in" in server.logs(), server.logs)
    server.terminate()
    assert server.wait_exit(LEAVES_S) == 0
    server.release()
    first, second = server.out.read_text().splitlines()
    assert first.startswith("tenure server answers at http://127.0.0.1:")
    assert second == "  store tenure.db, admin credential in tenure.db.token"


def test_an_address_in_use_is_exit_code_2(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        server = start("server", "--listen", address)
        assert server.wait_exit() == 2
    assert address in error_of(server)
    assert error_of(server).count("\n") == 1


def test_a_foreign_file_is_exit_code_2_and_left_as_it_is(start: Start, folder: Path) -> None:
    with sqlite3.connect(folder / "tenure.db") as foreign:
        foreign.execute("create table theirs (x)")
    foreign.close()
    before = (folder / "tenure.db").read_bytes()
    server = start(*ANY_PORT)
    assert server.wait_exit() == 2
    assert error_of(server).count("\n") == 1
    assert (folder / "tenure.db").read_bytes() == before


def test_a_damaged_file_is_exit_code_1_and_left_as_it_is(start: Start, folder: Path) -> None:
    (folder / "tenure.db").write_bytes(b"no database" * 1000)
    server = start(*ANY_PORT)
    assert server.wait_exit() in (1, 2)
    assert error_of(server).startswith("tenure: ")
    assert error_of(server).count("\n") == 1
    assert (folder / "tenure.db").read_bytes() == b"no database" * 1000


def test_a_folder_that_is_not_there_is_told(start: Start) -> None:
    server = start(*ANY_PORT, "--store", "sqlite:///none/tenure.db")
    assert server.wait_exit() in (1, 2)
    assert "none/tenure.db" in error_of(server)
    assert error_of(server).count("\n") == 1


def test_a_file_in_the_credentials_place_is_told(start: Start, folder: Path) -> None:
    (folder / "tenure.db.token").write_text("")
    server = start(*ANY_PORT)
    assert server.wait_exit() == 2
    assert "tenure.db.token holds no credential" in error_of(server)
