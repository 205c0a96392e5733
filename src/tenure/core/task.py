"""Tasks: what a submitter states, the entity that decisions are about, and its transition table."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Literal

import msgspec
from msgspec import Struct, field

from tenure.core.backoff import Backoff
from tenure.core.bounds import Instant
from tenure.core.canonical import digest
from tenure.core.claim import Claim
from tenure.core.machine import Machine


class TaskState(StrEnum):
    """Where a task stands; `blocked` and `open` wait, `claimed` is held.

    `unknown` waits for evidence or a person.
    """

    BLOCKED = "blocked"
    OPEN = "open"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    CANCELLED = "cancelled"

    @property
    def is_settled(self) -> bool:
        """Say whether nothing more happens by itself."""
        return self in (TaskState.DONE, TaskState.FAILED, TaskState.CANCELLED)


class TaskStep(StrEnum):
    """What can happen to a task."""

    UNBLOCK = "unblock"
    GRANT = "grant"
    SUCCEED = "succeed"
    FAIL_TRY = "fail_try"
    FAIL = "fail"
    GIVE_BACK = "give_back"
    CANCEL = "cancel"
    DOUBT = "doubt"
    RESUME = "resume"
    REOPEN = "reopen"


_S, _T = TaskState, TaskStep
TASK_MACHINE: Machine[TaskState, TaskStep] = Machine(
    "task",
    {
        (_S.BLOCKED, _T.UNBLOCK): _S.OPEN,
        (_S.BLOCKED, _T.CANCEL): _S.CANCELLED,
        (_S.BLOCKED, _T.FAIL): _S.FAILED,
        (_S.BLOCKED, _T.GRANT): _S.CLAIMED,  # Its dependencies were done when the claim looked
        (_S.OPEN, _T.GRANT): _S.CLAIMED,
        (_S.OPEN, _T.CANCEL): _S.CANCELLED,
        (_S.OPEN, _T.FAIL): _S.FAILED,
        (_S.CLAIMED, _T.GRANT): _S.CLAIMED,  # A takeover, or a request repeated by the same agent
        (_S.CLAIMED, _T.SUCCEED): _S.DONE,
        (_S.CLAIMED, _T.FAIL_TRY): _S.OPEN,
        (_S.CLAIMED, _T.FAIL): _S.FAILED,
        (_S.CLAIMED, _T.GIVE_BACK): _S.OPEN,
        (_S.CLAIMED, _T.CANCEL): _S.CANCELLED,
        (_S.CLAIMED, _T.DOUBT): _S.UNKNOWN,
        (_S.UNKNOWN, _T.RESUME): _S.CLAIMED,
        (_S.UNKNOWN, _T.SUCCEED): _S.DONE,
        (_S.UNKNOWN, _T.FAIL_TRY): _S.OPEN,
        (_S.UNKNOWN, _T.FAIL): _S.FAILED,
        (_S.UNKNOWN, _T.GIVE_BACK): _S.OPEN,
        (_S.UNKNOWN, _T.CANCEL): _S.CANCELLED,
        (_S.UNKNOWN, _T.DOUBT): _S.UNKNOWN,
        (_S.UNKNOWN, _T.REOPEN): _S.OPEN,
        (_S.FAILED, _T.GRANT): _S.CLAIMED,  # An explicit Claim only (D2)
        (_S.FAILED, _T.REOPEN): _S.OPEN,
        (_S.FAILED, _T.CANCEL): _S.CANCELLED,
        (_S.FAILED, _T.DOUBT): _S.UNKNOWN,  # Evidence against a verdict
        (_S.OPEN, _T.DOUBT): _S.UNKNOWN,  # Evidence against a verdict
        (_S.CANCELLED, _T.REOPEN): _S.OPEN,
    },
)


class TaskSpec(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a submitter states of a task.

    Protocol.md, Tasks. Content is everything except id, key and labels.
    """

    capability: str
    version: str | None = None
    input: object = field(default_factory=dict[str, object])
    id: str | None = None
    key: str | None = None
    queue: str = "default"
    priority: int = 0
    requires: dict[str, str] = field(default_factory=dict)
    resources: dict[str, float] = field(default_factory=dict)
    depends_on: list[str] = field(default_factory=list)
    not_before: Instant | None = None
    delay_s: float | None = None
    timeout_s: float | None = None
    silence_s: float | None = None
    deadline: Instant | None = None
    lease_ttl_s: float = 30.0
    max_attempts: int = 3
    max_losses: int = 3
    backoff: Backoff = field(default_factory=Backoff)
    concurrency_key: str | None = None
    concurrency_limit: int | None = None
    fairness_key: str | None = None
    on_dependency_failure: Literal["block", "cancel"] = "block"
    labels: dict[str, str] = field(default_factory=dict)

    def content_digest(self) -> str:
        """Return the digest that tells a repeated submission from another one (B25)."""
        content: dict[str, object] = msgspec.to_builtins(self)
        for name in ("id", "key", "labels"):
            content.pop(name, None)
        return digest(content)


class ErrorInfo(Struct, frozen=True, forbid_unknown_fields=True):
    """How a try failed; `retry` false skips the remaining tries."""

    type: str
    message: str
    traceback: str = ""
    retry: bool = True


class Ending(Struct, frozen=True):
    """A final report kept while a doubt stands; taken when the last subject is decided."""

    kind: str
    result: object = None
    error: ErrorInfo | None = None


class Task(Struct, frozen=True):
    """What decisions about a task need; the input and the rest of the spec stay in the store.

    `claim` is the grant of the newest generation as long as there is one, also after it ended; a verdict
    raises `generation` without a grant, so that every earlier token is older from then on.
    """

    id: str
    capability: str
    version: str | None
    queue: str
    priority: int
    state: TaskState
    revision: int
    generation: int
    run: int
    attempts: int
    losses: int
    interruptions: int
    max_attempts: int
    max_losses: int
    backoff: Backoff
    lease_ttl_s: float
    created_at: datetime
    updated_at: datetime
    not_before: datetime | None = None
    deadline: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    cancel_requested: bool = False
    on_dependency_failure: Literal["block", "cancel"] = "block"
    requires: Mapping[str, str] = field(default_factory=dict[str, str])
    resources: Mapping[str, float] = field(default_factory=dict[str, float])
    claim: Claim | None = None
    subjects: tuple[str, ...] = ()
    ending: Ending | None = None
    result: object = None
    error: ErrorInfo | None = None

    @property
    def holder(self) -> Claim | None:
        """Return the grant that is responsible now: of the newest generation and not ended."""
        claim = self.claim
        return (
            claim
            if claim is not None and claim.generation == self.generation and claim.ended is None
            else None
        )

    def after(self, step: TaskStep, now: datetime, **changes: object) -> "Task":
        """Return the task after a step of the table, one revision later, with further fields changed."""
        state = TASK_MACHINE.next(self.state, step)
        finished = now if state.is_settled else None
        fields: dict[str, object] = {
            "state": state,
            "revision": self.revision + 1,
            "updated_at": now,
            "finished_at": finished,
        }
        return msgspec.structs.replace(self, **(fields | changes))

    def changed(self, now: datetime, **changes: object) -> "Task":
        """Return the task in the same state, one revision later, with these fields changed."""
        return msgspec.structs.replace(self, revision=self.revision + 1, updated_at=now, **changes)
