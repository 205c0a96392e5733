"""The one gate to the store: operations in, awaited; the store's position after each."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from tenure.ports.store import ControlStore, Transaction

T = TypeVar("T")


class Gate:
    """Runs operations through the store's writer and queries on its snapshots, from one event loop."""

    def __init__(self, store: ControlStore) -> None:
        """Take the store; the gate does not own it."""
        self._store = store
        self.epoch = 0
        self.position = 0

    async def write(self, operation: Callable[[Transaction], T], *, urgent: bool = False) -> T:
        """Run the operation in a transaction and return once it is durable."""

        def positioned(tx: Transaction) -> tuple[T, int]:
            result = operation(tx)
            return result, tx.facts.position()

        # Why shielded: what was accepted is carried out; a caller that went away does not undo it.
        result, position = await asyncio.shield(
            asyncio.wrap_future(self._store.write(positioned, urgent=urgent))
        )
        self.position = max(self.position, position)
        return result

    async def read(self, query: Callable[[Transaction], T]) -> T:
        """Run the query on a snapshot."""
        return await asyncio.wrap_future(self._store.read(query))

    async def open(self) -> None:
        """Learn the store's epoch and position."""

        def look(tx: Transaction) -> tuple[int, int]:
            return tx.pulse.epoch(), tx.facts.position()

        self.epoch, self.position = await self.read(look)
