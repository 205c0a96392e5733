"""What the tests run as a second process: `python -m tests.unit.stores.sqlite.child VERB PATH [NUMBER]`.

Each verb says a line when it is ready and reads one where it waits to be told to go on.
"""

# pyright: reportUnknownMemberType=false
# Reason: apsw's types name a `Buffer` that Python has from 3.12 on.

import os
import signal
import sys
from itertools import count
from pathlib import Path

from tenure.stores.sqlite.connection import open_writing
from tenure.stores.sqlite.folder import StateFolder
from tenure.stores.sqlite.migrations import migrate
from tests.unit.stores.sqlite.notes import KIND, MIGRATIONS, SQL, add, open_notes, wall, writer_on

TOGETHER = 8


def say(words: str) -> None:
    print(words, flush=True)


def commit_for_ever(path: Path, number: int) -> None:
    """Say each note as soon as it is acknowledged, and never end by itself."""
    writer = writer_on(path)
    for turn in count():
        futures = [writer.submit(add(f"{number}-{turn}-{each}")) for each in range(TOGETHER)]
        for future in futures:
            say(future.result())


def hold_a_transaction(path: Path, _: int) -> None:
    database = open_notes(path)
    database.run("begin immediate")
    say("held")
    sys.stdin.readline()
    database.run("rollback")
    database.close()
    say("released")


def commit_beside(path: Path, _: int) -> None:
    """Commit as fast as it goes, as the second writer of a file, until told to stop."""
    database = open_notes(path)
    say("started")
    os.set_blocking(sys.stdin.fileno(), False)
    for turn in count():
        database.run("begin immediate")
        database.rows(SQL.note_add, words=f"beside-{turn}")
        database.rows(SQL.twin_add, words=f"beside-{turn}")
        database.commit()
        if sys.stdin.buffer.read(1):
            break
    database.close()
    say("stopped")


def migrate_and_die(path: Path, number: int) -> None:
    """Kill this process right before the statement with this number; say so if there are fewer."""
    database = open_writing(path, KIND, wall=wall, newest=len(MIGRATIONS))
    left = [number]

    def trace(*_: object) -> bool:
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        return True

    database._connection.set_exec_trace(trace)
    migrate(database, MIGRATIONS)
    say("migrated")


def own(path: Path, _: int) -> None:
    with StateFolder.own(path):
        say("owned")
        sys.stdin.readline()
    say("given up")


VERBS = {
    "commit-for-ever": commit_for_ever,
    "hold-a-transaction": hold_a_transaction,
    "commit-beside": commit_beside,
    "migrate-and-die": migrate_and_die,
    "own": own,
}

if __name__ == "__main__":
    VERBS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
