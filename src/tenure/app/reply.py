"""An answer that comes from another thread; waited for by a thread, or told to a loop by a callback.

Why not `concurrent.futures`: it loads logging, and an executor's imports are paid at every start.
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar, cast

T = TypeVar("T")


class Reply(Generic[T]):
    """Settled once, with a value or an error; what comes later changes nothing."""

    def __init__(self) -> None:
        """Start without an answer."""
        self._open = threading.Lock()
        self._open.acquire()
        self._guard = threading.Lock()
        self._value: T | None = None
        self._error: BaseException | None = None
        self._told: list[Callable[[], object]] = []
        self._is_done = False

    @property
    def is_done(self) -> bool:
        """Whether the answer is there."""
        return self._is_done

    @property
    def error(self) -> BaseException | None:
        """The error, if it is there and is one."""
        return self._error

    def settle(self, value: T) -> None:
        """Give the value."""
        self._close(value, None)

    def fail(self, error: BaseException) -> None:
        """Give an error instead."""
        self._close(None, error)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the answer and say whether it is there."""
        if not self._is_done and self._open.acquire(timeout=-1 if timeout_s is None else timeout_s):
            self._open.release()
        return self._is_done

    def result(self) -> T:
        """Wait for the answer; return its value or raise its error."""
        self.wait()
        if self._error is not None:
            raise self._error
        return cast("T", self._value)

    def when_done(self, callback: Callable[[], object]) -> None:
        """Have the callback called once the answer is there, by whoever gives it."""
        with self._guard:
            if not self._is_done:
                self._told.append(callback)
                return
        callback()

    def _close(self, value: T | None, error: BaseException | None) -> None:
        with self._guard:
            if self._is_done:
                return
            self._value, self._error = value, error
            self._is_done = True
            told, self._told = self._told, []
        self._open.release()
        for callback in told:
            callback()
