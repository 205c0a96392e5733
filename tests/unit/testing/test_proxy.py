"""The proxy between worker and server, against a real HTTP/1.1 server and real clients."""

import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

import httpx2
import pytest

from tenure.testing.proxy import Proxy
from tenure.testing.traffic import Harm, Side

EVENTS = [f"event: command\nid: {n}\ndata: 你好 🌍 {n}\n\n" for n in range(1, 6)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        cast("Upstream", self.server).effects.append(f"{self.path} {body.decode()}")
        self.send_response(201)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if self.path == "/events" else "text/plain")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in [": awake\n\n", *EVENTS]:
            piece = event.encode()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "1000")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is given
        """Say nothing."""


class Upstream(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.effects: list[str] = []
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A cut connection is what these tests are about."""

    def stop(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.stop()


@pytest.fixture
def proxy(upstream: Upstream) -> Iterator[Proxy]:
    with Proxy(upstream.url) as running:
        yield running


@pytest.fixture
def client(proxy: Proxy) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=proxy.url, timeout=10, trust_env=False) as connected:
        yield connected


def post(client: httpx2.Client, path: str, body: str) -> str:
    return client.post(path, content=body).text


def in_background(call: threading.Thread) -> threading.Thread:
    call.start()
    return call


def test_traffic_passes_unchanged_on_one_connection(
    proxy: Proxy, client: httpx2.Client, upstream: Upstream
) -> None:
    assert post(client, "/a", "x" * 200_000) == "x" * 200_000
    assert client.head("/b").headers["content-length"] == "1000"
    assert client.get("/events").text == ": awake\n\n" + "".join(EVENTS)
    assert post(client, "/c", "") == ""
    seen = proxy.requests()
    assert [(one.method, one.path, one.status) for one in seen] == [
        ("POST", "/a", 201),
        ("HEAD", "/b", 200),
        ("GET", "/events", 200),
        ("POST", "/c", 201),
    ]
    assert {one.connection for one in seen} == {1}
    assert seen == sorted(seen, key=lambda one: one.at_s)


def test_a_lost_reply_is_one_whose_request_the_server_has_served(
    proxy: Proxy, client: httpx2.Client, upstream: Upstream
) -> None:
    """B24."""
    lost = proxy.lose_reply("POST", "^/a")
    assert post(client, "/other", "0") == "0"
    with pytest.raises(httpx2.RemoteProtocolError):
        post(client, "/a/1", "1")
    assert lost.wait().path == "/a/1"
    assert upstream.effects == ["/other 0", "/a/1 1"]
    assert post(client, "/a/2", "2") == "2"
    assert [one.harm for one in proxy.requests()] == [None, Harm.LOSE_REPLY, None]


def test_a_lost_request_is_one_that_the_server_has_not_heard_of(
    proxy: Proxy, client: httpx2.Client, upstream: Upstream
) -> None:
    lost = proxy.lose_request("POST", times=2)
    for _ in range(2):
        with pytest.raises(httpx2.TransportError):
            post(client, "/a", "1")
    assert lost.wait(2).harm is Harm.LOSE_REQUEST
    assert post(client, "/a", "2") == "2"
    assert upstream.effects == ["/a 2"]


def test_a_delayed_reply_comes_later_and_the_effect_does_not(
    proxy: Proxy, client: httpx2.Client, upstream: Upstream
) -> None:
    delay = proxy.delay_replies(0.05, "POST")
    began = time.monotonic()
    assert post(client, "/a", "1") == "1"
    assert time.monotonic() - began >= 0.05
    delay.stop()
    delay = proxy.delay_replies(60, times=1)
    caller = httpx2.Client(base_url=proxy.url, timeout=0.2, trust_env=False)
    with caller, pytest.raises(httpx2.ReadTimeout):
        post(caller, "/a", "2")
    assert upstream.effects == ["/a 1", "/a 2"]


def test_established_connections_freeze_in_a_black_hole_and_go_on_after_it(
    proxy: Proxy, client: httpx2.Client, upstream: Upstream
) -> None:
    post(client, "/a", "1")
    proxy.black_hole()
    answers: list[str] = []
    call = in_background(threading.Thread(target=lambda: answers.append(post(client, "/a", "2"))))
    proxy.wait_requests(2)
    assert upstream.effects == ["/a 1"]
    proxy.heal()
    call.join(10)
    assert answers == ["2"]


def test_the_reply_alone_can_fall_into_the_black_hole(
    proxy: Proxy, client: httpx2.Client, upstream: Upstream
) -> None:
    proxy.black_hole(Side.DOWN)
    answers: list[str] = []
    call = in_background(threading.Thread(target=lambda: answers.append(post(client, "/a", "1"))))
    proxy.wait_replies(1)
    assert upstream.effects == ["/a 1"]
    assert not answers
    proxy.heal()
    call.join(10)
    assert answers == ["1"]


def test_a_connection_that_began_in_the_black_hole_never_reaches_the_server(
    proxy: Proxy, upstream: Upstream
) -> None:
    proxy.black_hole()
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=10) as swallowed:
        swallowed.sendall(b"POST /a HTTP/1.1\r\ncontent-length: 0\r\n\r\n")
        proxy.wait_connections(1)
        proxy.heal()
        assert swallowed.recv(1) == b""
    assert upstream.effects == []


def test_what_was_frozen_can_be_cut_instead(proxy: Proxy, client: httpx2.Client, upstream: Upstream) -> None:
    post(client, "/a", "1")
    proxy.black_hole()
    errors: list[Exception] = []

    def call() -> None:
        try:
            post(client, "/a", "2")
        except httpx2.TransportError as error:
            errors.append(error)

    thread = in_background(threading.Thread(target=call))
    proxy.wait_requests(2)
    proxy.heal(cut=True)
    thread.join(10)
    assert len(errors) == 1
    assert upstream.effects == ["/a 1"]


def test_refusing_keeps_the_port_and_what_is_established(
    proxy: Proxy, client: httpx2.Client, upstream: Upstream
) -> None:
    post(client, "/a", "1")
    proxy.refuse()
    assert post(client, "/a", "2") == "2"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", proxy.port))
    assert proxy.cut() == 1
    with pytest.raises(httpx2.TransportError):
        post(client, "/a", "3")
    proxy.accept()
    assert post(client, "/a", "4") == "4"


def test_a_server_that_has_moved_is_found_again(
    proxy: Proxy, client: httpx2.Client, upstream: Upstream
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        closed: int = gone.getsockname()[1]
    proxy.retarget(f"http://127.0.0.1:{closed}")
    with pytest.raises(httpx2.TransportError):
        post(client, "/a", "1")
    proxy.retarget(upstream.url)
    assert post(client, "/a", "2") == "2"


@pytest.mark.parametrize("ending", [None, b"\r\n", b"\r"])
def test_an_event_stream_arrives_byte_by_byte_and_with_other_line_ends(
    proxy: Proxy, client: httpx2.Client, upstream: Upstream, ending: bytes | None
) -> None:
    """B14."""
    proxy.dribble(Side.DOWN)
    proxy.rewrite_lines(ending)
    expected = (": awake\n\n" + "".join(EVENTS)).encode().replace(b"\n", ending or b"\n")
    assert client.get("/events").content == expected
    assert client.get("/plain").content == (": awake\n\n" + "".join(EVENTS)).encode()


def test_an_event_stream_is_cut_after_so_many_events(
    proxy: Proxy, client: httpx2.Client, upstream: Upstream
) -> None:
    """B13."""
    proxy.cut_streams(after_events=2)
    arrived = b""
    with pytest.raises(httpx2.RemoteProtocolError), client.stream("GET", "/events") as reply:  # noqa: PT012 - the stream breaks while it is read
        for piece in reply.iter_bytes():
            arrived += piece
    assert arrived.decode() == ": awake\n\n" + "".join(EVENTS[:2])
    proxy.be_transparent()
    assert client.get("/events").text.endswith(EVENTS[-1])


def test_waiting_for_what_does_not_come_says_what_came(proxy: Proxy, client: httpx2.Client) -> None:
    post(client, "/a", "1")
    with pytest.raises(TimeoutError, match="the last requests were: POST /a 201"):
        proxy.wait_requests(1, "GET", timeout_s=0.01)
    with pytest.raises(TimeoutError, match="lose_reply of POST /b"):
        proxy.lose_reply("POST", "/b").wait(timeout_s=0.01)


def test_an_address_without_a_port_is_refused() -> None:
    with pytest.raises(ValueError, match="use http://HOST:PORT"):
        Proxy("localhost")
