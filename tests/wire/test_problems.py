"""Every error as a problem document and back, and what answers of strangers mean; B32, C084."""

import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import pytest

from tenure.client.control_plane import HttpControlPlane
from tenure.client.exchange import CERTIFICATE
from tenure.core import errors
from tenure.core.command import Ack
from tenure.core.errors import DeliveryFailed, TenureError
from tenure.wire.problems import INTERNAL, NOT_JUDGED, PROBLEM_TYPE, STATUS, to_error, to_problem
from tests.wire.served import BOUND_S, Served

STATUSES: dict[str, int] = {**STATUS}
EVERY = [
    errors.Invalid("use 1 to 5", path="tasks[3].priority"),
    errors.Invalid("the body is deeper"),
    errors.Malformed("no JSON"),
    errors.NotFound("there is no task t"),
    errors.MethodNotAllowed("takes GET"),
    errors.Taken("held"),
    errors.Blocked("not yet", reason="not_due"),
    errors.Terminal("done"),
    errors.KeyConflict("other content"),
    errors.StaleRevision("look again"),
    errors.Forked("a copy"),
    errors.LeaseLost("a newer one"),
    errors.NotRegistered("gone", reason="displaced", displaced_by="i-2"),
    errors.Unauthenticated("who"),
    errors.Forbidden("no"),
    errors.TooLarge("5 MiB"),
    errors.OutcomeUnknown("it may have happened", subjects=("charge", "mail")),
]
AGAIN = [
    errors.Unavailable("later"),
    errors.StoreUnavailable("disk"),
    errors.DiskFull("full"),
    errors.Busy("many"),
]


def fields(error: TenureError) -> dict[str, object]:
    return {name: value for name, value in vars(error).items() if not name.startswith("_")}


@pytest.mark.parametrize("error", EVERY, ids=lambda error: f"{type(error).__name__}: {error}")
def test_an_error_is_the_same_on_both_sides(error: TenureError) -> None:
    problem = to_problem(error)
    assert (problem.code, problem.status, problem.retry) == (
        error.code,
        STATUSES[error.code],
        error.retry,
    )
    back = to_error(problem.status, PROBLEM_TYPE, msgspec.json.encode(problem))
    assert type(back) is type(error)
    assert fields(back) == fields(error)
    assert str(back) == str(error)


@pytest.mark.parametrize("error", AGAIN, ids=lambda error: type(error).__name__)
def test_what_may_work_later_is_a_failed_delivery(error: TenureError) -> None:
    """C084: the only class that a sender retries."""
    problem = to_problem(error)
    assert problem.retry == "later"
    back = to_error(problem.status, PROBLEM_TYPE, msgspec.json.encode(problem), 7.0)
    assert isinstance(back, DeliveryFailed)
    assert back.retry_after_s == 7.0


def test_every_code_is_made_by_some_error() -> None:
    assert {to_problem(error).code for error in [*EVERY, *AGAIN]} == STATUS.keys() - {"internal"}


def test_a_bug_tells_nothing_of_its_inside() -> None:
    assert to_problem(errors.InvariantBroken("secret state")) == INTERNAL


def test_a_code_that_is_not_known_here_is_still_a_refusal() -> None:
    body = json.dumps(
        {"title": "t", "status": 409, "detail": "new", "code": "new", "retry": "never", "more": 1}
    )
    back = to_error(409, PROBLEM_TYPE, body.encode())
    assert type(back) is errors.Refused


@pytest.mark.parametrize("status", [*sorted(NOT_JUDGED), 500, 502, 503, 504, 599])
def test_statuses_that_judge_nothing_are_failed_deliveries(status: int) -> None:
    """B32: whatever the document says."""
    problem = msgspec.json.encode(to_problem(errors.Forbidden("no")))
    assert isinstance(to_error(status, PROBLEM_TYPE, problem), DeliveryFailed)


@pytest.mark.parametrize("status", [301, 302, 400, 401, 403, 404, 409, 422])
@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("text/html", b"<h1>proxy</h1>"),
        (PROBLEM_TYPE, b"{"),
        (PROBLEM_TYPE, b"{}"),
        ("application/json", b"{}"),
        ("", b""),
    ],
)
def test_an_answer_that_is_not_ours_judges_nothing(status: int, media_type: str, body: bytes) -> None:
    """B32: a proxy's page must neither drop an outbox nor end a session."""
    assert isinstance(to_error(status, media_type, body), DeliveryFailed)


def test_too_large_on_the_way_is_too_large() -> None:
    """B29: 413 is permanent, whoever says it."""
    assert isinstance(to_error(413, "text/html", b"<h1>nginx</h1>"), errors.TooLarge)


