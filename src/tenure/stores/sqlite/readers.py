"""Threads that only look: each query on a connection that cannot write, in one state of the file."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, Self, TypeVar

from tenure.core.errors import StoreUnavailable
from tenure.stores.sqlite.database import Database

Look = TypeVar("Look")
Answer = TypeVar("Answer")

THREADS = 2  # Bound: queries at one moment; more would only wait for the interpreter


class Readers(Generic[Look]):
    """Runs queries beside the writer, which never waits for them."""

    def __init__(
        self,
        open_database: Callable[[], Database],
        make_look: Callable[[Database], Look],
        *,
        threads: int = THREADS,
        name: str = "store-reader",
    ) -> None:
        """Open nothing yet; each thread's connection is opened by its first query.

        Args:
            open_database: Opens the file for reading; the writer has opened and migrated it before.
            make_look: Makes what one query receives.
            threads: How many queries run at one moment.
            name: The beginning of the threads' names.
        """
        self._open_database = open_database
        self._make_look = make_look
        self._idle: list[Database] = []
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)

    def submit(self, query: Callable[[Look], Answer]) -> Future[Answer]:
        """Have a query run; keep it short, since the log only grows meanwhile (B16)."""
        try:
            return self._threads.submit(self._answer, query)
        except RuntimeError:  # shut down
            refused: Future[Answer] = Future()
            refused.set_exception(StoreUnavailable("the store is closed", reason="closed"))
            return refused

    def close(self) -> None:
        """End the queries that run, drop those that wait, and close the connections."""
        self._threads.shutdown(cancel_futures=True)
        while self._idle:
            self._idle.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self, query: Callable[[Look], Answer]) -> Answer:
        try:
            database = self._idle.pop()  # indivisible, so that two threads never get the same one
        except IndexError:
            database = self._open_database()
        try:
            with database.snapshot():
                return query(self._make_look(database))
        finally:
            self._idle.append(database)
