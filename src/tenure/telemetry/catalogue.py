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
    "store.unavailable": Kind("error", "the store cannot be used now; it is tried again"),
    "store.log_blocked": Kind(
        "warning", "the store's log grows: a reader holds an old state, or the disk is full"
    ),
    "store.notice_lost": Kind("error", "a notice raised an error; what it was about is saved"),
    "log.dropped": Kind("warning", "lines were dropped because the log's reader is too slow"),
}


def kind_of(name: str) -> Kind:
    """Return the kind of an event; one that is not listed is shown under its name."""
    return CATALOGUE.get(name, UNLISTED)
