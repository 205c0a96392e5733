"""The one thread that writes to a file, and the grouping of operations into durable commits.

While one group is being committed, whatever arrives becomes the next, so that the price of a synced commit
is shared by all who wait for it. There is no timer: a lone operation goes at once. No answer, not even a
refusal, is given before the commit that made it true.
"""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeAlias, TypeVar, cast

from tenure.core.errors import DiskFull, InvariantBroken, OutcomeUnknown, StoreUnavailable, TenureError
from tenure.stores.sqlite.checkpoints import Checkpoints, LogBlocked
from tenure.stores.sqlite.connection import LOG_BYTES_MAX
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.orders import Order, Orders, Transaction

Answer = TypeVar("Answer")

Notice: TypeAlias = Callable[[], None]
AfterCommit: TypeAlias = Callable[[Notice], None]

GROUP_MAX = 256  # Bound: operations in one commit
TIGHT_BYTES = 64 * 2**20  # with less free than this, the disk has to prove before a commit that it takes it
GROUP_ROWS_MAX = (
    4_000  # Bound: rows changed in one commit, about 1 MiB, after which no further operation joins
)


class SpaceProbe(Protocol):
    """Says before a commit whether there is room for it."""

    def require(self) -> int:
        """Return the free bytes, or raise `DiskFull` if they are too few."""
        ...


@dataclass(frozen=True, slots=True)
class NoticeLost:
    """A notice raised this error; the fact it was about is saved."""

    error: Exception


Warn: TypeAlias = Callable[[LogBlocked | NoticeLost], None]


