"""The append-only history, and the ledger of effects, steps and checkpoints."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from tenure.core.checkpoint import Checkpoint
from tenure.core.effect import Effect


class Fact(Struct, frozen=True):
    """One line of a task's history. `event_id` and `digest` are set for what a worker reported.

    `position` is given by the store and only grows; `at` is the store's instant.
    """

    task_id: str
    kind: str
    at: datetime
    generation: int = 0
    body: dict[str, object] = {}
    event_id: str | None = None
    digest: str | None = None
    attempt_epoch: int = 0
    sequence: int = 0
    answer: str | None = None
    position: int = 0


class Facts(Protocol):
    """The append-only history; an event id is kept once. C081 C082."""

    def record(self, facts: Sequence[Fact]) -> None:
        """Append facts in order."""
        ...

    def seen(self, event_ids: Collection[str]) -> dict[str, Fact]:
        """Return the facts that these event ids were kept as."""
        ...

    def last_sequences(self, attempts: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Return the highest accepted event sequence of each (task id, generation)."""
        ...

    def history(self, task_id: str, after: int, limit: int) -> list[Fact]:
        """Return a task's facts beyond a position, in order."""
        ...

    def ends_told(self, task_ids: Collection[str]) -> dict[tuple[str, int], int]:
        """Return the newest execution whose end its own holder has told, by (task id, generation).

        By a final report or a loss, also one that came too late to change the task: from then on that
        execution does not act any more.
        """
        ...

    def position(self) -> int:
        """Return the number of the last fact (D27)."""
        ...


class Ledger(Protocol):
    """Effects and steps by (task, run, name), and the newest checkpoint of each task."""

    def effects(self, task_ids: Collection[str]) -> dict[str, list[Effect]]:
        """Return the entries of each task's present run, in the order of their first witness, locked."""
        ...

    def save(self, effects: Sequence[Effect]) -> None:
        """Add or change entries."""
        ...

    def checkpoints(self, task_ids: Collection[str]) -> dict[str, Checkpoint]:
        """Return the newest checkpoint of each task's present run."""
        ...

    def save_checkpoints(self, checkpoints: Sequence[tuple[str, int, Checkpoint]]) -> None:
        """Keep (task id, generation, checkpoint) as newest; an older generation changes nothing."""
        ...
