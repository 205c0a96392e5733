"""One atomic local step: the ports of the local store over one connection."""

from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.local.attempts import SqliteAttempts
from tenure.stores.sqlite.local.effects import SqliteEffects
from tenure.stores.sqlite.local.executors import SqliteExecutors
from tenure.stores.sqlite.local.identity import SqliteIdentity
from tenure.stores.sqlite.local.inbox import SqliteInbox
from tenure.stores.sqlite.local.outbox import SqliteOutbox
from tenure.stores.sqlite.local.upkeep import SqliteLocalUpkeep


class SqliteLocalTransaction:
    """The ports of the local store; they hold nothing but the connection, so one object serves many steps."""

    def __init__(self, database: Database) -> None:
        """Put the ports over a connection."""
        self.identity = SqliteIdentity(database)
        self.inbox = SqliteInbox(database)
        self.attempts = SqliteAttempts(database)
        self.effects = SqliteEffects(database)
        self.outbox = SqliteOutbox(database)
        self.executors = SqliteExecutors(database)
        self.upkeep = SqliteLocalUpkeep(database)
