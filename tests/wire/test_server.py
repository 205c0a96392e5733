"""The server's life and limits: ready, gone in an instant, busy, and callers that send slowly or hang up."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from tenure.core.errors import InvalidConfig
from tenure.core.task import TaskSpec
from tenure.server.limits import ALWAYS_LET_IN, Doors
from tenure.server.run import HttpServer, Listening
from tests.wire.served import ADMIN, BOUND_S, Served, serving


@contextmanager
def process(folder: Path) -> Generator[tuple[subprocess.Popen[str], str]]:
    """Run `tenure server` on a free port and give its address."""
    command = [sys.executable, "-m", "tenure.cli.main", "server", "--listen", "127.0.0.1:0", "--json"]
    env = {"TENURE_ADMIN_TOKEN": ADMIN, "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            ready = json.loads(child.stdout.readline())
            assert ready["ready"] is True
            yield child, ready["url"]
        finally:
            child.kill()


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_process_with_open_streams_leaves_at_once(tmp_path: Path, sign: signal.Signals) -> None:
    """An endless answer does not keep it; the reader sees a clean end, and the exit code is 0."""
    with (
        process(tmp_path) as (child, url),
        httpx2.Client(base_url=url, trust_env=False, timeout=BOUND_S) as http,
    ):
        bearer = {"authorization": f"Bearer {ADMIN}"}
        task = http.post("/v1/tasks", json={"tasks": [{"capability": "a"}]}, headers=bearer).json()["tasks"][
            0
        ]
        with http.stream("GET", f"/v1/tasks/{task['id']}/stream", headers=bearer) as stream:
            pieces = stream.iter_raw()
            assert next(pieces).startswith(b"event: task\n")
            began = time.monotonic()
            child.send_signal(sign)
            assert b"".join(pieces).endswith(b"event: bye\ndata: {}\n\n")
        assert child.wait(BOUND_S) == 0
        assert time.monotonic() - began < 2


def test_an_address_in_use_is_said_before_anything_starts(served: Served) -> None:
    port = urlsplit(served.url).port or 0

    async def nothing(*_: object) -> None:
        """Answer nobody."""

    def leave() -> None:
        """Have nothing to end."""

    with pytest.raises(InvalidConfig, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
        HttpServer(nothing, Listening(port=port), on_ready=print, on_exit=leave)
    with pytest.raises(InvalidConfig, match="cannot listen on nowhere"):
        HttpServer(nothing, Listening("nowhere.invalid", 0), on_ready=print, on_exit=leave)


def test_small_answers_are_not_delayed(served: Served) -> None:
    """A connection with Nagle's delay on answers 25 times per second."""
    served.ask("GET", "/healthz")
    began = time.monotonic()
    for _ in range(50):
        served.ask("GET", "/healthz")
    assert time.monotonic() - began < 1


def test_a_long_poll_ends_with_the_server(fresh: Served) -> None:
    answers: list[httpx2.Response] = []
    body = {"request_id": "r", "agent": "a", "wait_s": 60}
    waiting = threading.Thread(target=lambda: answers.append(fresh.post("/v1/claims", body)))
    waiting.start()
    while not fresh.server.server_state.tasks and waiting.is_alive():
        waiting.join(0.01)
    fresh.server.stop()
    waiting.join(BOUND_S)
    assert answers[0].json()["claims"] == []


def test_beyond_its_bound_a_server_says_busy_but_hears_heartbeats(tmp_path: Path) -> None:
    """D9: heartbeats and leaving workers are let in however full it is."""
    doors = Doors(calls_max=2, streams_max=1)
    with serving(tmp_path, doors) as served:
        worker = served.register()
        with doors.enter("tasks", stream=False), doors.enter("tasks", stream=False):
            answer = served.ask("GET", "/v1/tasks")
            assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (
                429,
                "busy",
                "1",
            )
            beat = served.post("/v1/workers/w1/heartbeat", {"ttl_s": 30}, worker.session)
            assert beat.status_code == 200
        assert {"heartbeat", "deregister"} <= ALWAYS_LET_IN
        assert served.ask("GET", "/v1/tasks").status_code == 200
        with doors.enter("commands", stream=True):
            assert served.ask("GET", "/v1/workers/w1/commands", worker.session).status_code == 429


def raw(served: Served) -> socket.socket:
    parts = urlsplit(served.url)
    return socket.create_connection((parts.hostname or "", parts.port or 0), BOUND_S)


def head(path: str, length: int, *more: str) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        "host: x",
        f"authorization: Bearer {ADMIN}",
        "content-type: application/json",
    ]
    return "\r\n".join([*lines, f"content-length: {length}", *more, "", ""]).encode()


@pytest.mark.parametrize("said", [b"", b"GET /healthz HTTP/1.1\r\nhost: x\r\n"])
def test_whoever_does_not_say_what_it_wants_is_hung_up_on(
    served: Served, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    """Else anybody, without a credential, holds all descriptors of the server for as long as it likes."""
    monkeypatch.setattr("tenure.server.connection.HEADERS_S_MAX", 0.3)
    asked = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
    with raw(served) as fresh, raw(served) as used:
        used.sendall(asked)
        answer = b""
        while not answer.endswith(b'{"ok":true}'):
            answer += used.recv(65_536)
        for connection in (fresh, used) if said else (fresh,):
            connection.sendall(said)
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(65_536) == b""


def test_half_a_request_stores_nothing(served: Served) -> None:
    """A caller that hangs up in the middle of its body has asked for nothing."""
    before = served.kept()
    body = b'{"tasks": [{"capability": "add"}]}'
    for cut in (0, 1, 10, len(body) - 1):
        with raw(served) as connection:
            connection.sendall(head("/v1/tasks", len(body)) + body[:cut])
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(BOUND_S)
            while connection.recv(65_536):
                pass
    assert served.kept() == before


def test_a_body_in_single_bytes_is_read(served: Served) -> None:
    body = json.dumps({"tasks": [{"capability": "add", "input": "🧪" * 20}]}).encode()
    with raw(served) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(head("/v1/tasks", len(body), "connection: close"))
        for byte in body:
            connection.sendall(bytes([byte]))
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 201 ")


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=1001",
        "limit=x",
        "limit=1&limit=2",
        "state=nonsense",
        "label=a",
        "label=:a",
        "limt=1",
        "cursor=%00",
        "state=%ff",
        "a",
    ],
)
def test_a_bad_query_is_refused_with_its_name(served: Served, query: str) -> None:
    answer = served.ask("GET", f"/v1/tasks?{query}")
    assert answer.json()["code"] == "invalid", answer.text
    if "%ff" not in query:
        assert answer.json()["errors"][0]["path"] == query.partition("=")[0].partition("&")[0]


@pytest.mark.parametrize("id_", ["%00", "a%20b", "%2e%2e", "-a", "ä", "a" * 129, "%0d%0a"])
def test_a_bad_id_in_the_path_is_refused(served: Served, id_: str) -> None:
    answer = served.ask("GET", f"/v1/tasks/{id_}")
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "task_id")


def test_every_answer_says_where_the_store_stands(served: Served) -> None:
    """D27."""
    served.submit(TaskSpec("add"))
    first = served.ask("GET", "/v1/tasks").headers
    served.submit(TaskSpec("add"))
    second = served.ask("GET", "/v1/tasks/nowhere").headers
    assert first["tenure-epoch"] == second["tenure-epoch"] == "1"
    assert int(second["tenure-position"]) > int(first["tenure-position"])
    assert second["cache-control"] == "no-store"