class Writer(Generic[Transaction]):
    """Owns the only writing connection and runs operations on it, each as if alone in its transaction.

    `failed` ends with the error after which nothing may be written any more: an unknown commit, a damaged
    file, a broken disk, a bug. The owner then ends its process, and the next start reads what is in the file
    (D28). After a clean close it ends with None.
    """

    def __init__(
        self,
        open_database: Callable[[], Database],
        make_transaction: Callable[[Database, AfterCommit], Transaction],
        *,
        space: SpaceProbe | None = None,
        warn: Warn = lambda _: None,
        log_bytes_max: int = LOG_BYTES_MAX,
        name: str = "store-writer",
    ) -> None:
        """Open the database on the calling thread, where its errors are raised, and start the writing thread.

        Args:
            open_database: Opens and migrates the file.
            make_transaction: Makes what one operation receives. What is handed to its second argument is
                called once the commit is durable and answered; equal notices of a group are given once.
            space: Asked before each commit.
            warn: Called on the writing thread with what the owner should tell somebody.
            log_bytes_max: From which length of the log on a reader that blocks it is worth a warning.
            name: The thread's name.
        """
        self.failed: Future[BaseException | None] = Future()
        self.failed.set_running_or_notify_cancel()  # from here on nobody who waits for it can cancel it
        self._make_transaction = make_transaction
        self._space = space
        self._warn = warn
        self._database = open_database()
        self._checkpoints = Checkpoints(self._database, warn, limit_bytes=log_bytes_max)
        self._orders: Orders[Transaction] = Orders()
        self._in_flight: list[Order[Transaction]] = []
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, operation: Callable[[Transaction], Answer], *, urgent: bool = False) -> Future[Answer]:
        """Have an operation run in a transaction; the future ends when its commit is durable.

        An operation that raises undoes its own changes only, and its error is the future's. It must let
        `StoreUnavailable` pass. Urgent operations (heartbeats, renewals) go before all others. Cancelling the
        future works until the operation begins.

        The future raises:
            StoreUnavailable: Nothing of it was done: too many wait, the file is busy, or writing has ended.
            DiskFull: Nothing of it was done; there is no room.
            OutcomeUnknown: Its commit may or may not have happened.
        """
        future: Future[Answer] = Future()
        self._orders.put(Order(operation, cast("Future[object]", future)), urgent=urgent)
        return future

    def close(self) -> None:
        """Take nothing new, commit what waits, empty the log and end the thread."""
        self._orders.shut(StoreUnavailable(f"{self._database.path} is closed", reason="closed"))
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        try:
            while group := self._orders.take(GROUP_MAX):
                self._in_flight = [order for order in group if order.begin()]
                self._commit_group()
                self._checkpoints.run_if_due()
            self._checkpoints.cut()
            self._database.close(tidy=True)
        except BaseException as error:  # noqa: BLE001 - it ends this thread and is the owner's to know
            self._die(error)
        else:
            self.failed.set_result(None)

    def _commit_group(self) -> None:
        try:
            notices = self._perform_group()
        except StoreUnavailable as error:
            if error.reason == "broken":
                raise
            # Busy and full are the weather: nothing happened, and the next group may fare better.
            self._database.rollback()
            if isinstance(error, DiskFull):
                self._checkpoints.cut()  # what was undone still takes room in the log
            self._reject_group(error)
            return
        # 1. Make it durable. A crash before this loses nothing that anybody was told.
        if self._database.in_transaction:
            self._database.commit()
        # 2. Answer. A crash before this is a lost reply: the submitter asks again.
        for order in self._in_flight:
            order.settle()
        self._in_flight = []
        # 3. Give the hints. A crash before this is what the slow polls are for.
        self._give(notices)

    def _perform_group(self) -> Iterable[Notice]:
        """Run the group's operations in one transaction that is ready to commit, and return their notices."""
        if not self._in_flight:
            return ()
        database = self._database
        database.run("begin immediate")
        perform = self._perform_alone if len(self._in_flight) == 1 else self._perform_in_savepoint
        notices: dict[Notice, None] = {}
        rows_max = database.rows_changed + GROUP_ROWS_MAX
        for count, order in enumerate(self._in_flight, start=1):
            notices.update(dict.fromkeys(perform(order)))
            if database.rows_changed > rows_max:
                self._orders.put_back(self._in_flight[count:])
                del self._in_flight[count:]
                break
        self._make_room()
        return notices

    def _make_room(self) -> None:
        """Find a full disk now, while it is known that nothing has happened yet."""
        if self._space is None or not self._database.in_transaction:
            return
        if self._space.require() < TIGHT_BYTES:
            self._database.flush()

    def _perform_in_savepoint(self, order: Order[Transaction]) -> list[Notice]:
        self._database.run("savepoint operation")
        notices = self._perform(order, undo="rollback to operation")
        self._database.run("release operation")
        return notices

    def _perform_alone(self, order: Order[Transaction]) -> list[Notice]:
        return self._perform(order, undo="rollback")

    def _perform(self, order: Order[Transaction], *, undo: str) -> list[Notice]:
        notices: list[Notice] = []
        try:
            order.answer = order.operation(self._make_transaction(self._database, notices.append))
        except StoreUnavailable:
            raise  # the whole group's, since SQLite may have undone all of it by itself
        except Exception as error:  # noqa: BLE001 - it is the submitter's own, and nobody else may lose by it
            order.error = error
            self._database.run(undo)
            return []
        if not self._database.in_transaction:
            raise InvariantBroken("an operation went on after SQLite had ended its transaction")
        return notices

    def _reject_group(self, error: TenureError) -> None:
        for order in self._in_flight:
            order.reject(error)
        self._in_flight = []

    def _give(self, notices: Iterable[Notice]) -> None:
        for notice in notices:
            try:
                notice()
            except Exception as error:  # noqa: BLE001 - a hint that is lost costs a poll, not the store
                self._warn(NoticeLost(error))

    def _die(self, error: BaseException) -> None:
        """Refuse everything from now on; say of each operation what is known of it."""
        path = self._database.path
        refusal = StoreUnavailable(f"{path} is written to no more: {error}", reason="broken")
        self._orders.shut(refusal)
        self.failed.set_result(error)
        known = isinstance(error, StoreUnavailable | OutcomeUnknown)
        self._reject_group(
            error if known else OutcomeUnknown(f"writing to {path} ended with {error!r}", subjects=())
        )
        for order in self._orders.clear():
            if order.begin():
                order.reject(refusal)
        with suppress(StoreUnavailable):  # the first error is the one that counts
            self._database.close()
