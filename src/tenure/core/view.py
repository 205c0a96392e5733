"""A task as people and programs see it; never with a token."""

from datetime import datetime

import msgspec
from msgspec import Struct

from tenure.core.backoff import Backoff
from tenure.core.checkpoint import Progress
from tenure.core.task import ErrorInfo


class ClaimView(Struct, frozen=True):
    """Who holds a task; `ended` says that the lease has run out."""

    agent: str
    instance_id: str | None
    generation: int
    until: datetime
    ended: bool


class SubjectView(Struct, frozen=True):
    """One thing that is unknown, with its evidence."""

    subject: str
    request_id: str | None = None
    params: object = None
    generation: int | None = None
    agent: str | None = None
    witnessed_at: datetime | None = None
    evidence: dict[str, object] = {}
    may_still_act: bool = False


class TaskView(Struct, frozen=True):
    """The protocol's Task: the spec's fields and what has become of it."""

    id: str
    capability: str
    version: str | None
    input: object
    key: str | None
    queue: str
    priority: int
    requires: dict[str, str]
    resources: dict[str, float]
    depends_on: list[str]
    not_before: datetime | None
    timeout_s: float | None
    silence_s: float | None
    deadline: datetime | None
    lease_ttl_s: float
    max_attempts: int
    max_losses: int
    backoff: Backoff
    concurrency_key: str | None
    concurrency_limit: int | None
    fairness_key: str | None
    on_dependency_failure: str
    labels: dict[str, str]
    revision: int
    state: str
    generation: int
    run: int
    attempts: int
    losses: int
    interruptions: int
    cancel_requested: bool
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    claim: ClaimView | None = None
    progress: Progress | None = None
    result: object = None
    error: ErrorInfo | None = None
    unknown: list[SubjectView] = msgspec.field(default_factory=list[SubjectView])
