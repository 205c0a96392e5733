"""One exchange over HTTP without the network: what a call sends, and what its answer means."""

import ssl
from collections.abc import Mapping
from typing import Final, TypeVar
from urllib.parse import urlsplit

import httpx2
import msgspec
from msgspec import Struct

from tenure.core.errors import DeliveryFailed, InvalidConfig, TooLarge
from tenure.wire.codec import JSON_TYPE, decode_answer, encode
from tenure.wire.endpoints import (
    CLAIM_HEADER,
    EPOCH_HEADER,
    POSITION_HEADER,
    PROTOCOL,
    PROTOCOL_HEADER,
    Endpoint,
)
from tenure.wire.limits import ANSWER_BYTES_MAX, BODY_BYTES_MAX
from tenure.wire.problems import to_error

T = TypeVar("T")

CONNECT_S: Final = 5.0
"""Bound: how long a connection may take to come about."""

KEPT_ALIVE_S: Final = 45.0
"""An idle connection is let go after so long, well before the server would."""

RETRY_AFTER_S_MAX: Final = 300.0
"""Bound: what of a server's wish to be left alone is honoured."""

CERTIFICATE: Final = "certificate"
"""The reason of a `DeliveryFailed` that somebody has to mend: the server's certificate is not trusted."""


class Position(Struct, frozen=True, order=True):
    """Where a store stood when it answered; a store that answers with less went back in time (D27)."""

    epoch: int = 0
    position: int = 0


class Sent(Struct, frozen=True):
    """What a call sends."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes | None = None


def address(url: str) -> str:
    """Return a control plane's address without a slash at its end, or raise `InvalidConfig`."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidConfig(f"{url!r} is no address; write http://HOST:PORT or https://HOST:PORT", path="url")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidConfig("the address carries more than host, port and path", path="url")
    return url.rstrip("/")


def prepare(
    endpoint: Endpoint,
    token: str | None,
    *,
    path: Mapping[str, str],
    request: object = None,
    claim: str | None = None,
    position: Position | None = None,
) -> Sent:
    """Return what a call of an endpoint sends.

    Raises:
        TooLarge: The body is over the protocol's limit; sending it could only be refused.
    """
    headers = {"accept-encoding": "identity"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    if endpoint.by_worker:
        headers[PROTOCOL_HEADER] = PROTOCOL
    if claim is not None:
        headers[CLAIM_HEADER] = claim
    if position is not None and position.epoch:
        headers[EPOCH_HEADER] = str(position.epoch)
        headers[POSITION_HEADER] = str(position.position)
    body = None
    if endpoint.request is not None:
        body = encode(request)
        headers["content-type"] = JSON_TYPE
        if len(body) > BODY_BYTES_MAX:
            raise TooLarge(f"the request has {len(body):,} bytes; at most {BODY_BYTES_MAX:,}")
    return Sent(endpoint.method, endpoint.fill(**path), headers, body)


def read_answer(endpoint: Endpoint, form: type[T], answer: httpx2.Response, body: bytes) -> T:
    """Return what an answer says, or raise the error that it stands for."""
    if answer.status_code != endpoint.status:
        raise refusal(answer, body)
    try:
        return decode_answer(body, form)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DeliveryFailed(f"the answer to {endpoint.name} cannot be read: {error}") from error


def refusal(answer: httpx2.Response, body: bytes) -> Exception:
    """Return the error that an answer other than the one hoped for stands for."""
    media_type = answer.headers.get("content-type", "")
    return to_error(answer.status_code, media_type, body, _retry_after_s(answer.headers.get("retry-after")))


def check_length(answer: httpx2.Response, read: int = 0) -> None:
    """Raise `DeliveryFailed` if an answer is larger than a client reads."""
    said = answer.headers.get("content-length", "")
    if max(read, int(said) if said.isdigit() else 0) > ANSWER_BYTES_MAX:
        raise DeliveryFailed(f"the answer has more than {ANSWER_BYTES_MAX:,} bytes")


def position_of(answer: httpx2.Response) -> Position:
    """Return where the store stood, or the beginning if the answer does not say."""
    epoch, position = answer.headers.get(EPOCH_HEADER, ""), answer.headers.get(POSITION_HEADER, "")
    if not (epoch.isdigit() and position.isdigit()):
        return Position()
    return Position(int(epoch), int(position))


def failed_delivery(url: str, error: httpx2.HTTPError) -> DeliveryFailed:
    """Return what a transport's error means to a caller: nothing is known, keep it and ask again. B32."""
    if is_certificate(error):
        failed = DeliveryFailed(f"the certificate of {url} is not trusted: {error}")
        failed.reason = CERTIFICATE
        return failed
    if isinstance(error, httpx2.TimeoutException):
        return DeliveryFailed(f"{url} did not answer in time")
    return DeliveryFailed(f"{url} cannot be reached: {error or type(error).__name__}")


def is_certificate(error: BaseException | None) -> bool:
    """Say whether a failed verification of the server's certificate is behind an error."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def tls(url: str) -> ssl.SSLContext:
    """Return the context for connections to an address; loaded anew, so that new authorities count."""
    if url.startswith("https:"):
        return httpx2.create_ssl_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # Never used; and quick, for it loads no authorities


def is_this_machine(url: str) -> bool:
    """Say whether an address is this machine's own, which no proxy stands before."""
    return urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")


def _retry_after_s(said: str | None) -> float | None:
    if said is None or not said.isdigit():
        return None
    return min(float(said), RETRY_AFTER_S_MAX)
