"""The worker's own store: identity, inbox, attempts, effects, outbox, executors. D28, D29."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol, TypeVar

from msgspec import Struct

from tenure.core.admission import InboxRow
from tenure.core.attempt import Attempt, LocalEffect
from tenure.core.command import Command
from tenure.core.event import Event

T = TypeVar("T")


class InstanceRow(Struct, frozen=True):
    """The identity that lives in the store and outlives sessions (C117).

    `unconfirmed` are incarnations drawn since the last confirmed one; both travel as predecessors.
    """

    instance_id: str
    confirmed: str | None = None
    unconfirmed: tuple[str, ...] = ()
    tries: int = 0
    drained: bool = False
    drained_number: int = 0
    store_epoch: int = 0
    store_position: int = 0


class ExecutorRow(Struct, frozen=True):
    """The identity of an executor process, saved before it receives work (C103, C122)."""

    pid: int
    start_time: str
    boot_id: str
    marker: str


class Usage(Struct, frozen=True):
    """What the attempts that are not final take: how many there are, and their resources in sum. C114."""

    attempts: int
    resources: Mapping[str, float]


class Identity(Protocol):
    """The one row about this instance."""

    def read(self) -> InstanceRow | None:
        """Return the row, or None in a new store."""
        ...

    def write(self, row: InstanceRow) -> None:
        """Keep the row."""
        ...


class Inbox(Protocol):
    """Commands received. C062 to C067."""

    def seen(self, command_ids: Collection[str]) -> dict[str, InboxRow]:
        """Return what is remembered of these commands."""
        ...

    def add(self, rows: Sequence[tuple[Command, InboxRow]]) -> None:
        """Remember commands and how they are answered."""
        ...


class Attempts(Protocol):
    """Attempts by id; usage is counted from here, never from memory. C068 C114."""

    def add(self, attempts: Sequence[Attempt]) -> None:
        """Add pending attempts, in the transaction that remembers their commands. C063.

        An attempt's epoch begins where those of earlier attempts of its task here have ended, so that an
        older entry of the ledger is never taken for one of the execution that asks.
        """
        ...

    def load(self, ids: Collection[str]) -> dict[str, Attempt]:
        """Return the attempts that exist."""
        ...

    def save(self, attempts: Sequence[Attempt]) -> None:
        """Write attempts back; a row that is final stays what it is, but for `lease_kept` ending. C071."""
        ...

    def forget(self, ids: Collection[str]) -> None:
        """Note that these are decided elsewhere, so that unknown ones need not be kept any longer."""
        ...

    def unfinished(self) -> list[Attempt]:
        """Return the attempts that are not final, oldest first."""
        ...

    def leased(self) -> list[Attempt]:
        """Return the attempts whose lease is still renewed: unfinished, or final and not yet answered."""
        ...

    def usage(self) -> Usage:
        """Count what the attempts that are not final take. C114."""
        ...


class LocalEffects(Protocol):
    """The worker's ledger by (task, run, name)."""

    def load(self, task_id: str, run: int) -> list[LocalEffect]:
        """Return the entries of a run, oldest first."""
        ...

    def save(self, effects: Sequence[LocalEffect]) -> None:
        """Add or change entries."""
        ...


class Outbox(Protocol):
    """Facts not yet confirmed. C070 C080 C081 C090."""

    def add(self, events: Sequence[Event]) -> None:
        """Append events; an unsent checkpoint of the same attempt is replaced by a newer one."""
        ...

    def pending(self, limit: int) -> list[Event]:
        """Return the oldest pending events in the order they were saved."""
        ...

    def mark_reported(self, event_ids: Sequence[str]) -> None:
        """Mark events as confirmed, and end the leases that were kept for their answers (D15)."""
        ...

    def quarantine(self, event_id: str, reason: str, instead: Event | None = None) -> bool:
        """Set a pending event aside, visibly, and append the one that stands in for it (D8).

        Nothing stands in for a stand-in: then False is returned, and the lease that was kept for the answer
        ends.
        """
        ...

    def counts(self) -> dict[str, int]:
        """Return how many events are `pending`, `reported` and `quarantined`."""
        ...


class Executors(Protocol):
    """Executor processes that were started and not yet shown dead."""

    def add(self, row: ExecutorRow) -> None:
        """Remember an executor before it receives work."""
        ...

    def remove(self, pid: int, start_time: str) -> None:
        """Forget an executor that was shown dead."""
        ...

    def all(self) -> list[ExecutorRow]:
        """Return those that are remembered."""
        ...


class LocalUpkeep(Protocol):
    """What keeps the store small."""

    def prune(self, limit: int) -> int:
        """Remove up to so many rows of each kind that nothing can need any more; return how many went.

        Reported events, then attempts whose end was reported, with their effects, then commands that cannot
        be offered again. What is unknown, unreported or set aside stays.
        """
        ...


class LocalTransaction(Protocol):
    """One atomic local step."""

    @property
    def identity(self) -> Identity:
        """This instance."""
        ...

    @property
    def inbox(self) -> Inbox:
        """Commands received."""
        ...

    @property
    def attempts(self) -> Attempts:
        """Attempts."""
        ...

    @property
    def effects(self) -> LocalEffects:
        """The ledger."""
        ...

    @property
    def outbox(self) -> Outbox:
        """Facts to be delivered."""
        ...

    @property
    def executors(self) -> Executors:
        """Executor processes."""
        ...

    @property
    def upkeep(self) -> LocalUpkeep:
        """What keeps the store small."""
        ...


class LocalStore(Protocol):
    """The worker's store; durable means full sync. An error at COMMIT ends the process (D28)."""

    def write(self, operation: Callable[[LocalTransaction], T], *, urgent: bool = False) -> "Future[T]":
        """Run the operation in a transaction and resolve once it is durable.

        Raises (from the future):
            DiskFull: Found before COMMIT; certain that nothing was committed.
            StoreUnavailable: Certain that nothing was committed.
            OutcomeUnknown: It may have been committed; the process must end.
        """
        ...

    def read(self, query: Callable[[LocalTransaction], T]) -> "Future[T]":
        """Run the query on a consistent snapshot."""
        ...

    @property
    def failed(self) -> "Future[BaseException | None]":
        """Resolves with the error after which the store takes no further writes; with None once closed."""
        ...

    def give_up_reserve(self) -> None:
        """Give the reserve up, so that final states can be written although the disk is full (D28)."""
        ...

    def hold_reserve(self) -> bool:
        """Make the reserve again if there is room for it; say whether it is there."""
        ...

    def close(self) -> None:
        """End what was accepted, then let go."""
        ...
