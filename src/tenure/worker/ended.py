"""How a Runtime came to its end, and what that makes its process's exit code."""

from enum import StrEnum
from typing import Final

from msgspec import Struct


class EndReason(StrEnum):
    """Why a Runtime ended."""

    STOPPED = "stopped"  # Everything settled and delivered, the registration gone
    UNDELIVERED = "undelivered"  # Stopped, but the control plane could not be reached for the rest
    DISPLACED = "displaced"  # Another instance has this worker's place (D5)
    FORKED = "forked"  # This state folder is a copy or an old backup (D23)
    UNAUTHORISED = "unauthorised"  # Its credential does not let it register
    REFUSED = "refused"  # The registration itself is not acceptable
    CHANGED = "changed"  # The application's module is not the one it started with
    STORE_FAILED = "store_failed"  # The local store takes no further writes (D28)


EXIT_CODES: Final[dict[EndReason, int]] = {
    EndReason.STOPPED: 0,
    EndReason.UNDELIVERED: 3,
    EndReason.DISPLACED: 1,
    EndReason.FORKED: 2,
    EndReason.UNAUTHORISED: 4,
    EndReason.REFUSED: 2,
    EndReason.CHANGED: 1,
    EndReason.STORE_FAILED: 1,
}


class Ended(Struct, frozen=True):
    """The end of a Runtime: why, in words for people, and with which exit code its process should end."""

    reason: EndReason
    text: str

    @property
    def exit_code(self) -> int:
        """The exit code that the command line gives."""
        return EXIT_CODES[self.reason]
