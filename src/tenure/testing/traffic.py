"""What a proxy does to the traffic and what it has seen: rules for single exchanges, and the log."""

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

WAIT_S = 20.0
"""Bound on waiting for an exchange."""


class Side(StrEnum):
    """Which way bytes go."""

    UP = "up"
    """From the worker or client to the server."""

    DOWN = "down"
    """From the server back."""


class Harm(StrEnum):
    """What happens to an exchange."""

    LOSE_REQUEST = "lose_request"
    """The connection is cut before the server has heard of the request."""

    LOSE_REPLY = "lose_reply"
    """The server hears the request and answers; the connection is cut instead of passing the answer on."""

    DELAY_REPLY = "delay_reply"
    """The answer is passed on later."""


@dataclass
class Exchange:
    """One request that the proxy has seen, and what became of its reply.

    Instants are seconds on the monotonic clock.
    """

    connection: int
    method: str
    path: str
    at_s: float = field(default_factory=time.monotonic)
    harm: Harm | None = None
    status: int | None = None
    replied_at_s: float | None = None


class Log:
    """Every exchange in order, for waiting and for looking back; safe to use from any thread."""

    def __init__(self) -> None:
        """Begin empty."""
        self._changed = threading.Condition()
        self._exchanges: list[Exchange] = []

    def add(self, exchange: Exchange) -> None:
        """Note a request."""
        with self._changed:
            self._exchanges.append(exchange)
            self._changed.notify_all()

    def replied(self, exchange: Exchange, status: int) -> None:
        """Note that the server has answered it."""
        with self._changed:
            exchange.status, exchange.replied_at_s = status, time.monotonic()
            self._changed.notify_all()

    def changed(self) -> None:
        """Wake those who wait for something else than a request."""
        with self._changed:
            self._changed.notify_all()

    def find(self, method: str | None = None, path: str = "") -> list[Exchange]:
        """Return the exchanges of a method whose path contains a match of the pattern."""
        with self._changed:
            return [one for one in self._exchanges if _fits(one.method, one.path, method, re.compile(path))]

    def wait(self, holds: Callable[[], bool], wanted: str, timeout_s: float) -> None:
        """Return when it holds.

        Raises:
            TimeoutError: It does not; the text says what was seen last.
        """
        with self._changed:
            if self._changed.wait_for(holds, timeout_s):
                return
            last = ", ".join(f"{one.method} {one.path} {one.status}" for one in self._exchanges[-20:])
        raise TimeoutError(f"waited {timeout_s} s for {wanted}; the last requests were: {last or 'none'}")


class Rule:
    """Something that happens to the exchanges that match it, so many times; a handle to wait on."""

    def __init__(
        self,
        log: Log,
        harm: Harm,
        method: str | None,
        path: str,
        *,
        delay_s: float = 0.0,
        times: int | None = 1,
    ) -> None:
        """Made by the proxy's methods; `times` None means always."""
        self.harm, self.delay_s = harm, delay_s
        self.hits: list[Exchange] = []
        self._log = log
        self._method, self._path = method, re.compile(path)
        self._times = times

    def takes(self, exchange: Exchange) -> bool:
        """Say whether this exchange is one that it happens to, and count it."""
        if self._times == 0 or not _fits(exchange.method, exchange.path, self._method, self._path):
            return False
        if self._times is not None:
            self._times -= 1
        exchange.harm = self.harm
        return True

    def done(self, exchange: Exchange) -> None:
        """Note that it has happened."""
        self.hits.append(exchange)
        self._log.changed()

    def stop(self) -> None:
        """Let it happen to no further exchange."""
        self._times = 0

    def wait(self, count: int = 1, timeout_s: float = WAIT_S) -> Exchange:
        """Return the last exchange that it has happened to, once there are so many.

        Raises:
            TimeoutError: It has not happened so often; the text says what was seen.
        """
        what = f"{self.harm} of {self._method or 'any'} {self._path.pattern}"
        self._log.wait(lambda: len(self.hits) >= count, what, timeout_s)
        return self.hits[-1]


def _fits(method: str, path: str, wanted_method: str | None, wanted_path: re.Pattern[str]) -> bool:
    """Say whether a request is one of those meant."""
    return wanted_method in {None, method} and wanted_path.search(path) is not None
