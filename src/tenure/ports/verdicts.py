"""People's decisions on what is unknown."""

from typing import Protocol

from tenure.core.verdict import VerdictRow


class Verdicts(Protocol):
    """Verdicts as they were given; none is ever changed. C119 C120."""

    def add(self, row: VerdictRow) -> None:
        """Keep a verdict."""
        ...

    def last_deciding(self, task_id: str, run: int, subject: str) -> VerdictRow | None:
        """Return the last verdict on a subject that decided it (not `still_unknown`)."""
        ...

    def of_task(self, task_id: str) -> list[VerdictRow]:
        """Return all verdicts on a task, in order."""
        ...
