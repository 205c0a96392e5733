"""Tasks and claims: loading, saving, renewing, and finding what is to be decided."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from tenure.core.checkpoint import Progress
from tenure.core.claim import Claim, Standing
from tenure.core.task import Task, TaskSpec, TaskState


class NewTask(Struct, frozen=True):
    """A task to be added: the entity, its spec and the digest of its content."""

    task: Task
    spec: TaskSpec
    content_digest: str


class Known(Struct, frozen=True):
    """What a task id or key names already."""

    task_id: str
    content_digest: str
    state: TaskState


class Presented(Struct, frozen=True):
    """A token presented for a task, as digest."""

    task_id: str
    token_hash: str


class Proof(Struct, frozen=True):
    """What a presented token is worth: its standing and the generation it was minted for (0: never)."""

    standing: Standing
    generation: int


class Renewal(Struct, frozen=True):
    """A wish to move a lease's end; `progress` is kept if its number is higher than the last."""

    task_id: str
    token_hash: str
    ttl_s: float
    progress: Progress | None = None
    progress_number: int = 0


class Renewed(Struct, frozen=True):
    """A lease that was moved."""

    until: datetime
    cancel_requested: bool


class Board(Protocol):
    """Tasks and claims by id. C010 to C022."""

    def add(self, tasks: Sequence[NewTask]) -> None:
        """Add tasks, in order, with their dependencies; the caller has checked ids, keys and dependencies."""
        ...

    def load(self, ids: Collection[str]) -> dict[str, Task]:
        """Return the tasks that exist, each with its newest claim, locked against other transactions."""
        ...

    def save(self, tasks: Sequence[Task]) -> None:
        """Write tasks and their newest claims back, each guarded by the revision that it had when loaded.

        A task that moves into or out of `open` or `claimed` moves in the store's live indexes with it. What
        a submitter stated never changes and is not written. An earlier claim that has not ended is taken over
        by a newer one. A lease's end that the caller left alone stays as a renewal may have moved it.

        Raises:
            InvariantBroken: A guard did not hold, which locks exclude.
        """
        ...

    def renew(self, renewals: Sequence[Renewal]) -> dict[str, Renewed]:
        """Move the ends of leases to now + ttl in one guarded statement; absent from the answer: lost.

        Only the newest generation's token of a claimed task (or an unknown one without a verdict, whose lease
        is answered held) counts; expiry alone loses nothing. C019 C021 C022.
        """
        ...

    def proofs(self, presented: Collection[Presented]) -> dict[Presented, Proof]:
        """Return what each token is worth. Never minted for that task, or no such task: `unminted`, 0."""
        ...

    def claims(self, ids: Collection[str]) -> dict[str, list[Claim]]:
        """Return every grant of each task, oldest first."""
        ...

    def specs(self, ids: Collection[str]) -> dict[str, TaskSpec]:
        """Return the specs of the tasks that exist, each with its id."""
        ...


class Wanted(Struct, frozen=True):
    """What to look for among open and due tasks. `capabilities` are (name, version) pairs that can be run.

    `queues` and `capabilities` None mean any. `skip` leaves out tasks that were looked at and do not fit, so
    that they never hide those behind them (B05). `labels` leaves out tasks whose requirements they do not
    meet, and `resources` those that need more of one than is free; None leaves that to the caller.
    """

    queues: Collection[str] | None
    capabilities: Collection[tuple[str, str]] | None
    limit: int
    exclude_worker: str | None = None
    skip: Collection[str] = ()
    labels: Mapping[str, str] | None = None
    resources: Mapping[str, float] | None = None


class TaskFilter(Struct, frozen=True):
    """What a list of tasks shows; None means everything. `before` is the cursor of the page before."""

    state: TaskState | None = None
    capability: str | None = None
    queue: str | None = None
    label: tuple[str, str] | None = None
    queues_allowed: Collection[str] | None = None
    before: str | None = None
    limit: int = 50


class Selection(Protocol):
    """Tasks by what is to be decided about them; every answer is bounded and in a stable order."""

    def known(
        self, ids: Collection[str], keys: Collection[tuple[str, str]]
    ) -> Mapping[str | tuple[str, str], Known]:
        """Return what ids and (queue, key) pairs name already, by id or pair."""
        ...

    def open_and_due(self, wanted: Wanted) -> list[Task]:
        """Return open, due tasks that fit, locked.

        Higher priority first, then older. Others' locks are skipped.

        `exclude_worker` leaves out tasks for which that worker is excluded (D21).
        """
        ...

    def ended_leases(self, after: tuple[datetime, str] | None, limit: int) -> list[Task]:
        """Return claimed tasks whose lease has ended, ordered by (until, id), beyond the given key.

        Locked (B05).
        """
        ...

    def unanswered_starts(self, ack_timeout_s: float, limit: int) -> list[Task]:
        """Return claimed tasks whose start has no answer for too long, locked (D20).

        Too long is the smaller of `ack_timeout_s` and the claim's ttl, from the last offer of its command.
        """
        ...

    def dependents(self, ids: Collection[str]) -> list[Task]:
        """Return the blocked tasks that depend on any of these, locked."""
        ...

    def dependencies(self, ids: Collection[str]) -> dict[str, dict[str, TaskState]]:
        """Return for each task the states of what it depends on (a pruned one counts as done). C016."""
        ...

    def page(self, wanted: TaskFilter) -> list[str]:
        """Return the ids of a page of tasks, newest first."""
        ...


class Upkeep(Protocol):
    """What the janitor and dispatch ask of the board besides."""

    def exclude(self, task_id: str, worker_id: str, until: datetime | None) -> None:
        """Do not offer this task to that worker again, for good or until then (D21)."""
        ...

    def overdue(self, limit: int) -> list[Task]:
        """Return tasks whose `deadline` has passed: waiting, or claimed and not asked to stop; locked."""
        ...

    def next_due(self) -> datetime | None:
        """Return the earliest `not_before` among open tasks that are not due yet."""
        ...

    def progress(self, ids: Collection[str]) -> dict[str, Progress]:
        """Return the newest progress of each task's newest claim."""
        ...

    def lower_leases(self) -> None:
        """After the clock stepped back: no lease and no registration ends later than now + its ttl (D19)."""
        ...

    def granted_for(self, agent: str, request_id: str) -> list[Task]:
        """Return the claimed tasks whose live claims this agent's request was granted, locked."""
        ...

    def held_by(self, agent: str) -> list[str]:
        """Return the ids of claimed tasks that this agent holds."""
        ...

    def counts(self) -> dict[str, int]:
        """Return how many tasks are in each state."""
        ...
