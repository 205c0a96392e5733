"""One connection to a file: how it is asked, and where SQLite's errors become Tenure's.

Every statement's rows are read to the end, since SQLite does the rest of a script's work only then.
"""

# pyright: reportUnknownMemberType=false
# Reason: apsw's types name a `Buffer` that Python has from 3.12 on.

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

import apsw

from tenure.core.errors import DiskFull, InvariantBroken, OutcomeUnknown, StoreUnavailable, TenureError
from tenure.stores.sqlite.statements import Statement

Value: TypeAlias = int | float | bytes | str | None
Row: TypeAlias = tuple[Any, ...]  # Any: STRICT tables fix each column's type, and rows.py gives it a name

_CHECKPOINT_WAIT_MS = 100  # Bound: how long a truncating checkpoint waits for readers


class Database:
    """One connection, used by one thread at a time.

    Its methods raise `StoreUnavailable` (known not to have happened; `reason` is `busy`, `full` or `broken`)
    or `InvariantBroken` (the statement is wrong, or a constraint stopped what `core` had allowed).
    """

    def __init__(self, connection: apsw.Connection, path: Path, busy_s: float) -> None:
        """Wrap a connection that `open_writing` or `open_reading` has made ready."""
        self.path = path
        self._connection = connection
        self._busy_ms = int(busy_s * 1000)
        self._cursor = connection.cursor()

    def rows(self, statement: Statement, /, **values: Value) -> list[Row]:
        """Run a statement and return all its rows."""
        if values.keys() != statement.parameters:
            raise InvariantBroken(f"{statement.name} takes {', '.join(sorted(statement.parameters))}")
        try:
            return cast("list[Row]", self._cursor.execute(statement.text, values).fetchall())
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def row(self, statement: Statement, /, **values: Value) -> Row | None:
        """Run a statement and return its first row; None where the guard in it let nothing through."""
        rows = self.rows(statement, **values)
        return rows[0] if rows else None

    def change(self, statement: Statement, /, **values: Value) -> int:
        """Run a statement that inserts, updates or deletes, and return how many rows it has changed."""
        self.rows(statement, **values)
        return self._connection.changes()

    def change_each(self, statement: Statement, rows: Sequence[Sequence[Value]]) -> int:
        """Run a statement once for each row of values, and return how many rows it has changed in all.

        The values stand in the order in which the statement names its parameters for the first time.
        """
        if any(len(row) != len(statement.parameters) for row in rows):
            raise InvariantBroken(f"{statement.name} takes {len(statement.parameters)} values a row")
        before = self._connection.total_changes()
        try:
            self._cursor.executemany(statement.text, rows).fetchall()
        except apsw.Error as error:
            raise translated(error, self.path) from error
        return self._connection.total_changes() - before

    def run(self, text: str) -> list[Row]:
        """Run SQL without parameters to its end: a transaction's frame, a pragma, a migration's script."""
        try:
            return cast("list[Row]", self._cursor.execute(text).fetchall())
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def number(self, pragma: str) -> int:
        """Return what a pragma answers with a number."""
        return int(self.run(f"pragma {pragma}")[0][0])

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open; SQLite ends one by itself after some errors."""
        return self._connection.in_transaction

    @property
    def rows_changed(self) -> int:
        """How many rows this connection has changed so far; undone changes count too."""
        return self._connection.total_changes()

    def flush(self) -> None:
        """Write the open transaction's pages to the log ahead of its commit.

        Until the commit they mean nothing, so a disk that proves full here is known to have kept nothing.
        """
        try:
            self._connection.cache_flush()
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def commit(self) -> None:
        """End the transaction durably.

        Raises:
            OutcomeUnknown: It may have happened. No retry, no further write; the next start reads the file.
        """
        try:
            self._cursor.execute("commit").fetchall()
        except apsw.Error as error:
            raise OutcomeUnknown(
                f"the commit to {self.path} ended with {error}; it may have happened, the file will tell",
                subjects=(),
            ) from error

    def rollback(self) -> None:
        """Undo the open transaction, if SQLite has not done so already."""
        if self._connection.in_transaction:
            self.run("rollback")

    @contextmanager
    def snapshot(self) -> Generator[None]:
        """Show one state of the file to several reads. Keep it short: the log only grows meanwhile."""
        self.run("begin")
        self.run("select 1 from sqlite_schema limit 1")  # the state is the one of the first read
        try:
            yield
        finally:
            self.rollback()

    def watch_log(self, told: Callable[[int], None]) -> None:
        """Have a function told, within each commit, how many pages the log now holds."""

        def hook(_connection: apsw.Connection, _name: str, pages: int) -> int:
            told(pages)
            return apsw.SQLITE_OK

        self._connection.set_wal_hook(hook)

    def checkpoint(self, *, truncate: bool) -> bool:
        """Move the log's pages into the file as far as readers allow; say whether no reader was in the way.

        `truncate` also cuts the log's file, for which it waits a moment for readers.
        """
        mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if truncate else apsw.SQLITE_CHECKPOINT_PASSIVE
        self._connection.set_busy_timeout(_CHECKPOINT_WAIT_MS)
        try:
            pages, moved = self._connection.wal_checkpoint(mode=mode)
        except apsw.BusyError:
            return False
        except apsw.Error as error:
            raise translated(error, self.path) from error
        finally:
            self._connection.set_busy_timeout(self._busy_ms)
        return pages == moved

    def close(self, *, tidy: bool = False) -> None:
        """Close the connection; `tidy` also removes the emptied log, which only the one writer may do."""
        try:
            self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0 if tidy else 1)
            self._cursor.close()
            self._connection.close()
        except apsw.Error as error:
            raise translated(error, self.path) from error


def translated(error: apsw.Error, path: Path) -> TenureError:
    """Return Tenure's error for one of SQLite's, by class; nothing of what raised it was committed."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StoreUnavailable(f"{path} is busy: another process holds its transaction", reason="busy")
        case apsw.FullError():
            return DiskFull(f"the disk under {path} is full; free space", reason="full")
        case apsw.NotADBError() | apsw.CorruptError():
            return damaged(path, f"is damaged or no database ({error})")
        case (
            apsw.SQLError()
            | apsw.ConstraintError()
            | apsw.BindingsError()
            | apsw.MismatchError()
            | apsw.TooBigError()
            | apsw.RangeError()
            | apsw.MisuseError()
        ):
            return InvariantBroken(f"SQLite refuses a statement on {path}: {error}")
        case _:
            return StoreUnavailable(f"{path} cannot be used: {error}", reason="broken")


def damaged(path: Path, how: str) -> StoreUnavailable:
    """Return the error for a file that may not be used any more, and is never replaced by an empty one."""
    text = f"{path} {how}; it was left as it is, restore it from a backup"
    return StoreUnavailable(text, reason="broken")
