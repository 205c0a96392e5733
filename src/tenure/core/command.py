"""Commands: instructions to one worker, each with an id and a digest of what never changes. C062 to C067."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

import msgspec
from msgspec import Struct

from tenure.core.canonical import digest
from tenure.core.effect import Evidence
from tenure.core.ids import parse_attempt_id
from tenure.core.task import TaskSpec


class CommandKind(StrEnum):
    """What a worker is told to do."""

    START = "start"
    CANCEL = "cancel"
    DRAIN = "drain"
    UNDRAIN = "undrain"
    FIND = "find"
    FORGET = "forget"


class CommandState(StrEnum):
    """Where a command stands at the control plane; offered is a separate mark."""

    QUEUED = "queued"
    ACKNOWLEDGED = "acknowledged"
    REJECTED = "rejected"
    VOID = "void"


RejectReason = Literal["capacity", "draining", "unsupported", "invalid_input", "conflict"]


class Command(Struct, frozen=True, omit_defaults=True):
    """One command as it travels; `sequence` is the SSE id, `task` the spec with its id."""

    command_id: str
    instance_id: str
    kind: CommandKind
    digest: str
    sequence: int = 0
    task: TaskSpec | None = None
    attempt_id: str | None = None
    generation: int | None = None
    token: str | None = None
    run: int = 1
    losses: int = 0
    evidence: Evidence | None = None
    body: dict[str, object] = {}

    def computed_digest(self) -> str:
        """Return the digest of what never changes.

        Kind, task id, generation, capability, version, input, body. The work is a start's alone: other
        commands about a task may carry its spec for people to read.
        """
        task = self.task if self.kind is CommandKind.START else None
        return command_digest(
            self.kind,
            self._task_id(),
            self.generation,
            (task.capability, task.version, task.input) if task else None,
            self.body,
        )

    def _task_id(self) -> str | None:
        if self.task is not None:
            return self.task.id
        return parse_attempt_id(self.attempt_id)[0] if self.attempt_id is not None else None


class CommandRow(Struct, frozen=True):
    """One command as the control plane keeps it; the token is erased once it is answered or void (D26)."""

    command_id: str
    worker_id: str
    instance_id: str
    sequence: int
    kind: CommandKind
    digest: str
    state: CommandState
    queued_at: datetime
    task_id: str | None = None
    generation: int | None = None
    token: str | None = None
    body: dict[str, object] = {}
    offered_at: datetime | None = None
    reason: str | None = None


class Ack(Struct, frozen=True, omit_defaults=True):
    """A worker's answer to a command, repeatable for ever; the first recorded `accepted` stays."""

    command_id: str
    accepted: bool = True
    reason: RejectReason | None = None
    detail: str = ""


class AckAnswer(Struct, frozen=True, omit_defaults=True):
    """Answered from the present: `go` renews the lease and says the time left, `void` means do not start."""

    command_id: str
    standing: Literal["go", "void"]
    ttl_s: float = 0.0
    cancel_requested: bool = False


def command_digest(
    kind: CommandKind,
    task_id: str | None,
    generation: int | None,
    work: tuple[str, str | None, object] | None,
    body: dict[str, object],
) -> str:
    """Return the digest over what never changes of a command; work is (capability, version, input). C065."""
    capability, version, input_ = work if work is not None else (None, None, None)
    return digest(
        {
            "kind": str(kind),
            "task_id": task_id,
            "generation": generation,
            "capability": capability,
            "version": version,
            "input": msgspec.to_builtins(input_),
            "body": body,
        }
    )
