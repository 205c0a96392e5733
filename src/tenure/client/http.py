"""Talking to a control plane: an asynchronous caller for workers and a blocking one for people's programs.

Both send what `exchange` prepares and read what it explains. A failure of the way there, and every answer
that judges nothing, is `DeliveryFailed`; whoever calls decides whether and when to ask again.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final, TypeVar

import anyio
import httpx2

from tenure.client.exchange import (
    CONNECT_S,
    KEPT_ALIVE_S,
    Position,
    Sent,
    address,
    check_length,
    failed_delivery,
    is_certificate,
    is_this_machine,
    position_of,
    prepare,
    read_answer,
    refusal,
    tls,
)
from tenure.core.errors import DeliveryFailed
from tenure.wire.endpoints import Endpoint
from tenure.wire.sse import MEDIA_TYPE

T = TypeVar("T")

CALL_S: Final = 15.0
"""Bound: one call, from the first byte sent to the last one read, unless the caller says otherwise."""

_LIMITS: Final = httpx2.Limits(max_connections=64, max_keepalive_connections=8, keepalive_expiry=KEPT_ALIVE_S)


class Newest:
    """The highest position that any answer named; shared by the connections of one worker."""

    def __init__(self) -> None:
        """Know none yet."""
        self.position = Position()

    def hear(self, answer: httpx2.Response) -> None:
        """Take an answer's position if it is higher."""
        self.position = max(self.position, position_of(answer))


class AsyncHttp:
    """Connections to one control plane, opened when they are needed."""

    def __init__(self, url: str, newest: Newest | None = None) -> None:
        """Take the address; nothing is connected yet."""
        self.url = address(url)
        self.newest = newest or Newest()
        self._client: httpx2.AsyncClient | None = None

    async def call(
        self,
        endpoint: Endpoint,
        form: type[T],
        *,
        token: str | None,
        request: object = None,
        timeout_s: float = CALL_S,
        **path: str,
    ) -> T:
        """Make a call and return its answer, or raise what it stands for."""
        position = self.newest.position if endpoint.by_worker else None
        sent = prepare(endpoint, token, path=path, request=request, position=position)
        try:
            with anyio.fail_after(timeout_s):
                answer, body = await self._exchange(sent, timeout_s)
        except TimeoutError:
            raise DeliveryFailed(f"{self.url} did not answer within {timeout_s:g} s") from None
        self.newest.hear(answer)
        return read_answer(endpoint, form, answer, body)

    @asynccontextmanager
    async def stream(
        self, endpoint: Endpoint, *, token: str, silence_s: float, **path: str
    ) -> AsyncGenerator[AsyncIterator[bytes], None]:
        """Open an event stream and give its bytes as they come; silence for too long breaks it."""
        sent = prepare(endpoint, token, path=path, position=self.newest.position)
        sent.headers["accept"] = MEDIA_TYPE
        answer = await self._open(sent, silence_s)
        try:
            if answer.status_code != endpoint.status:
                raise refusal(answer, await self._read(answer))
            self.newest.hear(answer)
            yield self._pieces(answer)
        finally:
            with anyio.CancelScope(shield=True):
                await answer.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _exchange(self, sent: Sent, timeout_s: float) -> tuple[httpx2.Response, bytes]:
        answer = await self._open(sent, timeout_s)
        try:
            return answer, await self._read(answer)
        finally:
            await answer.aclose()

    async def _open(self, sent: Sent, read_s: float) -> httpx2.Response:
        if self._client is None:
            # Why no redirects: a credential goes to the address it was given for, and to no other.
            self._client = httpx2.AsyncClient(
                verify=tls(self.url), limits=_LIMITS, trust_env=not is_this_machine(self.url)
            )
        client = self._client
        request = client.build_request(
            sent.method,
            self.url + sent.path,
            headers=sent.headers,
            content=sent.body,
            timeout=httpx2.Timeout(read_s, connect=CONNECT_S),
        )
        try:
            return await client.send(request, stream=True)
        except httpx2.HTTPError as error:
            if is_certificate(error):
                await self.aclose()
            raise failed_delivery(self.url, error) from error

    async def _read(self, answer: httpx2.Response) -> bytes:
        check_length(answer)
        body = bytearray()
        async for piece in self._pieces(answer):
            body += piece
            check_length(answer, len(body))
        return bytes(body)

    async def _pieces(self, answer: httpx2.Response) -> AsyncIterator[bytes]:
        try:
            async for piece in answer.aiter_raw():
                yield piece
        except httpx2.HTTPError as error:
            raise failed_delivery(self.url, error) from error


class BlockingHttp:
    """The same for programs without an event loop; one instance serves many threads."""

    def __init__(self, url: str) -> None:
        """Take the address; nothing is connected yet."""
        self.url = address(url)
        self._client = httpx2.Client(
            verify=tls(self.url), limits=_LIMITS, trust_env=not is_this_machine(self.url)
        )

    def call(
        self,
        endpoint: Endpoint,
        form: type[T],
        *,
        token: str | None,
        request: object = None,
        query: dict[str, str] | None = None,
        timeout_s: float = CALL_S,
        **path: str,
    ) -> T:
        """Make a call and return its answer, or raise what it stands for."""
        sent = prepare(endpoint, token, path=path, request=request)
        with self._open(sent, timeout_s, query) as answer:
            body = self._read(answer)
        return read_answer(endpoint, form, answer, body)

    @contextmanager
    def stream(
        self, endpoint: Endpoint, *, token: str | None, silence_s: float, **path: str
    ) -> Generator[Iterator[bytes], None, None]:
        """Open an event stream and give its bytes as they come; silence for too long breaks it."""
        sent = prepare(endpoint, token, path=path)
        sent.headers["accept"] = MEDIA_TYPE
        with self._open(sent, silence_s, None) as answer:
            if answer.status_code != endpoint.status:
                raise refusal(answer, self._read(answer))
            yield self._pieces(answer)

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    @contextmanager
    def _open(
        self, sent: Sent, read_s: float, query: dict[str, str] | None
    ) -> Generator[httpx2.Response, None, None]:
        request = self._client.build_request(
            sent.method,
            self.url + sent.path,
            params=query,
            headers=sent.headers,
            content=sent.body,
            timeout=httpx2.Timeout(read_s, connect=CONNECT_S),
        )
        try:
            answer = self._client.send(request, stream=True)
        except httpx2.HTTPError as error:
            raise failed_delivery(self.url, error) from error
        try:
            yield answer
        finally:
            answer.close()

    def _read(self, answer: httpx2.Response) -> bytes:
        check_length(answer)
        body = bytearray()
        for piece in self._pieces(answer):
            body += piece
            check_length(answer, len(body))
        return bytes(body)

    def _pieces(self, answer: httpx2.Response) -> Iterator[bytes]:
        try:
            yield from answer.iter_raw()
        except httpx2.HTTPError as error:
            raise failed_delivery(self.url, error) from error
