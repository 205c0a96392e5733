"""The control plane's store on SQLite, and how it is opened."""

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Self, TypeVar

from tenure.ports.clock import Clock
from tenure.ports.ids import Ids
from tenure.ports.store import Transaction
from tenure.stores.sqlite.connection import StoreKind, open_reading, open_writing
from tenure.stores.sqlite.control.pulse import ensure_identity
from tenure.stores.sqlite.control.transaction import SqliteTransaction
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.migrations import load_migrations, migrate
from tenure.stores.sqlite.readers import Readers
from tenure.stores.sqlite.space import Space
from tenure.stores.sqlite.writer import Warn, Writer

T = TypeVar("T")

MIGRATIONS = load_migrations(Path(__file__).parent / "migrations")


class SqliteControlStore:
    """A file, the one thread that writes to it, and a few that only read."""

    def __init__(
        self, writer: Writer[SqliteTransaction], readers: Readers[SqliteTransaction], store_id: str
    ) -> None:
        """Take over a running writer and its readers; `open_control_store` makes them."""
        self.store_id = store_id
        self._writer = writer
        self._readers = readers

    def write(self, operation: Callable[[Transaction], T], *, urgent: bool = False) -> Future[T]:
        """Run the operation in a transaction and resolve once it is durable.

        Operations may share one commit; one that raises loses only its own changes. `urgent` ones go first.

        The future raises:
            StoreUnavailable: Certain that nothing was committed.
            OutcomeUnknown: It may have been committed; the store takes no further writes.
        """
        return self._writer.submit(operation, urgent=urgent)

    def read(self, query: Callable[[Transaction], T]) -> Future[T]:
        """Run the query on one state of the store, beside the writer; it must not write."""
        return self._readers.submit(query)

    @property
    def failed(self) -> Future[BaseException | None]:
        """Ends with the error after which nothing may be written any more; None after a clean close."""
        return self._writer.failed

    def close(self) -> None:
        """End what was accepted, then let go of the file."""
        self._readers.close()
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_control_store(
    path: Path, clock: Clock, ids: Ids, *, warn: Warn = lambda _: None
) -> SqliteControlStore:
    """Open the control plane's store on a file, after making it and bringing its schema up to date.

    Several processes may have the same file open: each transaction takes the file's write lock and finds what
    the others have committed.

    Args:
        path: The file; its folder exists.
        clock: Its wall clock is the store's.
        ids: Names a new store.
        warn: Called on the writing thread with what the owner should tell somebody.

    Raises:
        InvalidConfig: The file is another program's, another kind's or a newer release's.
        StoreUnavailable: The file is damaged, busy or cannot be read; it was left as it is.
    """
    database = open_writing(path, StoreKind.CONTROL_PLANE, wall=clock.wall, newest=len(MIGRATIONS))
    try:
        migrate(database, MIGRATIONS)
        store_id = ensure_identity(database, ids)
    except BaseException:
        database.close()
        raise

    def open_for_reading() -> Database:
        return open_reading(path, StoreKind.CONTROL_PLANE, wall=clock.wall, newest=len(MIGRATIONS))

    space = Space(path.absolute().parent)
    writer = Writer(lambda: database, SqliteTransaction, space=space, warn=warn, name="control-writer")
    readers = Readers(
        open_for_reading, lambda looking: SqliteTransaction(looking, None), name="control-reader"
    )
    return SqliteControlStore(writer, readers, store_id)