@contextmanager
def stranger(answer: bytes, *, hold: bool = False) -> Generator[str]:
    """Listen as somebody who answers every request with these bytes and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(BOUND_S)
        over = threading.Event()

        def serve() -> None:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)
                if hold:
                    over.wait(BOUND_S)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()
            listener.close()
            thread.join(BOUND_S)


def page(status: str, body: bytes, *headers: str, length: int | None = None) -> bytes:
    said = [f"HTTP/1.1 {status}", f"content-length: {len(body) if length is None else length}", *headers]
    return "\r\n".join([*said, "", ""]).encode() + body


JSON = "content-type: application/json"
STRANGE = {
    "nothing": b"",
    "no http": b"SSH-2.0-OpenSSH_9.2\r\n",
    "half a head": b"HTTP/1.1 200 OK\r\ncontent-le",
    "half a body": page("200 OK", b'{"acks"', JSON, length=500),
    "a page": page("200 OK", b"<h1>please sign in</h1>", "content-type: text/html"),
    "no json": page("200 OK", b'{"acks": [', JSON),
    "other json": page("200 OK", b'{"acks": 5}', JSON),
    "too few answers": page("200 OK", b'{"acks": []}', JSON),
    "another success": page("204 No Content", b""),
    "an endless length": page("200 OK", b"{}", JSON, length=10**12),
    "a redirect": page("302 Found", b"", "location: http://127.0.0.1:9/"),
    "a gateway": page("502 Bad Gateway", b"<h1>nginx</h1>", "content-type: text/html"),
    "deep": page("200 OK", b"[" * 100_000, JSON),
}


@pytest.mark.parametrize("answer", STRANGE.values(), ids=STRANGE.keys())
async def test_whatever_cannot_be_read_is_a_failed_delivery(answer: bytes) -> None:
    """B32, C084."""
    with stranger(answer) as url:
        plane = HttpControlPlane(url, "tnr_k_x")
        with pytest.raises(DeliveryFailed):
            await plane.acknowledge("w", "tnr_s_x", 0, [Ack("c")])
        await plane.aclose()


async def test_a_wish_to_be_left_alone_is_carried() -> None:
    body = msgspec.json.encode(to_problem(errors.Busy("many")))
    with stranger(page("429 Too Many", body, f"content-type: {PROBLEM_TYPE}", "retry-after: 12")) as url:
        plane = HttpControlPlane(url, "tnr_k_x")
        with pytest.raises(DeliveryFailed, match="many") as failed:
            await plane.acknowledge("w", "tnr_s_x", 0, [Ack("c")])
        await plane.aclose()
    assert failed.value.retry_after_s == 12


async def test_a_heartbeat_does_not_wait_longer_than_until_the_next_one() -> None:
    """D9: each call's time is shorter than the interval."""
    with stranger(b"", hold=True) as url:
        plane = HttpControlPlane(url, "tnr_k_x")
        with pytest.raises(DeliveryFailed, match=r"within 0\.25 s"):
            await plane.heartbeat("w", "tnr_s_x", 1.0, 0, {}, [])
        await plane.aclose()


async def test_no_credential_follows_a_redirect(served: Served) -> None:
    with stranger(page("307 Temporary", b"", f"location: {served.url}/v1/workers/w/acks")) as url:
        plane = HttpControlPlane(url, served.token("worker"))
        with pytest.raises(DeliveryFailed):
            await plane.acknowledge("w", "tnr_s_x", 0, [Ack("c")])
        await plane.aclose()


@contextmanager
def untrusted(folder: Path) -> Generator[str]:
    """Listen with a certificate that nobody has signed but itself."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=127.0.0.1",
    ]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(BOUND_S)

        def serve() -> None:
            connection, _ = listener.accept()
            connection.settimeout(BOUND_S)
            with connection, suppress(OSError), context.wrap_socket(connection, server_side=True):
                pass

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"https://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            thread.join(BOUND_S)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
async def test_a_certificate_that_is_not_trusted_is_said_and_keeps_everything(tmp_path: Path) -> None:
    """B32: somebody has to mend it, and nothing is lost meanwhile."""
    with untrusted(tmp_path) as url:
        plane = HttpControlPlane(url, "tnr_k_x")
        with pytest.raises(DeliveryFailed, match=r"certificate of .* is not trusted") as failed:
            await plane.acknowledge("w", "tnr_s_x", 0, [Ack("c")])
        await plane.aclose()
    assert failed.value.reason == CERTIFICATE
