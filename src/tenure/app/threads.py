"""Threads for plain functions, started when needed and kept for the next call."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, TypeVar, cast

from tenure.app.reply import Reply

T = TypeVar("T")
Call = tuple[Callable[[], object], Reply[object]]

THREADS_MAX: Final = 1_000  # Bound: a worker has at most as many slots; further calls wait for a thread


class Threads:
    """Calls functions on threads that do not keep the process alive."""

    def __init__(self) -> None:
        """Start with none."""
        self._calls: SimpleQueue[Call] = SimpleQueue()
        self._guard = threading.Lock()
        self._waiting = 0  # threads that wait for a call, less the calls that wait for a thread
        self._started = 0

    def call(self, function: Callable[[], T]) -> Reply[T]:
        """Have the function called; whatever it raises, exits included, is the reply's error."""
        reply: Reply[T] = Reply()
        self._calls.put((function, cast("Reply[object]", reply)))
        with self._guard:
            self._waiting -= 1
            if self._waiting >= 0 or self._started >= THREADS_MAX:
                return reply
            self._started += 1
            self._waiting += 1
            name = f"capability-{self._started}"
        threading.Thread(target=self._work, name=name, daemon=True).start()
        return reply

    def _work(self) -> None:
        while True:
            function, reply = self._calls.get()
            try:
                value = function()
            except BaseException as error:  # noqa: BLE001 - user code: exits are results too (C060)
                reply.fail(error)
            else:
                reply.settle(value)
            del function, reply  # what a call held must not live on while the thread waits
            with self._guard:
                self._waiting += 1
