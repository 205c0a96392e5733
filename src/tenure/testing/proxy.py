"""A TCP proxy between a worker and its server that spoils the traffic on demand.

It runs on a thread of its own and is told what to do by plain calls from any other, so a test can change
its mind in the middle of a request. It is a real listener with a real port; to the worker it is the
server's address.

    with Proxy(server_url) as proxy:
        worker = start_worker(proxy.url)
        lost = proxy.lose_reply("POST", "/acks")
        lost.wait()
        proxy.black_hole()
        ...
        proxy.heal()
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Self, TypeVar
from urllib.parse import urlsplit

from tenure.testing.links import Link, Mood
from tenure.testing.traffic import WAIT_S, Exchange, Harm, Log, Rule, Side

T = TypeVar("T")

CALL_S = 10.0
"""Bound on a call to the proxy's own thread."""


class Proxy:
    """One listener in front of one server; passes everything until told otherwise.

    Args:
        target: The server's URL; `retarget` changes it when the server has moved.

    """

    def __init__(self, target: str) -> None:
        """Listen on a free port of the loopback interface."""
        self._log = Log()
        self._mood = Mood(_address(target), self._log)
        for thawed in self._mood.thawed.values():
            thawed.set()
        self._links: dict[Link, asyncio.Task[None]] = {}
        self._accepted = 0
        # Bound but never listening, this holds the port while the proxy refuses connections.
        self._port_holder = _bound(0)
        self.port: int = self._port_holder.getsockname()[1]
        self._listener: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self.accept()

    @property
    def url(self) -> str:
        """What the worker takes for the server's address."""
        return f"http://127.0.0.1:{self.port}"

    # Where to, and whether at all.

    def retarget(self, target: str) -> None:
        """Send new connections to another address, such as that of the server's next start."""
        self._call(lambda: setattr(self._mood, "target", _address(target)))

    def refuse(self) -> None:
        """Refuse new connections, as a machine without the server does; established ones go on."""
        self._run(self._stop_listening())

    def accept(self) -> None:
        """Take new connections again."""
        self._run(self._listen())

    def cut(self) -> int:
        """Cut every connection and return how many there were."""
        return self._call(self._cut_all)

    def black_hole(self, *sides: Side) -> None:
        """Let nothing through any more, in the ways given or in both.

        Established connections freeze: what is sent on them is kept, as a network keeps it by sending it
        again. New ones are accepted and never reach the server.
        """
        self._call(lambda: [self._mood.thawed[side].clear() for side in sides or Side])

    def heal(self, *, cut: bool = False) -> None:
        """End a black hole; what was kept arrives now, or, with `cut`, never, its connections being cut."""

        def thaw() -> None:
            if cut:
                self._cut_all()
            for thawed in self._mood.thawed.values():
                thawed.set()

        self._call(thaw)

    # What happens to single exchanges.

    def lose_reply(self, method: str | None = None, path: str = "", *, times: int | None = 1) -> Rule:
        """Have the server answer the next matching request and swallow the answer, cutting the connection.

        Args:
            method: Of the request; None means any.
            path: Regular expression that is searched in path and query.
            times: How often; None means until `stop` on the handle.
        """
        return self._rule(Rule(self._log, Harm.LOSE_REPLY, method, path, times=times))

    def lose_request(self, method: str | None = None, path: str = "", *, times: int | None = 1) -> Rule:
        """Cut the connection of the next matching request before the server hears of it."""
        return self._rule(Rule(self._log, Harm.LOSE_REQUEST, method, path, times=times))

    def delay_replies(
        self, seconds: float, method: str | None = None, path: str = "", *, times: int | None = None
    ) -> Rule:
        """Pass the answers to matching requests on so much later; by default to all of them."""
        return self._rule(Rule(self._log, Harm.DELAY_REPLY, method, path, delay_s=seconds, times=times))

    # How bytes go through.

    def dribble(self, *sides: Side) -> None:
        """Send every byte in a write of its own, in the ways given or in both."""
        self._call(lambda: self._mood.dribbled.update(sides or Side))

    def rewrite_lines(self, ending: bytes | None) -> None:
        r"""End the lines of event streams with these bytes (`b"\r\n"`, `b"\r"`); None leaves them."""
        self._call(lambda: setattr(self._mood, "ending", ending))

    def cut_streams(self, after_events: int | None) -> None:
        """Cut each event stream after so many events; None lets them live."""
        self._call(lambda: setattr(self._mood, "events_max", after_events))

    def be_transparent(self) -> None:
        """Take everything back: pass whatever comes, unchanged, at once."""
        self.accept()
        self.heal()

        def forget() -> None:
            self._mood.dribbled.clear()
            self._mood.ending = self._mood.events_max = None
            for rule in self._mood.rules:
                rule.stop()
            self._mood.rules.clear()

        self._call(forget)

    # What was seen.

    def requests(self, method: str | None = None, path: str = "") -> list[Exchange]:
        """Return the requests so far of a method whose path contains a match of the pattern."""
        return self._log.find(method, path)

    def wait_requests(
        self, count: int = 1, method: str | None = None, path: str = "", *, timeout_s: float = WAIT_S
    ) -> list[Exchange]:
        """Return the matching requests once there are so many.

        Raises:
            TimeoutError: There are not; the text says what was seen.
        """
        wanted = f"{count} of {method or 'any'} {path or 'path'}"
        self._log.wait(lambda: len(self._log.find(method, path)) >= count, wanted, timeout_s)
        return self._log.find(method, path)

    def wait_replies(
        self, count: int = 1, method: str | None = None, path: str = "", *, timeout_s: float = WAIT_S
    ) -> list[Exchange]:
        """Return the matching requests that the server has answered, once there are so many."""

        def answered() -> list[Exchange]:
            return [one for one in self._log.find(method, path) if one.status is not None]

        self._log.wait(
            lambda: len(answered()) >= count, f"{count} answers to {method or 'any'} {path}", timeout_s
        )
        return answered()

    def wait_connections(self, count: int, timeout_s: float = WAIT_S) -> None:
        """Return once so many connections have been accepted since the start."""
        self._log.wait(lambda: self._accepted >= count, f"{count} connections", timeout_s)

    def close(self) -> None:
        """Cut everything and free the port."""
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CALL_S)
        self._loop.close()
        self._port_holder.close()

    def __enter__(self) -> Self:
        """Use as a context that closes the proxy."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the proxy."""
        self.close()

    # On the proxy's own thread.

    async def _listen(self) -> None:
        if self._listener is None:
            listener = _bound(self.port)
            self._listener = await asyncio.start_server(self._serve, sock=listener, backlog=512)

    async def _stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Run one link; its task is known, so that closing the proxy ends it."""
        self._accepted += 1
        self._log.changed()
        link = Link(self._accepted, self._mood, reader, writer)
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - the server runs this in a task
        self._links[link] = task
        try:
            with suppress(asyncio.CancelledError):
                await link.run()
        finally:
            del self._links[link]

    def _cut_all(self) -> int:
        links = dict(self._links)
        for link, task in links.items():
            link.cut()
            task.cancel()  # it may be frozen and would not notice
        return len(links)

    async def _end(self) -> None:
        await self._stop_listening()
        tasks = list(self._links.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # aborted transports close their sockets in the loop's next round

    def _rule(self, rule: Rule) -> Rule:
        self._call(lambda: self._mood.rules.append(rule))
        return rule

    def _call(self, change: Callable[[], T]) -> T:
        """Run a change between two steps of the loop and return when it holds."""

        async def run() -> T:
            return change()

        return self._run(run())

    def _run(self, work: Coroutine[object, object, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_S)


def _address(url: str) -> tuple[str, int]:
    """Return host and port of a URL."""
    parts = urlsplit(url)
    if parts.hostname is None or parts.port is None:
        raise ValueError(f"{url!r} has no host and port; use http://HOST:PORT")
    return parts.hostname, parts.port


def _bound(port: int) -> socket.socket:
    """Return a socket bound to a port of the loopback interface, which others of this proxy may share."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    bound.bind(("127.0.0.1", port))
    return bound
