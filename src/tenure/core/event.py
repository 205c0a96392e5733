"""Events: facts that a worker reports, each applied once by its id; and the forms of their bodies."""

from enum import StrEnum
from typing import Literal

import msgspec
from msgspec import Struct

from tenure.core.bounds import Count, Instant
from tenure.core.errors import Invalid
from tenure.core.task import ErrorInfo


class EventKind(StrEnum):
    """What an event reports."""

    CHECKPOINT = "checkpoint"
    STEP = "step"
    EFFECT = "effect"
    LOST = "lost"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    CANCELLED = "cancelled"
    HANDED_BACK = "handed_back"
    SUPERSEDED = "superseded"

    @property
    def is_final(self) -> bool:
        """Say whether it ends the attempt."""
        return self in FINAL_KINDS


FINAL_KINDS = frozenset(
    {
        EventKind.SUCCEEDED,
        EventKind.FAILED,
        EventKind.UNKNOWN,
        EventKind.CANCELLED,
        EventKind.HANDED_BACK,
        EventKind.SUPERSEDED,
    }
)


class Event(Struct, frozen=True):
    """One fact about one attempt; `sequence` grows per attempt, gaps allowed."""

    event_id: str
    sequence: Count
    task_id: str
    attempt_id: str
    generation: Count
    token: str
    attempt_epoch: Count
    kind: EventKind
    at: Instant
    body: dict[str, object]


class Answer(StrEnum):
    """How the control plane took an event; each means that it is durable, except `invalid`."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    STALE = "stale"
    INVALID = "invalid"


class EventAnswer(Struct, frozen=True, omit_defaults=True):
    """The answer to one event; `duplicate` and `stale` count as reported."""

    event_id: str
    answer: Answer
    detail: str = ""


class CheckpointBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A checkpoint: its value, and whether another machine can use it."""

    value: object
    portable: bool = True


class StepBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The saved result of something safe to repeat."""

    name: str
    result: object = None


class EffectBody(Struct, frozen=True, forbid_unknown_fields=True):
    """What became of an effect."""

    name: str
    request_id: str
    state: Literal["applied", "absent", "in_doubt"]
    result: object = None


class LostBody(Struct, frozen=True, forbid_unknown_fields=True):
    """An execution died."""

    cause: Literal["executor_died", "worker_restarted", "out_of_memory"]
    signal: int | None = None


class SucceededBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The result of the capability."""

    result: object = None


class FailedBody(Struct, frozen=True, forbid_unknown_fields=True):
    """How the try failed."""

    error: ErrorInfo


class UnknownBody(Struct, frozen=True, forbid_unknown_fields=True):
    """What is in doubt."""

    subjects: list[str]
    note: str = ""


class ReasonBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Why the attempt was cancelled or handed back."""

    reason: str = ""


class SupersededBody(Struct, frozen=True, forbid_unknown_fields=True):
    """What an overruled attempt came to."""

    outcome: str
    result: object = None
    error: ErrorInfo | None = None


Body = (
    CheckpointBody
    | StepBody
    | EffectBody
    | LostBody
    | SucceededBody
    | FailedBody
    | UnknownBody
    | ReasonBody
    | SupersededBody
)

BODIES: dict[EventKind, type[Body]] = {
    EventKind.CHECKPOINT: CheckpointBody,
    EventKind.STEP: StepBody,
    EventKind.EFFECT: EffectBody,
    EventKind.LOST: LostBody,
    EventKind.SUCCEEDED: SucceededBody,
    EventKind.FAILED: FailedBody,
    EventKind.UNKNOWN: UnknownBody,
    EventKind.CANCELLED: ReasonBody,
    EventKind.HANDED_BACK: ReasonBody,
    EventKind.SUPERSEDED: SupersededBody,
}


def read_body(kind: EventKind, body: dict[str, object]) -> Body:
    """Return the body in its form, or raise `Invalid` that names the field."""
    try:
        return msgspec.convert(body, BODIES[kind])
    except msgspec.ValidationError as error:
        raise Invalid(str(error), path="body") from error
