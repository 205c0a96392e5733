"""Tasks and claims by id. C010 to C022."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from tenure.core.claim import Claim, Standing
from tenure.core.errors import InvariantBroken
from tenure.core.instants import from_micros, to_micros
from tenure.core.task import Task, TaskSpec
from tenure.ports.board import NewTask, Presented, Proof, Renewal, Renewed
from tenure.stores.sqlite.control.columns import json_text
from tenure.stores.sqlite.control.rows import (
    claim_of,
    claim_values,
    demand_of,
    new_claim_values,
    new_task_values,
    task_of,
    task_values,
)
from tenure.stores.sqlite.database import Database, Value
from tenure.stores.sqlite.statements import Statement, load_statements

_UNMINTED = Proof(Standing.UNMINTED, 0)
_SPEC = msgspec.json.Decoder(TaskSpec)


@dataclass(frozen=True, slots=True)
class BoardSql:
    """The statements of `board.sql`."""

    task_next: Statement
    demand_add: Statement
    demand_find: Statement
    task_add: Statement
    spec_add: Statement
    label_add: Statement
    key_add: Statement
    dependency_add: Statement
    tally_move: Statement
    task_load: Statement
    task_save: Statement
    claim_overtake: Statement
    claim_add: Statement
    claim_save: Statement
    claim_move: Statement
    claim_renew: Statement
    claim_alarm_lower: Statement
    claim_proofs: Statement
    claim_history: Statement
    spec_load: Statement


SQL = load_statements(BoardSql, Path(__file__).parent / "sql" / "board.sql")


class _Loaded(Struct, frozen=True):
    """A task as this transaction last saw it, with its number."""

    number: int
    task: Task


class SqliteBoard:
    """Tasks and claims by id, within one transaction."""

    def __init__(self, database: Database) -> None:
        """Begin with nothing loaded."""
        self._database = database
        self._loaded: dict[str, _Loaded] = {}

    def add(self, tasks: Sequence[NewTask]) -> None:
        """Add tasks, in order, with their specs, labels, keys and dependencies."""
        if not tasks:
            return
        demands = self._demands({demand_of(new.task) for new in tasks})
        first = int(self._database.rows(SQL.task_next)[0][0])
        numbered = list(enumerate(tasks, start=first))
        self._database.change_each(
            SQL.task_add, [new_task_values(n, demands[demand_of(new.task)], new) for n, new in numbered]
        )
        self._database.change_each(
            SQL.spec_add, [(n, new.content_digest, json_text(_with_id(new))) for n, new in numbered]
        )
        self._database.change_each(
            SQL.label_add, [(n, key, value) for n, new in numbered for key, value in new.spec.labels.items()]
        )
        self._database.change_each(
            SQL.key_add,
            [
                (new.task.queue, new.spec.key, new.task.id, new.content_digest)
                for new in tasks
                if new.spec.key is not None
            ],
        )
        self._database.change_each(
            SQL.dependency_add, [(n, below) for n, new in numbered for below in new.spec.depends_on]
        )
        self._count(Counter(new.task.state.value for new in tasks))
        self._loaded.update((new.task.id, _Loaded(n, new.task)) for n, new in numbered)

    def load(self, ids: Collection[str]) -> dict[str, Task]:
        """Return the tasks that exist, each with its newest claim, in the order of the ids."""
        if not ids:
            return {}
        found = {
            task.id: _Loaded(row[0], task)
            for row in self._database.rows(SQL.task_load, ids=json_text(list(ids)))
            for task in (task_of(row),)
        }
        self._loaded.update(found)
        return {id_: loaded.task for id_, loaded in found.items()}

    def in_order(self, ids: Sequence[str]) -> list[Task]:
        """Return tasks that a statement of this transaction has found, in its order."""
        return list(self.load(ids).values())

    def save(self, tasks: Sequence[Task]) -> None:
        """Write tasks and their newest claims back, each guarded by the revision that it had when loaded.

        Raises:
            InvariantBroken: A task was not loaded here, or a guard did not hold, which locks exclude.
        """
        changes = [(loaded, task) for loaded, task in self._with_loaded(tasks) if task is not loaded.task]
        rows = [task_values(loaded.number, loaded.task.revision, task) for loaded, task in changes]
        if self._database.change_each(SQL.task_save, rows) != len(rows):
            raise InvariantBroken("a task was changed between load and save in spite of the write lock")
        self._save_claims([change for change in changes if change[1].claim != change[0].task.claim])
        moved = [(loaded.task.state, task.state) for loaded, task in changes]
        count = Counter(after.value for _, after in moved)
        count.subtract(before.value for before, _ in moved)
        self._count(count)
        self._loaded.update((task.id, _Loaded(loaded.number, task)) for loaded, task in changes)

    def renew(self, renewals: Sequence[Renewal]) -> dict[str, Renewed]:
        """Move the ends of leases to now + ttl in one guarded statement; absent from the answer: lost."""
        if not renewals:
            return {}
        wishes = json_text([msgspec.structs.astuple(renewal) for renewal in renewals])
        rows = self._database.rows(SQL.claim_renew, renewals=wishes)
        # Only a ttl shorter than the one before ends a lease ahead of its alarm; then an index is touched.
        if early := [row[0] for row in rows if row[4]]:
            self._database.rows(SQL.claim_alarm_lower, numbers=json_text(early))
        return {row[1]: Renewed(until=from_micros(row[3]), cancel_requested=bool(row[2])) for row in rows}

    def proofs(self, presented: Collection[Presented]) -> dict[Presented, Proof]:
        """Return what each token is worth."""
        asked = list(presented)
        worth = dict.fromkeys(asked, _UNMINTED)
        pairs = json_text([msgspec.structs.astuple(each) for each in asked])
        for place, generation, is_newest in self._database.rows(SQL.claim_proofs, presented=pairs):
            standing = Standing.NEWEST if is_newest else Standing.OLDER
            worth[asked[place]] = Proof(standing, generation)
        return worth

    def claims(self, ids: Collection[str]) -> dict[str, list[Claim]]:
        """Return every grant of each task, oldest first."""
        grants: dict[str, list[Claim]] = {}
        for row in self._database.rows(SQL.claim_history, ids=json_text(list(ids))):
            grants.setdefault(row[0], []).append(claim_of(row[0], row[1:]))
        return grants

    def specs(self, ids: Collection[str]) -> dict[str, TaskSpec]:
        """Return the specs of the tasks that exist, each with its id."""
        rows = self._database.rows(SQL.spec_load, ids=json_text(list(ids)))
        return {row[0]: _SPEC.decode(row[1]) for row in rows}

    def _demands(
        self, wanted: Iterable[tuple[str, str, str | None, str | None]]
    ) -> dict[tuple[str, str, str | None, str | None], int]:
        asked = list(wanted)
        self._database.change_each(SQL.demand_add, asked)
        rows = self._database.rows(SQL.demand_find, demands=json_text(asked))
        return {asked[place]: number for place, number in rows}

    def _with_loaded(self, tasks: Iterable[Task]) -> list[tuple[_Loaded, Task]]:
        found: list[tuple[_Loaded, Task]] = []
        for task in tasks:
            loaded = self._loaded.get(task.id)
            if loaded is None or task.revision < loaded.task.revision:
                raise InvariantBroken(f"task {task.id} is saved without having been loaded at its revision")
            found.append((loaded, task))
        return found

    def _save_claims(self, changes: Sequence[tuple[_Loaded, Task]]) -> None:
        overtaken: list[tuple[Value, ...]] = []
        added: list[tuple[Value, ...]] = []
        changed: list[tuple[Value, ...]] = []
        moved: list[tuple[Value, ...]] = []
        for loaded, task in changes:
            before, after = loaded.task.claim, task.claim
            if after is None:
                continue
            if before is not None and before.generation == after.generation:
                changed.append(claim_values(loaded.number, after))
                # A lease that the caller left alone may have been renewed since it was loaded.
                if (before.until, before.ttl_s) != (after.until, after.ttl_s):
                    moved.append((to_micros(after.until), after.ttl_s, loaded.number, after.generation))
                continue
            added.append(new_claim_values(loaded.number, after))
            if before is not None and before.ended is None:
                overtaken.append((to_micros(after.granted_at), loaded.number, before.generation))
        # Before the newer grant is added, since a task has one claim that has not ended.
        self._database.change_each(SQL.claim_overtake, overtaken)
        self._database.change_each(SQL.claim_add, added)
        self._database.change_each(SQL.claim_save, changed)
        self._database.change_each(SQL.claim_move, moved)

    def _count(self, moved: Counter[str]) -> None:
        changes = [(change, state) for state, change in moved.items() if change]
        self._database.change_each(SQL.tally_move, changes)


def _with_id(new: NewTask) -> TaskSpec:
    spec = new.spec
    return spec if spec.id is not None else msgspec.structs.replace(spec, id=new.task.id)
