"""How a worker writes to its local store, and what a full disk or a broken one does to it. D28."""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from tenure.core.errors import DiskFull
from tenure.ports.local import LocalStore, LocalTransaction
from tenure.ports.observer import Observer
from tenure.worker.alarms import Alarms
from tenure.worker.books import Books

T = TypeVar("T")
Operation = Callable[[LocalTransaction], T]

FULL_AGAIN_S: Final = 1.0
PRUNE_ROWS: Final = 1_000  # Bound: rows of each kind that one step removes


class Saving:
    """Writes to the local store.

    On a full disk the reserve is given up for what must be said: final states and the outcomes of effects.
    Everything else is refused from then on until there is room again. Every other error of the store ends the
    process: `watch` raises it, and whoever waited for the write gets it too.
    """

    def __init__(self, store: LocalStore, alarms: Alarms, observer: Observer, books: Books) -> None:
        """Use a store that is open; the books learn when there is no room for anything new."""
        self._store = store
        self._alarms = alarms
        self._observer = observer
        self._books = books
        self._full: DiskFull | None = None

    @property
    def is_full(self) -> bool:
        """Whether nothing new may be taken for want of room."""
        return self._full is not None

    async def write(self, operation: Operation[T]) -> T:
        """Run an operation that can be refused.

        Raises:
            DiskFull: Nothing was written. Do not begin what this was to be the record of.
        """
        if self._full is not None:
            raise DiskFull(self._full.text, reason=self._full.reason)
        try:
            return await asyncio.wrap_future(self._store.write(operation))
        except DiskFull as full:
            self._noticed(full)
            raise

    async def insist(self, operation: Operation[T]) -> T:
        """Run an operation that says what has happened already; returns once it is durable, however long."""
        while True:
            try:
                return await asyncio.wrap_future(self._store.write(operation))
            except DiskFull as full:
                if not self._noticed(full):
                    await self._alarms.sleep(FULL_AGAIN_S)

    async def read(self, query: Operation[T]) -> T:
        """Run a query on a consistent snapshot."""
        return await asyncio.wrap_future(self._store.read(query))

    async def prune(self) -> None:
        """Remove what nothing can need any more, a bounded number of rows."""
        if not self.is_full:
            await asyncio.wrap_future(self._store.write(lambda tx: tx.upkeep.prune(PRUNE_ROWS)))

    def look_for_room(self) -> None:
        """See whether the reserve can be held again; then the disk counts as usable."""
        if self._full is not None and self._store.hold_reserve():
            self._full = None
            self._books.is_full = False
            self._observer.tell("disk.freed")

    async def watch(self) -> None:
        """Return only when the store was closed; raise the error after which nothing is written any more."""
        error = await asyncio.wrap_future(self._store.failed)
        if error is not None:
            raise error

    def _noticed(self, full: DiskFull) -> bool:
        """Give the reserve up, and say whether that is new: then there is room now for what must be said."""
        is_new = self._full is None
        if is_new:
            self._observer.tell("disk.filled", error=full.text)
        self._full = full
        self._books.is_full = True
        self._store.give_up_reserve()
        return is_new
