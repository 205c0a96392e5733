"""What people and clients say about tasks, and what they are answered."""

from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import Struct

from tenure.core.bounds import Count
from tenure.core.errors import Invalid
from tenure.core.task import TaskSpec, TaskState
from tenure.core.view import TaskView
from tenure.wire.limits import PAGE


class SubmitRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Tasks to be added, all or none."""

    tasks: list[TaskSpec]


class SubmittedTask(Struct, frozen=True):
    """One submitted task; `created` is false when its id or key named it already."""

    id: str
    state: TaskState
    created: bool


class SubmitAnswer(Struct, frozen=True):
    """The submitted tasks in the order of the request."""

    tasks: list[SubmittedTask]


class TasksQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which tasks a list shows; `label` is written `key:value`, `cursor` comes from the page before."""

    state: TaskState | None = None
    capability: str | None = None
    queue: str | None = None
    label: str | None = None
    limit: Count = PAGE
    cursor: str | None = None


class TasksAnswer(Struct, frozen=True):
    """A page of tasks, newest first; `next_cursor` None says that there are no more."""

    tasks: list[TaskView]
    next_cursor: str | None = None


class HistoryQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which lines of a history: those beyond a sequence number, at most so many."""

    after: Count = 0
    limit: Count = 1_000


class HistoryLine(Struct, frozen=True, omit_defaults=True):
    """One thing recorded of a task; `sequence` only grows. Workers' reports carry their event's marks."""

    sequence: int
    at: datetime
    kind: str
    generation: int
    attempt_epoch: int = 0
    event_id: str | None = None
    event_sequence: int = 0
    answer: str | None = None
    body: dict[str, object] = {}


class Reason(Struct, frozen=True):
    """Why a task is where it is: a word of a closed list, and a sentence."""

    code: str
    text: str


class WhyAnswer(Struct, frozen=True):
    """Why a task is where it is, and when that is looked at again."""

    state: TaskState
    reasons: list[Reason]
    next_decision_at: datetime | None = None


class CancelRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A wish to cancel; `revision` is the one that the wish was based on."""

    revision: Count | None = None


class RetryRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A wish to open a settled task again; `afresh` begins a new run, which repeats applied effects."""

    afresh: bool = False
    revision: Count | None = None


def in_utc(spec: TaskSpec, path: str) -> TaskSpec:
    """Return the spec with its instants in UTC, so that the same instant is always the same content."""
    moved: dict[str, datetime] = {}
    for name in ("not_before", "deadline"):
        instant: datetime | None = getattr(spec, name)
        if instant is not None and instant.utcoffset() != timedelta(0):
            try:
                moved[name] = instant.astimezone(UTC)
            except OverflowError:
                raise Invalid("is out of range", path=f"{path}.{name}") from None
    return msgspec.structs.replace(spec, **moved) if moved else spec
