"""When the write-ahead log is moved into the file, so that it stays short whatever readers do (B16).

Only the writer's thread does this. A long reader cannot be waited for, so the log grows meanwhile and the
owner is told; once the reader is gone, the next due checkpoint cuts the log back.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tenure.core.errors import DiskFull
from tenure.stores.sqlite.database import Database

PAGES_BETWEEN = 1_000  # 4 MiB of log: short for readers and restarts, rare enough to cost commits little


@dataclass(frozen=True, slots=True)
class LogBlocked:
    """The log has outgrown its limit: a reader holds an old state, or the disk is full. Work goes on."""

    path: Path
    size_bytes: int
    limit_bytes: int


class Checkpoints:
    """Decides after each commit whether a checkpoint is due, and makes it."""

    def __init__(self, database: Database, warn: Callable[[LogBlocked], None], *, limit_bytes: int) -> None:
        """Watch the database's log; `warn` is called on the thread that commits."""
        self._database = database
        self._warn = warn
        self._limit_bytes = limit_bytes
        self._page_bytes = database.number("page_size")
        self._pages = 0
        self._due = PAGES_BETWEEN
        database.watch_log(self._grown)

    def run_if_due(self) -> None:
        """Make a checkpoint if the log has grown enough since the last one."""
        if self._pages < self._due:
            return
        # A blocked one is tried again after further growth only, since each reads through the whole log.
        self._due = self._pages + PAGES_BETWEEN
        size_bytes = self._pages * self._page_bytes
        is_long = size_bytes > self._limit_bytes
        if not self._move(truncate=is_long) and is_long:
            self._warn(LogBlocked(self._database.path, size_bytes, self._limit_bytes))

    def cut(self) -> None:
        """Empty the log now, as far as readers allow: at the end, and to give room back to a full disk."""
        self._move(truncate=True)

    def _grown(self, pages: int) -> None:
        if pages < self._pages:  # the log has begun anew
            self._due = PAGES_BETWEEN
        self._pages = pages

    def _move(self, *, truncate: bool) -> bool:
        try:
            return self._database.checkpoint(truncate=truncate)
        except DiskFull:
            return False  # nothing is lost: the pages stay in the log
