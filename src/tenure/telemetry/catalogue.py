"""The events that are told, each with its level and one sentence; names are past participles and stable."""

from typing import Final, Literal

from msgspec import Struct

Level = Literal["debug", "info", "warning", "error"]


class Kind(Struct, frozen=True):
    """How grave an event is and what it says to people."""

    level: Level
    says: str = ""


UNLISTED: Final = Kind("info")

CATALOGUE: Final[dict[str, Kind]] = {
    # A worker's session and its commands
    "register.deferred": Kind("warning", "cannot register now; it is tried again"),
    "command.unreadable": Kind("error", "a command could not be read and was left unanswered"),
    # Attempts
    "attempt.ended": Kind("info"),
    "attempt.stopped": Kind("info", "an attempt was told to stop"),
    "attempt.killed": Kind("warning", "an attempt did not stop in time and was killed"),
    "lease.lost": Kind("warning", "another generation is responsible now; the attempt is stopped"),
    "executor.died": Kind(
        "warning", "an executor ended before its work did; the attempt is recovered by its rule"
    ),
    "host.failed": Kind("error", "an attempt could not be executed; it is no fault of its own"),
    "worker.sickened": Kind("error", "executors cannot be started; nothing new is taken until one can"),
    # Stores
    "disk.filled": Kind("error", "the disk is full; nothing new is taken, what is held is kept"),
    "disk.freed": Kind("info", "there is room again"),
    "store.unavailable": Kind("error", "the store cannot be used now; it is tried again"),
    "store.log_blocked": Kind(
        "warning", "the store's log grows: a reader holds an old state, or the disk is full"
    ),
    "store.notice_lost": Kind("error", "a notice raised an error; what it was about is saved"),
    # The log itself
    "log.dropped": Kind("warning", "lines were dropped because the log's reader is too slow"),
}


def kind_of(name: str) -> Kind:
    """Return the kind of an event; one that is not listed is shown under its name."""
    return CATALOGUE.get(name, UNLISTED)
