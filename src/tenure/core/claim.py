"""Claims: one grant of a task to an agent, and the fencing rule. C010 to C022."""

import hmac
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from tenure.core.bounds import Count
from tenure.core.canonical import digest_text
from tenure.core.capability import Recovery
from tenure.core.instants import is_live


class ClaimEnd(StrEnum):
    """How a claim came to its end."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    HANDED_BACK = "handed_back"
    VOID = "void"
    TAKEN_OVER = "taken_over"
    DECIDED = "decided"  # By a verdict or by the janitor
    LOST = "lost"


REPORTED = frozenset(
    {ClaimEnd.SUCCEEDED, ClaimEnd.FAILED, ClaimEnd.CANCELLED, ClaimEnd.UNKNOWN, ClaimEnd.HANDED_BACK}
)
"""Ends that the holder itself told: from then on it does not act any more."""


class Standing(StrEnum):
    """What a presented token is worth for a task."""

    NEWEST = "newest"
    OLDER = "older"
    UNMINTED = "unminted"


class Claim(Struct, frozen=True):
    """One grant: its bearer of the newest generation alone may renew, complete and release.

    `rule` is copied from the capability when the claim is granted; None means that the claim belongs to its
    host. `epoch` is the newest execution of the attempt that was heard of, `lost_epoch` the newest whose
    death was reported.
    """

    task_id: str
    generation: int
    token_hash: str
    agent: str
    granted_at: datetime
    until: datetime
    ttl_s: float
    rule: Recovery | None = None
    instance_id: str | None = None
    session: int | None = None
    pushed: bool = False
    acknowledged: bool = True
    request_id: str | None = None
    epoch: int = 0
    lost_epoch: int = 0
    ended: ClaimEnd | None = None
    ended_at: datetime | None = None

    def lease_is_live(self, now: datetime) -> bool:
        """Say whether the lease has not run out; an ended lease alone takes nothing from its bearer (D1)."""
        return is_live(now, self.until)


class LeaseBeat(Struct, frozen=True, omit_defaults=True):
    """One lease in a heartbeat, named by the keeper of that attempt; progress carries a number."""

    task_id: str
    token: str
    ttl_s: float
    progress: dict[str, object] | None = None
    progress_number: Count = 0


class LeaseAnswer(Struct, frozen=True, omit_defaults=True):
    """What became of one lease in a heartbeat: `held` or `lost`."""

    task_id: str
    state: str
    ttl_s: float = 0.0
    cancel_requested: bool = False
    progress_refused: str | None = None


def token_matches(token: str, token_hash: str) -> bool:
    """Compare a presented token with a kept digest in constant time. C118."""
    return hmac.compare_digest(digest_text(token), token_hash)
