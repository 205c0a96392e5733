"""The control plane's store: transactions over the ports of this package."""

from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime
from typing import Protocol, TypeVar

from tenure.ports.board import Board, Selection, Upkeep
from tenure.ports.commands import Commands
from tenure.ports.credentials import Credentials
from tenure.ports.facts import Facts, Ledger
from tenure.ports.pulse import PulseRow
from tenure.ports.registry import Registry
from tenure.ports.verdicts import Verdicts

T = TypeVar("T")


class Transaction(Protocol):
    """One atomic step: everything in it is committed together or not at all."""

    @property
    def board(self) -> Board:
        """Tasks and claims by id."""
        ...

    @property
    def selection(self) -> Selection:
        """Tasks by what is to be decided about them."""
        ...

    @property
    def upkeep(self) -> Upkeep:
        """What the janitor asks besides."""
        ...

    @property
    def registry(self) -> Registry:
        """Workers and their sessions."""
        ...

    @property
    def commands(self) -> Commands:
        """Commands to workers."""
        ...

    @property
    def ledger(self) -> Ledger:
        """Effects, steps and checkpoints."""
        ...

    @property
    def facts(self) -> Facts:
        """The append-only history."""
        ...

    @property
    def verdicts(self) -> Verdicts:
        """People's decisions."""
        ...

    @property
    def credentials(self) -> Credentials:
        """Credentials by digest."""
        ...

    @property
    def pulse(self) -> PulseRow:
        """The store's own sign of life."""
        ...

    def now(self) -> datetime:
        """Return the store's present instant, read after the locks that this transaction holds. C007."""
        ...

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Call back once this transaction is durable; never if it is not. Must not block."""
        ...


class ControlStore(Protocol):
    """A store of the control plane, called through one gate."""

    def write(self, operation: Callable[[Transaction], T], *, urgent: bool = False) -> "Future[T]":
        """Run the operation in a transaction and resolve once it is durable.

        Operations may share one commit; one that raises loses only its own changes. `urgent` ones go first.

        Raises (from the future):
            StoreUnavailable: Certain that nothing was committed.
            OutcomeUnknown: It may have been committed; the store takes no further writes.
        """
        ...

    def read(self, query: Callable[[Transaction], T]) -> "Future[T]":
        """Run the query on a consistent snapshot; it must not write."""
        ...

    def close(self) -> None:
        """End what was accepted, then let go of the store."""
        ...
