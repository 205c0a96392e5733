"""Executing a capability: what its code is given, what it asks on the way, and how it ended. C074.

These facts travel between the supervisor and its executor processes, so they hold nothing but JSON values.
"""

from typing import Final, Literal

from msgspec import Struct

from tenure.core.capability import Isolation, Recovery
from tenure.core.effect import SettledBy
from tenure.core.task import ErrorInfo

VALUE_BYTES_MAX: Final = 4 * 1024 * 1024 - 64 * 1024
"""Bound: one result, checkpoint or effect as JSON; a call of 4 MiB holds it with what goes around it."""


class ManifestEntry(Struct, frozen=True):
    """One capability as its executor declares it; `digest` covers what an unfinished attempt depends on."""

    name: str
    version: str
    recovery: Recovery
    window: str
    input_schema: dict[str, object]
    isolation: Isolation
    digest: str


class Saved(Struct, frozen=True):
    """One applied effect or step of the run, handed over with the work."""

    name: str
    kind: str
    result: object


class Work(Struct, frozen=True):
    """One execution of an attempt: everything the capability's code is given."""

    attempt_id: str
    task_id: str
    generation: int
    run: int
    epoch: int
    capability: str
    version: str
    input: object
    isolation: Isolation
    losses: int = 0
    checkpoint: object = None
    checkpoint_saved: bool = False
    store_epoch: int = 1
    fenced_at_boot: float | None = None
    """The local deadline on the boot-time clock when the work was handed over; moved by `lease_moved`."""


class BeginEffect(Struct, frozen=True):
    """An execution wants to begin an effect (or says that an earlier one was shown absent)."""

    name: str
    digest: str
    params: object
    settled_by: tuple[SettledBy, ...]
    witness: bool = True
    absent: bool = False


class EffectStanding(Struct, frozen=True):
    """What the execution may do now.

    `go`: apply. `applied`: return `result` (or raise `error` where it was not kept). `in_doubt`: settle by
    find or idempotency; `predecessor` says whether an absence can be believed yet. `refused`: raise; `code`
    is the reason: `lease_lost`, `cancelled`, `mismatch`, `abandoned`, `outcome_unknown`, `fenced` (the local
    deadline has passed).
    """

    standing: Literal["go", "applied", "in_doubt", "refused"]
    request_id: str
    result: object = None
    error: str = ""
    predecessor: Literal["ended", "may_still_act"] | None = None
    age_s: float | None = None
    """Seconds since the permit that is in doubt, by the store; None: not known, so nothing relies on it."""
    code: str = ""
    text: str = ""


class EndEffect(Struct, frozen=True):
    """What became of an effect; `kept` is false when it was applied and its result could not be stored."""

    name: str
    state: Literal["applied", "absent", "in_doubt"]
    result: object = None
    kept: bool = True
    error: str = ""


class Finished(Struct, frozen=True):
    """How the capability's code ended."""

    outcome: Literal["succeeded", "failed", "cancelled", "unknown"]
    result: object = None
    error: ErrorInfo | None = None
    subjects: tuple[str, ...] = ()
    note: str = ""
