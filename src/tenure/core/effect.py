"""Effects: one act on the outside world, recorded before and after; the ledger that settles it. D16."""

import hashlib
import re
from datetime import datetime
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from tenure.core.bounds import Count
from tenure.core.capability import Recovery
from tenure.core.machine import Machine

SettledBy = Literal["find", "idempotent"]
EFFECT_NAME_MAX = 200
QUIET_S = 300.0
ATTEMPT_SUBJECT = "attempt"


class EffectState(StrEnum):
    """What is known of an effect. `intended` without an outcome is a doubt once its execution has ended."""

    INTENDED = "intended"
    APPLIED = "applied"
    ABSENT = "absent"
    IN_DOUBT = "in_doubt"
    ABANDONED = "abandoned"


class EffectStep(StrEnum):
    """What can happen to an effect."""

    PERMIT = "permit"
    APPLY = "apply"
    MISS = "miss"
    DOUBT = "doubt"
    ABANDON = "abandon"


_S, _T = EffectState, EffectStep
EFFECT_MACHINE: Machine[EffectState, EffectStep] = Machine(
    "effect",
    {
        (_S.INTENDED, _T.PERMIT): _S.INTENDED,
        (_S.INTENDED, _T.APPLY): _S.APPLIED,
        (_S.INTENDED, _T.MISS): _S.ABSENT,
        (_S.INTENDED, _T.DOUBT): _S.IN_DOUBT,
        (_S.INTENDED, _T.ABANDON): _S.ABANDONED,
        (_S.IN_DOUBT, _T.PERMIT): _S.INTENDED,
        (_S.IN_DOUBT, _T.APPLY): _S.APPLIED,
        (_S.IN_DOUBT, _T.MISS): _S.ABSENT,
        (_S.IN_DOUBT, _T.DOUBT): _S.IN_DOUBT,
        (_S.IN_DOUBT, _T.ABANDON): _S.ABANDONED,
        (_S.ABSENT, _T.PERMIT): _S.INTENDED,
        (_S.ABSENT, _T.APPLY): _S.APPLIED,
        (_S.ABSENT, _T.MISS): _S.ABSENT,
        (_S.APPLIED, _T.APPLY): _S.APPLIED,
    },
)


class Effect(Struct, frozen=True):
    """One entry of a task's ledger at the control plane, keyed by (task, run, name).

    `generation` and `epoch` name the execution that holds the permit; `decided_by` is `evidence` or
    `verdict`.
    """

    task_id: str
    run: int
    name: str
    request_id: str
    digest: str
    state: EffectState
    generation: int
    epoch: int
    agent: str
    witnessed_at: datetime
    kind: Literal["effect", "step"] = "effect"
    params: object = None
    settled_by: tuple[SettledBy, ...] = ()
    after: Literal["absent"] | None = None
    result: object = None
    decided_by: Literal["evidence", "verdict"] | None = None

    @property
    def is_in_doubt(self) -> bool:
        """Say whether the outcome is not known; meaningful once the execution with the permit has ended."""
        return self.kind == "effect" and self.state in (EffectState.INTENDED, EffectState.IN_DOUBT)

    def reentry_settles(self, rule: Recovery | None) -> bool:
        """Say whether running the capability again could settle a doubt about this effect."""
        return bool(self.settled_by) and rule is not None and rule.may_reenter


class WitnessRequest(Struct, frozen=True, omit_defaults=True):
    """May this generation begin this effect? Asked before anything is applied."""

    task_id: str
    token: str
    attempt_epoch: Count
    name: str
    request_id: str
    digest: str
    params: object = None
    settled_by: tuple[SettledBy, ...] = ()
    after: Literal["absent"] | None = None


class WitnessStanding(StrEnum):
    """The control plane's answer to a witness request."""

    GO = "go"
    APPLIED = "applied"
    IN_DOUBT = "in_doubt"
    ABANDONED = "abandoned"
    LEASE_LOST = "lease_lost"
    CANCELLED = "cancelled"
    MISMATCH = "mismatch"


class WitnessAnswer(Struct, frozen=True, omit_defaults=True):
    """The answer, with the time left of the lease and what is known of an earlier execution."""

    task_id: str
    name: str
    standing: WitnessStanding
    ttl_s: float = 0.0
    result: object = None
    since: datetime | None = None
    agent: str | None = None
    generation: int | None = None
    predecessor: Literal["ended", "may_still_act"] | None = None


class LedgerLine(Struct, frozen=True, omit_defaults=True):
    """One effect or step as it travels in evidence."""

    name: str
    kind: str
    state: str
    result: object = None
    request_id: str = ""
    generation: int = 0


class AttemptLine(Struct, frozen=True, omit_defaults=True):
    """One earlier attempt as it travels in evidence."""

    generation: int
    agent: str
    instance_id: str | None = None
    ended: str | None = None


class CheckpointLine(Struct, frozen=True, omit_defaults=True):
    """The checkpoint as it travels in evidence."""

    value: object
    sequence: int
    portable: bool = True
    node_id: str = ""


class Evidence(Struct, frozen=True, omit_defaults=True):
    """What earlier attempts left behind; travels with a claim and a start command."""

    checkpoint: CheckpointLine | None = None
    effects: list[LedgerLine] = []
    attempts: list[AttemptLine] = []


_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


def request_id(task_id: str, run: int, name: str) -> str:
    """Return the identity of the logical action: the same in every retry, restart and takeover of a run.

    Contracts: C106.

    A short plain name stays readable; any other is hashed. Names that look hashed are hashed, so no two names
    meet.
    """
    plain = _PLAIN.fullmatch(name) is not None and not name.startswith("h-")
    shown = name if plain else "h-" + hashlib.sha256(name.encode()).hexdigest()[:24]
    return f"{task_id}.{run}.{shown}"
