"""Answers that stay open: server-sent events with signs of life, and an end that is said."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Final

import anyio
from starlette.types import Receive, Scope, Send

from tenure.core.command import Command
from tenure.core.errors import TenureError
from tenure.core.view import TaskView
from tenure.server.call import AnyCall, Call, StreamHandler
from tenure.server.frame import Frame, is_bug
from tenure.wire.codec import encode
from tenure.wire.commands import BYE_EVENT, COMMAND_EVENT
from tenure.wire.endpoints import Endpoint
from tenure.wire.events import TASK_EVENT
from tenure.wire.limits import KEEP_ALIVE_S
from tenure.wire.sse import KEEP_ALIVE, MEDIA_TYPE, write_event

SEND_S_MAX: Final = 30.0
"""Bound: a reader that takes nothing for so long is taken for gone."""

BYE: Final = write_event(BYE_EVENT, b"{}")
_HEAD: Final = [
    (b"content-type", MEDIA_TYPE.encode()),
    (b"x-accel-buffering", b"no"),
]


class StreamApp:
    """The application of one endpoint whose answer is an event stream."""

    def __init__(self, frame: Frame, endpoint: Endpoint, handler: StreamHandler) -> None:
        """Pair an endpoint of the table with what opens its stream."""
        self._frame = frame
        self._endpoint = endpoint
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse with a problem document, or stream until one side ends it."""
        out = _Outlet(send, [*self._frame.head(), *_HEAD])
        try:
            with self._frame.doors.enter(self._endpoint.name, stream=True):
                call = await self._frame.read(self._endpoint, scope, receive)
                async with self._handler(call) as chunks:
                    await out.open()
                    await _stream(chunks, receive, out)
        except TenureError as error:
            if is_bug(error):
                raise
            if not out.opened:
                await self._frame.refuse(send, error)


class _Outlet:
    """Where a stream's chunks go; the server stops listening to one that has been closed."""

    def __init__(self, send: Send, headers: list[tuple[bytes, bytes]]) -> None:
        self._send = send
        self._headers = headers
        self.opened = False
        self.last = 0.0

    async def open(self) -> None:
        self.opened = True
        await self._send({"type": "http.response.start", "status": 200, "headers": self._headers})
        self.last = anyio.current_time()

    async def write(self, chunk: bytes) -> bool:
        self.last = anyio.current_time()
        with anyio.move_on_after(SEND_S_MAX) as scope:
            await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
        return not scope.cancelled_caught

    async def close(self) -> None:
        await self._send({"type": "http.response.body", "body": BYE})


async def _stream(chunks: AsyncIterator[bytes], receive: Receive, out: _Outlet) -> None:
    """Send chunks until they end, the reader goes away, or it takes nothing any more."""
    ended = False
    async with anyio.create_task_group() as group:
        group.start_soon(_until_gone, receive, group.cancel_scope)
        group.start_soon(_keep_alive, out)
        ended = await _send_all(chunks, out)
        group.cancel_scope.cancel()
    if ended:
        await out.close()


async def _send_all(chunks: AsyncIterator[bytes], out: _Outlet) -> bool:
    """Send every chunk; false if the reader takes nothing or the store does not answer."""
    try:
        async for chunk in chunks:
            if not await out.write(chunk):
                return False
    except TenureError as error:
        # Once it is open, the only way to say that it broke is to let it end without a word.
        if is_bug(error):
            raise
        return False
    return True


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _keep_alive(out: _Outlet) -> None:
    """Send a comment whenever nothing was sent for a while: each side knows that the other is there."""
    while True:
        await anyio.sleep(max(0.0, out.last + KEEP_ALIVE_S - anyio.current_time()))
        if anyio.current_time() - out.last >= KEEP_ALIVE_S:
            await out.write(KEEP_ALIVE)


@asynccontextmanager
async def commands(call: AnyCall) -> AsyncGenerator[AsyncIterator[bytes], None]:
    """Open the session's one stream of commands."""
    async with call.service.open_stream(call.own_worker(), call.token) as groups:
        yield _commands(groups)


async def _commands(groups: AsyncIterator[list[Command]]) -> AsyncIterator[bytes]:
    async for group in groups:
        yield b"".join(_command(command) for command in group) or KEEP_ALIVE


def _command(command: Command) -> bytes:
    return write_event(COMMAND_EVENT, encode(command), command.sequence)


@asynccontextmanager
async def follow(call: Call[None]) -> AsyncGenerator[AsyncIterator[bytes], None]:
    """Open the stream of one task; the first look at it decides whether there is one."""
    async with aclosing(call.service.follow(call.who, call.id("task_id"))) as views:
        first = await anext(views, None)
        yield _tasks(first, views)


async def _tasks(first: TaskView | None, views: AsyncIterator[TaskView]) -> AsyncIterator[bytes]:
    if first is None:
        return
    yield write_event(TASK_EVENT, encode(first))
    async for view in views:
        yield write_event(TASK_EVENT, encode(view))


STREAMS: Final[dict[str, StreamHandler]] = {"commands": commands, "follow": follow}
