"""One atomic step over the ports of the control plane, on one connection."""

from collections.abc import Callable
from datetime import datetime

from tenure.stores.sqlite.control.board import SqliteBoard
from tenure.stores.sqlite.control.commands import SqliteCommands
from tenure.stores.sqlite.control.credentials import SqliteCredentials
from tenure.stores.sqlite.control.facts import SqliteFacts, SqliteLedger
from tenure.stores.sqlite.control.pulse import SqlitePulse
from tenure.stores.sqlite.control.registry import SqliteRegistry
from tenure.stores.sqlite.control.selection import SqliteSelection
from tenure.stores.sqlite.control.upkeep import SqliteUpkeep
from tenure.stores.sqlite.control.verdicts import SqliteVerdicts
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.writer import AfterCommit


class SqliteTransaction:
    """One operation's view of the store.

    The writing connection holds the one write lock from the begin on, so nothing needs a lock of its own, and
    what was loaded stays true until the end.
    """

    def __init__(self, database: Database, after_commit: AfterCommit | None) -> None:
        """Work on a connection whose transaction is open; without `after_commit` it only reads."""
        self._after_commit = after_commit
        self.board = SqliteBoard(database)
        self.selection = SqliteSelection(database, self.board, writes=after_commit is not None)
        self.upkeep = SqliteUpkeep(database, self.board)
        self.registry = SqliteRegistry(database)
        self.commands = SqliteCommands(database)
        self.ledger = SqliteLedger(database)
        self.facts = SqliteFacts(database)
        self.verdicts = SqliteVerdicts(database)
        self.credentials = SqliteCredentials(database)
        self.pulse = SqlitePulse(database)

    def now(self) -> datetime:
        """Return the store's present instant, read after the lock that this transaction holds. C007."""
        return self.pulse.now()

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Call back once this transaction is durable; one that only reads has nothing to tell."""
        if self._after_commit is not None:
            self._after_commit(callback)
