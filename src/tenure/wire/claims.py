"""The board over the wire: claiming, renewing and settling by pull workers in any language."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from tenure.core.bounds import Count
from tenure.core.capability import Recovery
from tenure.core.effect import Evidence
from tenure.core.task import ErrorInfo
from tenure.core.view import TaskView


class ClaimCapability(Struct, frozen=True):
    """What the caller can run; without `recovery` the claim belongs to its host."""

    name: str
    version: str
    recovery: Recovery | None = None


class ClaimsRequest(Struct, frozen=True):
    """A wish for open and due tasks. A repeat with the same `request_id` grants the same ones again.

    Absent `queues` are all that the credential allows, absent `capabilities` all there are, absent `ttl_s` is
    each task's own. The call waits up to `wait_s`.
    """

    request_id: str
    agent: str
    capabilities: list[ClaimCapability] | None = None
    queues: list[str] | None = None
    labels: dict[str, str] = {}
    resources: dict[str, float] = {}
    limit: Count = 1
    ttl_s: float | None = None
    wait_s: float = 0.0


class RecoverRequest(Struct, frozen=True):
    """A wish to take over tasks whose leases have ended, as their rules allow."""

    request_id: str
    agent: str
    capabilities: list[ClaimCapability] | None = None
    queues: list[str] | None = None
    labels: dict[str, str] = {}
    resources: dict[str, float] = {}
    limit: Count = 1
    ttl_s: float | None = None


class ClaimRequest(Struct, frozen=True):
    """A wish for one task by its id: open, failed, or with an ended lease."""

    agent: str
    ttl_s: float | None = None


class ClaimGrant(Struct, frozen=True):
    """One grant; the token is shown here and never again."""

    task: TaskView
    attempt_id: str
    token: str
    generation: int
    until: datetime
    ttl_s: float
    evidence: Evidence | None = None


class ClaimsAnswer(Struct, frozen=True):
    """What was granted; the caller's deadline is when it sent the request, plus `waited_s`, plus the ttl."""

    claims: list[ClaimGrant]
    waited_s: float = 0.0


class RenewRequest(Struct, frozen=True):
    """A wish to move a lease's end; progress counts if its number is higher than the last."""

    token: str
    ttl_s: float | None = None
    progress: dict[str, object] | None = None
    progress_number: Count = 0


class RenewAnswer(Struct, frozen=True):
    """A lease that was moved; a bad progress is dropped and said."""

    until: datetime
    ttl_s: float
    cancel_requested: bool = False
    progress_refused: str | None = None


class CompleteRequest(Struct, frozen=True):
    """The task is done, with this result."""

    token: str
    result: object = None


class ReleaseRequest(Struct, frozen=True):
    """The claim ends without a result; `error.retry` false skips the remaining tries."""

    token: str
    reason: Literal["failed", "handed_back", "cancelled", "unknown"]
    error: ErrorInfo | None = None
    subjects: list[str] = []
