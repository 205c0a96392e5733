"""What waits for the writing thread: operations, each with the future of whoever submitted it."""

import copy
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Generic, TypeVar

from tenure.core.errors import StoreUnavailable, TenureError

Transaction = TypeVar("Transaction")

WAITING_MAX = 10_000  # Bound: operations that have been accepted and not begun


class Order(Generic[Transaction]):
    """An operation, the future its submitter holds, and what came of it before the commit."""

    __slots__ = ("answer", "error", "future", "has_begun", "operation")

    def __init__(self, operation: Callable[[Transaction], object], future: Future[object]) -> None:
        """Join an operation with the future for its answer."""
        self.operation = operation
        self.future = future
        self.answer: object = None
        self.error: Exception | None = None
        self.has_begun = False

    def begin(self) -> bool:
        """Take the order on, unless its submitter has cancelled it; from then on that is too late."""
        self.has_begun = self.has_begun or self.future.set_running_or_notify_cancel()
        return self.has_begun

    def settle(self) -> None:
        """Give the submitter the operation's own answer or error."""
        if self.error is None:
            self.future.set_result(self.answer)
        else:
            self.future.set_exception(self.error)

    def reject(self, error: TenureError) -> None:
        """Give the submitter an error that others get too, as an object of its own."""
        own = copy.copy(error)
        own.__cause__ = error
        self.future.set_exception(own)


class Orders(Generic[Transaction]):
    """Two lines before one door: urgent orders go first, and the door can be shut."""

    def __init__(self) -> None:
        """Begin empty and open."""
        self._gate = threading.Condition(threading.Lock())
        self._urgent: deque[Order[Transaction]] = deque()
        self._ordinary: deque[Order[Transaction]] = deque()
        self._refusal: StoreUnavailable | None = None

    def put(self, order: Order[Transaction], *, urgent: bool) -> None:
        """Add an order, or reject it if the door is shut or too many wait."""
        with self._gate:
            refusal = self._refusal
            if refusal is None and len(self._urgent) + len(self._ordinary) >= WAITING_MAX:
                refusal = StoreUnavailable(f"the store is busy: {WAITING_MAX} operations wait", reason="busy")
            if refusal is None:
                (self._urgent if urgent else self._ordinary).append(order)
                self._gate.notify()
        if refusal is not None:
            order.reject(refusal)

    def take(self, count_max: int) -> list[Order[Transaction]]:
        """Wait for orders and return the first ones; none means that the door is shut and nobody is left."""
        taken: list[Order[Transaction]] = []
        with self._gate:
            while not (self._urgent or self._ordinary or self._refusal):
                self._gate.wait()
            while len(taken) < count_max and (line := self._urgent or self._ordinary):
                taken.append(line.popleft())
        return taken

    def put_back(self, orders: Iterable[Order[Transaction]]) -> None:
        """Put orders that were taken in vain before all that are not urgent."""
        with self._gate:
            self._ordinary.extendleft(reversed(list(orders)))

    def shut(self, refusal: StoreUnavailable) -> None:
        """Reject what comes from now on; what waits already may still be taken. The first refusal stays."""
        with self._gate:
            self._refusal = self._refusal or refusal
            self._gate.notify()

    def clear(self) -> list[Order[Transaction]]:
        """Return all that wait, of which none will be taken."""
        with self._gate:
            waiting = [*self._urgent, *self._ordinary]
            self._urgent.clear()
            self._ordinary.clear()
        return waiting
