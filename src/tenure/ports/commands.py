"""Commands to workers: queued until answered or void. C062 to C067, C115."""

from collections.abc import Collection, Sequence
from typing import Protocol

from tenure.core.command import CommandRow


class Commands(Protocol):
    """The command table; an unanswered command is offered again on every connection."""

    def add(self, rows: Sequence[CommandRow]) -> None:
        """Queue commands; the store gives each its `sequence`."""
        ...

    def load(self, ids: Collection[str]) -> dict[str, CommandRow]:
        """Return the commands that exist, locked."""
        ...

    def save(self, rows: Sequence[CommandRow]) -> None:
        """Write state, reason, offered mark and token back."""
        ...

    def queued(self, worker_id: str, after: int, limit: int) -> list[CommandRow]:
        """Return this worker's queued commands beyond a sequence number, in order."""
        ...

    def mark_offered(self, ids: Sequence[str]) -> None:
        """Note that these were offered now on an open stream; a mark of its own, never an acknowledgement."""
        ...

    def of_tasks(self, task_ids: Collection[str]) -> list[CommandRow]:
        """Return the queued commands about these tasks, locked."""
        ...

    def unanswered(self) -> dict[str, int]:
        """Return the number of queued starts of each worker: what its room is measured against (D21)."""
        ...
