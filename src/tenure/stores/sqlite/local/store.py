"""The worker's local store in one file of a state folder that this process owns. D28, D29."""

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from tenure.ports.clock import Clock
from tenure.ports.local import LocalTransaction
from tenure.stores.sqlite.connection import BUSY_S, StoreKind, open_reading, open_writing
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.folder import StateFolder
from tenure.stores.sqlite.local.transaction import SqliteLocalTransaction
from tenure.stores.sqlite.migrations import load_migrations, migrate
from tenure.stores.sqlite.readers import Readers
from tenure.stores.sqlite.space import RESERVE_BYTES, Space
from tenure.stores.sqlite.writer import AfterCommit, Warn, Writer

T = TypeVar("T")

FILE_NAME = "worker.db"
MIGRATIONS = load_migrations(Path(__file__).parent / "migrations")


class SqliteLocalStore:
    """The local store of a running worker; `open_local_store` makes one."""

    def __init__(
        self,
        folder: StateFolder,
        space: Space,
        writer: Writer[LocalTransaction],
        readers: Readers[LocalTransaction],
    ) -> None:
        """Join the parts; closing this closes them all."""
        self.folder = folder.path
        self._folder = folder
        self._space = space
        self._writer = writer
        self._readers = readers

    def write(self, operation: Callable[[LocalTransaction], T], *, urgent: bool = False) -> Future[T]:
        """Run the operation in a transaction and resolve once it is durable."""
        return self._writer.submit(operation, urgent=urgent)

    def read(self, query: Callable[[LocalTransaction], T]) -> Future[T]:
        """Run the query on a consistent snapshot."""
        return self._readers.submit(query)

    @property
    def failed(self) -> Future[BaseException | None]:
        """Resolves with the error after which nothing is written any more; with None once closed."""
        return self._writer.failed

    def give_up_reserve(self) -> None:
        """Give the reserve up, so that final states can be written although the disk is full."""
        self._space.release()

    def hold_reserve(self) -> bool:
        """Make the reserve again if there is room for it; say whether it is there."""
        return self._space.hold()

    def close(self) -> None:
        """End what was accepted, then let go of the file and of the folder."""
        self._readers.close()
        self._writer.close()
        self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_local_store(
    folder: Path,
    clock: Clock,
    *,
    warn: Warn = lambda _: None,
    busy_s: float = BUSY_S,
    reserve_bytes: int = RESERVE_BYTES,
    vfs: str | None = None,
) -> SqliteLocalStore:
    """Own the state folder, and open the store in it, made new if there is none.

    Args:
        folder: The worker's state folder; made if it is not there.
        clock: Its wall clock stands behind `tenure_now()`.
        warn: Called on the writing thread with what the owner should tell somebody.
        busy_s: How long a statement waits for another process to end its transaction.
        reserve_bytes: How much room is set aside for final states on a full disk.
        vfs: The file layer; a test puts its own.

    Raises:
        InvalidConfig: The folder is in use, not private, on a network file system, or holds another's file.
        StoreUnavailable: The file is damaged or cannot be read; it was left as it is.
    """
    owned = StateFolder.own(folder)
    try:
        path = owned.path / FILE_NAME
        space = Space(owned.path, reserve_bytes=reserve_bytes)
        writer: Writer[LocalTransaction] = Writer(
            partial(_open, path, clock, busy_s, vfs),
            _transactions(),
            space=space,
            warn=warn,
            name="local-store",
        )
    except BaseException:
        owned.close()
        raise
    space.hold()
    return SqliteLocalStore(
        owned, space, writer, Readers(partial(_look, path, clock), SqliteLocalTransaction)
    )


def look_into(folder: Path, clock: Clock, query: Callable[[LocalTransaction], T]) -> T:
    """Run a query on a worker's store from outside, whether or not the worker is running; nothing is written.

    Raises:
        InvalidConfig: There is no local store in the folder, or it is another release's.
        StoreUnavailable: The file is damaged or cannot be read.
    """
    database = _look(folder / FILE_NAME, clock)
    try:
        with database.snapshot():
            return query(SqliteLocalTransaction(database))
    finally:
        database.close()


def _open(path: Path, clock: Clock, busy_s: float, vfs: str | None) -> Database:
    newest = len(MIGRATIONS)
    database = open_writing(path, StoreKind.WORKER, wall=clock.wall, newest=newest, busy_s=busy_s, vfs=vfs)
    migrate(database, MIGRATIONS)
    return database


def _look(path: Path, clock: Clock) -> Database:
    return open_reading(path, StoreKind.WORKER, wall=clock.wall, newest=len(MIGRATIONS))


def _transactions() -> Callable[[Database, AfterCommit], LocalTransaction]:
    """Return what makes the transaction of each operation: one object for all, since it holds nothing."""
    made: list[SqliteLocalTransaction] = []

    def make(database: Database, _: AfterCommit) -> LocalTransaction:
        if not made:
            made.append(SqliteLocalTransaction(database))
        return made[0]

    return make
