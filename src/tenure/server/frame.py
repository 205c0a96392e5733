"""The frame around every handler: authenticate, read, ask, answer; refusals become problem documents.

The order of the checks is the protocol's: 401, 413, 400 and 422, 403, then what the service says. What is
no refusal but a bug passes through to the server's log and is answered 500.
"""

from typing import Final
from urllib.parse import parse_qsl

from msgspec import Struct
from starlette.types import Receive, Scope, Send

from tenure.core.errors import Invalid, TenureError
from tenure.server.auth import authenticate, authorise
from tenure.server.call import AnyCall, Call, Handler
from tenure.server.limits import Doors, Gone, read_body
from tenure.service.plane import ControlPlaneService
from tenure.wire.batches import decode_events
from tenure.wire.codec import JSON_TYPE, convert_query, decode_request, encode
from tenure.wire.endpoints import (
    CLAIM_HEADER,
    EPOCH_HEADER,
    POSITION_HEADER,
    PROTOCOL,
    PROTOCOL_HEADER,
    Endpoint,
)
from tenure.wire.problems import PROBLEM_TYPE, STATUS, to_problem

Headers = dict[bytes, bytes]
RawHeaders = list[tuple[bytes, bytes]]

_PROTOCOL: Final = PROTOCOL_HEADER.lower().encode()
_CLAIM: Final = CLAIM_HEADER.lower().encode()
_JSON: Final = (b"content-type", JSON_TYPE.encode())
_PROBLEM: Final = (b"content-type", PROBLEM_TYPE.encode())
_ALWAYS: Final = ((b"cache-control", b"no-store"), (_PROTOCOL, PROTOCOL.encode()))
_ASK_AGAIN: Final = frozenset({"busy", "unavailable"})


class Frame:
    """What the endpoints share: the service, and the doors that bound what is under way."""

    def __init__(self, service: ControlPlaneService, doors: Doors) -> None:
        """Take both; neither is owned."""
        self.service = service
        self.doors = doors

    def head(self) -> RawHeaders:
        """Return the headers of every answer: never stored, and where the store stands (D27)."""
        epoch, position = self.service.position()
        return [
            *_ALWAYS,
            (EPOCH_HEADER.lower().encode(), b"%d" % epoch),
            (POSITION_HEADER.lower().encode(), b"%d" % position),
        ]

    async def read(self, endpoint: Endpoint, scope: Scope, receive: Receive) -> AnyCall:
        """Return the call with its caller and its request, or raise the refusal."""
        headers: Headers = dict(scope["headers"])
        who, token = None, ""
        if endpoint.access != "open":
            who, token = await authenticate(self.service, headers.get(b"authorization"))
        claim = headers.get(_CLAIM, b"").decode("latin-1")
        call: AnyCall = Call(self.service, scope["path_params"], who, token, claim)
        if endpoint.request is not None:
            body = await read_body(receive, headers.get(b"content-length"), headers.get(b"content-type"))
            call.request = _decode(endpoint, endpoint.request, body, headers.get(_PROTOCOL))
        if endpoint.query is not None:
            call.query = convert_query(_query(scope["query_string"]), endpoint.query)
        if who is not None:
            authorise(who, endpoint.access)
        return call

    async def refuse(self, send: Send, error: TenureError) -> None:
        """Answer with the problem document of a refusal."""
        problem = to_problem(error)
        more: RawHeaders = [_PROBLEM]
        if problem.code in _ASK_AGAIN:
            more.append((b"retry-after", b"1"))
        elif problem.code == "unauthenticated":
            more.append((b"www-authenticate", b"Bearer"))
        await self.answer(send, problem.status, encode(problem), more)

    async def answer(self, send: Send, status: int, body: bytes, more: RawHeaders) -> None:
        """Send a whole answer."""
        headers = [*self.head(), *more, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class AnswerApp:
    """The application of one endpoint whose answer is one document."""

    def __init__(self, frame: Frame, endpoint: Endpoint, handler: Handler) -> None:
        """Pair an endpoint of the table with its handler."""
        self._frame = frame
        self._endpoint = endpoint
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        frame, endpoint = self._frame, self._endpoint
        try:
            with frame.doors.enter(endpoint.name, stream=False):
                call = await frame.read(endpoint, scope, receive)
                body = encode(await self._handler(call))
        except Gone:
            return
        except TenureError as error:
            if is_bug(error):
                raise
            await frame.refuse(send, error)
            return
        await frame.answer(send, endpoint.status, body, [_JSON])
        if endpoint.by_worker:
            frame.service.answered(endpoint.name)


def is_bug(error: TenureError) -> bool:
    """Say whether an error is none of the protocol's, and therefore for the log and not for the caller."""
    return error.code not in STATUS or error.code == "internal"


def _decode(endpoint: Endpoint, form: type[Struct], body: bytes, protocol: bytes | None) -> object:
    if not body and endpoint.body_optional:
        body = b"{}"
    strict = not (endpoint.by_worker and protocol is not None)
    if not strict:
        _check_protocol(protocol)
    if endpoint.name == "events":
        return decode_events(body, strict=strict)
    return decode_request(body, form, strict=strict)


def _check_protocol(said: bytes | None) -> None:
    major = PROTOCOL.partition(".")[0].encode()
    if said is not None and said.partition(b".")[0] != major:
        raise Invalid(f"this server speaks {PROTOCOL}", path=PROTOCOL_HEADER)


def _query(raw: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        raise Invalid("the query is not written as `name=value&…` in UTF-8") from None
    for name, value in pairs:
        if name in found:
            raise Invalid("is given twice", path=name)
        found[name] = value
    return found
