"""Executing capabilities: what the runtime asks of executors, and what an execution asks of the runtime.

Contracts: C074.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from tenure.core.capability import Isolation, Recovery
from tenure.core.checkpoint import Progress
from tenure.core.effect import SettledBy
from tenure.core.task import ErrorInfo


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


class ExecutorDied(Exception):
    """The executor process of an execution ended before the capability's code did; it is shown dead.

    `alone`: no other execution shared the process, so the death is this one's. `cause` is the event's word.
    """

    def __init__(self, text: str, *, alone: bool, cause: str, signal: int | None) -> None:
        """Say what is known of the death."""
        super().__init__(text)
        self.alone = alone
        self.cause = cause
        self.signal = signal


class Execution(Protocol):
    """What the runtime does for one running execution. Each raises when the local store fails (D28)."""

    async def begin_effect(self, wanted: BeginEffect) -> EffectStanding:
        """Look, intend, have it witnessed: recovery.md, Effects 1 and 2. Returns once that is durable."""
        ...

    async def end_effect(self, ended: EndEffect) -> None:
        """Save an effect's outcome and its event in one transaction; returns once durable."""
        ...

    async def find_step(self, name: str) -> Saved | None:
        """Return the saved result of a step of this run."""
        ...

    async def save_step(self, saved: Saved) -> None:
        """Save a step's result and its event; returns once durable."""
        ...

    async def checkpoint(self, value: object, portable: bool) -> None:  # noqa: FBT001 - one word of a frame
        """Save where to continue; returns once durable. C078."""
        ...

    def progress(self, progress: Progress) -> None:
        """Take progress; merged and throttled, never waits. C075."""
        ...

    async def ensure_lease(self, seconds: float) -> bool:
        """Say whether the lease is certainly held for so long, asking the control plane if need be."""
        ...


class CapabilityExecutor(Protocol):
    """Runs capabilities in processes that share this process's fate (C122).

    Holds no knowledge of any capability.
    """

    async def manifest(self) -> Sequence[ManifestEntry]:
        """Start the first executor and return what it declares.

        Raises:
            InvalidConfig: The module cannot be imported; the text is the last line of its traceback.
        """
        ...

    async def run(self, work: Work, execution: Execution) -> Finished:
        """Execute and return how the code ended.

        Cancelling this call kills the executor and returns only when it is shown dead.

        Raises:
            ExecutorDied: The process ended first; it is shown dead.
        """
        ...

    def cancel(self, attempt_id: str) -> None:
        """Tell the code to stop; it may take its time."""
        ...

    async def kill(self, attempt_id: str) -> None:
        """Kill the attempt's executor and return when it is shown dead; `run` then raises `ExecutorDied`."""
        ...

    def lease_moved(self, attempt_id: str, fenced_at_boot: float) -> None:
        """Tell the code's side the newest local deadline, without waiting."""
        ...

    async def close(self) -> None:
        """End all executors; returns when all are shown dead."""
        ...
