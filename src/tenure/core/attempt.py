"""Attempts: a worker's execution of one claim, as its local store keeps it. C062 to C078."""

from datetime import datetime
from enum import StrEnum

import msgspec
from msgspec import Struct

from tenure.core.capability import Recovery
from tenure.core.checkpoint import Progress
from tenure.core.effect import Evidence, SettledBy
from tenure.core.event import EventKind
from tenure.core.machine import Machine
from tenure.core.task import TaskSpec


class AttemptState(StrEnum):
    """Where an attempt stands; the final states absorb."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    HANDED_BACK = "handed_back"
    SUPERSEDED = "superseded"

    @property
    def is_final(self) -> bool:
        """Say whether nothing more is executed for it."""
        return self not in (AttemptState.PENDING, AttemptState.RUNNING)


class AttemptStep(StrEnum):
    """What can happen to an attempt."""

    RUN = "run"
    SUCCEED = "succeed"
    FAIL = "fail"
    CANCEL = "cancel"
    DOUBT = "doubt"
    HAND_BACK = "hand_back"
    SUPERSEDE = "supersede"


_S, _T = AttemptState, AttemptStep
_ENDS = {
    _T.SUCCEED: _S.SUCCEEDED,
    _T.FAIL: _S.FAILED,
    _T.CANCEL: _S.CANCELLED,
    _T.DOUBT: _S.UNKNOWN,
    _T.HAND_BACK: _S.HANDED_BACK,
    _T.SUPERSEDE: _S.SUPERSEDED,
}
_FINAL = tuple(_ENDS.values())
ATTEMPT_MACHINE: Machine[AttemptState, AttemptStep] = Machine(
    "attempt",
    {
        (_S.PENDING, _T.RUN): _S.RUNNING,
        (_S.RUNNING, _T.RUN): _S.RUNNING,  # Re-entry: the same attempt, a higher epoch
        # A start whose input cannot be read fails without having run.
        **{(_S.PENDING, step): state for step, state in _ENDS.items() if step is not _T.SUCCEED},
        **{(_S.RUNNING, step): state for step, state in _ENDS.items()},
        **{(state, step): state for state in _FINAL for step in _ENDS},
    },
)

FINAL_STEP = {
    EventKind.SUCCEEDED: _T.SUCCEED,
    EventKind.FAILED: _T.FAIL,
    EventKind.CANCELLED: _T.CANCEL,
    EventKind.UNKNOWN: _T.DOUBT,
    EventKind.HANDED_BACK: _T.HAND_BACK,
    EventKind.SUPERSEDED: _T.SUPERSEDE,
}


class Attempt(Struct, frozen=True):
    """One attempt in the local store; `epoch` is raised by each start, so that an older execution is refused.

    `rule` and `manifest_digest` are those of the capability when the attempt first ran: an unfinished attempt
    whose capability changed under it is unknown, never re-entered with new meaning. `lease_kept` stays true
    until the answer to the final event is saved (D15). `command_id` names the start that is acknowledged
    again while the attempt is pending (D13); `lost_epoch` is the newest execution whose death was reported.
    """

    id: str
    task_id: str
    generation: int
    run: int
    token: str
    state: AttemptState
    epoch: int
    spec: TaskSpec
    received_at: datetime
    losses: int = 0
    rule: Recovery | None = None
    manifest_digest: str = ""
    evidence: Evidence = Evidence()
    cancel_requested: bool = False
    checkpoint: object = None
    checkpoint_saved: bool = False
    checkpoint_portable: bool = True
    progress: Progress | None = None
    progress_number: int = 0
    event_sequence: int = 0
    lease_kept: bool = True
    ended_at: datetime | None = None
    command_id: str = ""
    lost_epoch: int = 0

    def after(self, step: AttemptStep, **changes: object) -> "Attempt":
        """Return the attempt after a step of the table; a final state stays what it is, fields and all."""
        if self.state.is_final:
            return self
        return msgspec.structs.replace(self, state=ATTEMPT_MACHINE.next(self.state, step), **changes)


class LocalEffectState(StrEnum):
    """What the worker itself knows of an effect."""

    INTENDED = "intended"
    APPLIED = "applied"
    ABSENT = "absent"
    IN_DOUBT = "in_doubt"
    ABANDONED = "abandoned"


class LocalEffect(Struct, frozen=True):
    """One ledger entry in the local store, keyed by (task, run, name).

    `go_saved` says that a `go` was saved before `apply`: without it an effect that has neither `find` nor
    idempotency was certainly not applied. `kept` is false for an applied effect whose result could not be
    stored; `error` is then what re-entry raises again.
    """

    task_id: str
    run: int
    name: str
    request_id: str
    digest: str
    state: LocalEffectState
    epoch: int
    generation: int
    kind: str = "effect"
    params: object = None
    settled_by: tuple[SettledBy, ...] = ()
    go_saved: bool = False
    result: object = None
    kept: bool = True
    error: str = ""

    def in_doubt_after(self, epoch: int) -> bool:
        """Say whether an execution before this epoch may have applied it without the result being saved."""
        if self.kind != "effect" or self.epoch >= epoch:
            return False
        if self.state is LocalEffectState.IN_DOUBT:
            return True
        return self.state is LocalEffectState.INTENDED and (bool(self.settled_by) or self.go_saved)
