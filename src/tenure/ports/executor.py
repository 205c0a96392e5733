"""Executing capabilities: what the runtime asks of executors, and what an execution asks of the runtime.

Contracts: C074.
"""

from collections.abc import Sequence
from typing import Protocol

from tenure.core.checkpoint import Progress
from tenure.core.execution import (
    BeginEffect,
    EffectStanding,
    EndEffect,
    Finished,
    ManifestEntry,
    Saved,
    Work,
)


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
    """What the runtime does for one running execution. Each raises when the local store fails (D28).

    When the executor dies, `begin_effect` and `ensure_lease` are cancelled, since nobody waits for the
    answer; what was handed in before the death (`end_effect`, `save_step`, `checkpoint`) is ended before
    `run` raises.
    """

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

        Cancelling this call kills the executor and returns only when it is shown dead. Work that says
        `shared` may be given to a process with others, work that says `process` never is.

        Raises:
            ExecutorDied: The process ended first; it is shown dead.
            InvalidConfig: A further executor cannot import the module any more, or declares other
                capabilities than the first: the worker has to start again. Nothing was executed.
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

    def stop(self) -> None:
        """Tell all code, now and later, that this worker is on its way out (`attempt.stopping`)."""
        ...

    async def close(self) -> None:
        """End all executors; returns when all are shown dead."""
        ...
