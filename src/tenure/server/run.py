"""The server process: listening, saying that it is ready, and leaving quickly when told to.

An endless answer would keep uvicorn from leaving, for it waits for open answers. So the moment a signal
comes, `on_exit` tells the service to end its streams; each says goodbye and returns.
"""

import signal
import socket
import threading
from asyncio import AbstractEventLoop, Event, get_running_loop
from collections.abc import Callable, Generator
from contextlib import contextmanager
from ipaddress import ip_address
from types import FrameType
from typing import Final

import anyio
import uvicorn
from msgspec import Struct
from starlette.types import ASGIApp

from tenure.core.errors import InvalidConfig
from tenure.server.connection import Connection

GRACE_S: Final = 5
"""Bound: how long calls under way may take to end once the server is told to leave."""

KEPT_ALIVE_S: Final = 75
"""An idle connection is kept so long; clients let go of theirs earlier, so that none is used as it closes."""

BACKLOG: Final = 2_048
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Listening(Struct, frozen=True):
    """Where to listen; port 0 takes a free one."""

    host: str = "127.0.0.1"
    port: int = 7411


class HttpServer(uvicorn.Server):
    """Serves an application until a signal or `stop()`; a second signal leaves at once."""

    def __init__(
        self,
        app: ASGIApp,
        listening: Listening,
        *,
        on_ready: Callable[[str], None],
        on_exit: Callable[[], None],
    ) -> None:
        """Bind the address, so that whoever waits can be told where it is.

        Args:
            app: The application.
            listening: Where to listen.
            on_ready: Called with the server's address once it answers.
            on_exit: Called once on the event loop when the server is told to leave.

        Raises:
            InvalidConfig: The address cannot be used.
        """
        super().__init__(_config(app))
        self._socket = _bind(listening)
        self.url = _url(self._socket, listening)
        self._on_ready = on_ready
        self._on_exit = on_exit
        self._told = Event()
        self._loop: AbstractEventLoop | None = None
        self._exit_begun = False

    async def run_until_told(self) -> None:
        """Serve until told to leave, and return once everything under way has ended."""
        try:
            await self.serve(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Tell the server to leave; safe from any thread."""
        self.should_exit = True
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._begin_exit)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal: leave, or leave at once if told before."""
        self.force_exit = self.should_exit
        self.stop()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, then say so."""
        self._loop = get_running_loop()
        await super().startup(sockets)
        if self.should_exit:
            self._begin_exit()
        else:
            self._on_ready(self.url)

    async def main_loop(self) -> None:
        """Wait until told to leave; a tick each second renews the `Date` header."""
        ticks = 0
        while not await self.on_tick(ticks):
            ticks += 10  # uvicorn counts tenths of seconds
            with anyio.move_on_after(1):
                await self._told.wait()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Listen to signals while serving, and leave them as they were; none is raised again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {sig: signal.signal(sig, self.handle_exit) for sig in _SIGNALS}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)

    def _begin_exit(self) -> None:
        self._told.set()
        if not self._exit_begun:
            self._exit_begun = True
            self._on_exit()


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Connection,
        interface="asgi3",
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEPT_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
    )


def _bind(listening: Listening) -> socket.socket:
    host, port = listening.host, listening.port
    try:
        found = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _, address = found[0]
        # Why not `socket.create_server`: it leaves the protocol open, so asyncio leaves Nagle's delay on,
        # which costs each small answer 40 ms.
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _refused(listening, error) from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise _refused(listening, error) from error
    return bound


def _refused(listening: Listening, error: OSError) -> InvalidConfig:
    reason = error.strerror or str(error)
    return InvalidConfig(f"cannot listen on {listening.host}:{listening.port}: {reason}", path="listen")


def _url(bound: socket.socket, listening: Listening) -> str:
    """Return the address for people and clients; one that means all interfaces is shown as this machine's."""
    address: str = bound.getsockname()[0]
    if ip_address(address).is_unspecified:
        host = "::1" if ":" in address else "127.0.0.1"
    else:
        host = listening.host
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{bound.getsockname()[1]}"
