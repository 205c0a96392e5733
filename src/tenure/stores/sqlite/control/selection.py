"""Tasks by what is to be decided about them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tenure.core.instants import to_micros
from tenure.core.task import Task, TaskState
from tenure.ports.board import Known, TaskFilter, Wanted
from tenure.stores.sqlite.control.board import SqliteBoard
from tenure.stores.sqlite.control.columns import json_text
from tenure.stores.sqlite.database import Database, Value
from tenure.stores.sqlite.statements import Statement, load_statements

_PROMOTED_MAX = 1_000  # Bound: tasks that become due with one look; more than one look hands out
_SPECIAL = {TaskState.BLOCKED, TaskState.FAILED, TaskState.UNKNOWN, TaskState.CANCELLED}


@dataclass(frozen=True, slots=True)
class SelectionSql:
    """The statements of `selection.sql`."""

    known_ids: Statement
    known_keys: Statement
    due_promote: Statement
    due_find: Statement
    alarm_move: Statement
    lease_ended: Statement
    start_unanswered: Statement
    dependent_find: Statement
    dependency_states: Statement
    page_all: Statement
    page_special: Statement
    page_claimed: Statement
    page_labelled: Statement


SQL = load_statements(SelectionSql, Path(__file__).parent / "sql" / "selection.sql")


class SqliteSelection:
    """Tasks by what is to be decided about them, within one transaction.

    Two looks also move an index on: tasks that have become due, and alarms of renewed leases. A transaction
    that only reads leaves that to the next one that writes.
    """

    def __init__(self, database: Database, board: SqliteBoard, *, writes: bool) -> None:
        """Load what is found through the board, so that it can be saved there."""
        self._database = database
        self._board = board
        self._writes = writes

    def known(
        self, ids: Collection[str], keys: Collection[tuple[str, str]]
    ) -> Mapping[str | tuple[str, str], Known]:
        """Return what ids and (queue, key) pairs name already, by id or pair; a pruned task is done."""
        found: dict[str | tuple[str, str], Known] = {}
        if ids:
            rows = self._database.rows(SQL.known_ids, ids=json_text(list(ids)))
            found.update((row[0], Known(row[0], row[1], TaskState(row[2]))) for row in rows)
        if keys:
            asked = list(keys)
            for place, *row in self._database.rows(SQL.known_keys, keys=json_text(asked)):
                found[asked[place]] = Known(row[0], row[1], _state(row[2]))
        return found

    def open_and_due(self, wanted: Wanted) -> list[Task]:
        """Return open, due tasks that fit: higher priority first, then older."""
        if self._writes:
            self._database.rows(SQL.due_promote, limit=_PROMOTED_MAX)
        rows = self._database.rows(
            SQL.due_find,
            queues=_list(wanted.queues),
            capabilities=_list(wanted.capabilities),
            labels=None if wanted.labels is None else json_text(wanted.labels),
            resources=None if wanted.resources is None else json_text(wanted.resources),
            skip=json_text(list(wanted.skip)),
            exclude_worker=wanted.exclude_worker,
            limit=max(wanted.limit, 0),
        )
        return self._board.in_order([row[0] for row in rows])

    def ended_leases(self, after: tuple[datetime, str] | None, limit: int) -> list[Task]:
        """Return claimed tasks whose lease has ended, ordered by (until, id), beyond the given key."""
        if self._writes:
            self._database.rows(SQL.alarm_move)
        until, id_ = (None, None) if after is None else (to_micros(after[0]), after[1])
        return self._tasks(SQL.lease_ended, until=until, id=id_, limit=limit)

    def unanswered_starts(self, ack_timeout_s: float, limit: int) -> list[Task]:
        """Return claimed tasks whose start, once offered, has no answer for too long."""
        return self._tasks(SQL.start_unanswered, ack_timeout_s=ack_timeout_s, limit=limit)

    def dependents(self, ids: Collection[str]) -> list[Task]:
        """Return the blocked tasks that depend on any of these, oldest first."""
        return self._tasks(SQL.dependent_find, ids=json_text(list(ids)))

    def dependencies(self, ids: Collection[str]) -> dict[str, dict[str, TaskState]]:
        """Return for each task the states of what it depends on (a pruned one counts as done)."""
        states: dict[str, dict[str, TaskState]] = {}
        for id_, below, state in self._database.rows(SQL.dependency_states, ids=json_text(list(ids))):
            states.setdefault(id_, {})[below] = _state(state)
        return states

    def page(self, wanted: TaskFilter) -> list[str]:
        """Return the ids of a page of tasks, newest first."""
        shared: dict[str, Value] = {
            "before": wanted.before,
            "capability": wanted.capability,
            "queue": wanted.queue,
            "queues": _list(wanted.queues_allowed),
            "limit": max(wanted.limit, 0),
        }
        if wanted.label is not None:
            label, value = wanted.label
            rows = self._database.rows(
                SQL.page_labelled, label=label, value=value, state=wanted.state, **shared
            )
        elif wanted.state is TaskState.CLAIMED:
            rows = self._database.rows(SQL.page_claimed, **shared)
        elif wanted.state in _SPECIAL:
            rows = self._database.rows(SQL.page_special, state=wanted.state, **shared)
        else:
            rows = self._database.rows(SQL.page_all, state=wanted.state, **shared)
        return [row[0] for row in rows]

    def _tasks(self, statement: Statement, **values: Value) -> list[Task]:
        return self._board.in_order([row[0] for row in self._database.rows(statement, **values)])


def _list(values: Collection[object] | None) -> str | None:
    return None if values is None else json_text(list(values))


def _state(state: str | None) -> TaskState:
    return TaskState.DONE if state is None else TaskState(state)
