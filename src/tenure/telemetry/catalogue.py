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
    # A worker and its sessions
    "worker.restored": Kind(
        "info", "what an earlier process left was read; each attempt goes on by its rule"
    ),
    "worker.drained": Kind("info", "takes nothing new until that is undone"),
    "worker.undrained": Kind("info", "takes work again"),
    "worker.stopping": Kind("info", "takes nothing new and ends what has started"),
    "worker.sickened": Kind("error", "executors cannot be started; nothing new is taken until one can"),
    "worker.ended": Kind("info"),
    "register.deferred": Kind("warning", "cannot register now; it is tried again"),
    "session.opened": Kind("info", "registered"),
    "session.ended": Kind("info", "not registered any more"),
    # What is said between worker and control plane
    "stream.opened": Kind("info", "takes commands"),
    "stream.ended": Kind("warning", "no commands arrive; the stream is opened again"),
    "command.refused": Kind("info", "a command was answered with a refusal"),
    "command.unreadable": Kind("error", "a command could not be read and was left unanswered"),
    "acknowledgement.deferred": Kind("warning", "an acknowledgement was not answered; it is sent again"),
    "acknowledgement.refused": Kind("error", "an acknowledgement was refused and is not sent again"),
    "heartbeat.deferred": Kind("warning", "a heartbeat was not answered; the next one comes in time"),
    "heartbeat.refused": Kind("error", "a heartbeat was refused"),
    "witness.deferred": Kind("warning", "a witness was not answered; it is asked for again"),
    "progress.refused": Kind("warning", "a progress is not acceptable and was dropped"),
    "delivery.deferred": Kind("warning", "facts were not answered; they are kept and sent again"),
    "event.quarantined": Kind("error", "a fact is refused for good; it is set aside"),
    # Attempts
    "attempt.ended": Kind("info"),
    "attempt.stopped": Kind("info", "an attempt was told to stop"),
    "attempt.killed": Kind("warning", "an attempt did not stop in time and was killed"),
    "lease.lost": Kind("warning", "another generation is responsible now; the attempt is stopped"),
    # Executors
    "executor.started": Kind("info"),
    "executor.ended": Kind("info"),
    "executor.died": Kind(
        "warning", "an executor ended before its work did; the attempt goes on by its rule"
    ),
    "executor.kept": Kind("warning", "a dead executor could not be forgotten; the next start will"),
    "executor.found": Kind("warning", "an executor of an earlier process was still there and was killed"),
    "executor.leftovers": Kind("warning", "what earlier executors had started was killed"),
    "executors.left": Kind("error", "executors of an earlier process may still act; doubts stay doubts"),
    "executors.elsewhere": Kind("warning", "executors of another machine may still act; doubts stay doubts"),
    "host.failed": Kind("error", "an attempt could not be executed; it is no fault of its own"),
    # Stores
    "disk.filled": Kind("error", "the disk is full; nothing new is taken, what is held is kept"),
    "disk.freed": Kind("info", "there is room again"),
    "store.unavailable": Kind("error", "the store cannot be used now; it is tried again"),
    "store.log_blocked": Kind(
        "warning", "the store's log grows: a reader holds an old state, or the disk is full"
    ),
    "store.notice_lost": Kind("error", "a notice raised an error; what it was about is saved"),
    # The process, and the log itself
    "process.failed": Kind("error", "a bug in Tenure; keep the store and the state folder, and report it"),
    "library.logged": Kind("warning", "a library says"),
    "log.dropped": Kind("warning", "lines were dropped because the log's reader is too slow"),
}


def kind_of(name: str) -> Kind:
    """Return the kind of an event; one that is not listed is shown under its name."""
    return CATALOGUE.get(name, UNLISTED)
