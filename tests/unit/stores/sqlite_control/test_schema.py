"""The schema agrees with `core`, with its committed dump, and with the statements that run on it."""

import re
from collections.abc import Iterator
from contextlib import closing
from enum import StrEnum
from itertools import product
from pathlib import Path

import pytest

from tenure.core.capability import Recovery
from tenure.core.claim import ClaimEnd
from tenure.core.command import CommandKind, CommandState
from tenure.core.effect import EffectState
from tenure.core.errors import InvariantBroken
from tenure.core.task import TASK_MACHINE, TaskState
from tenure.core.verdict import Verdict
from tenure.stores.sqlite.database import Database, Value
from tenure.stores.sqlite.statements import parse_statements
from tests.unit.stores.sqlite_control.schema import COMMITTED, dump, open_migrated

WORDS: dict[tuple[str, str], type[StrEnum]] = {
    ("task", "state"): TaskState,
    ("claim", "rule"): Recovery,
    ("claim", "ended"): ClaimEnd,
    ("effect", "state"): EffectState,
    ("command", "kind"): CommandKind,
    ("command", "state"): CommandState,
    ("verdict", "verdict"): Verdict,
}
SQL = parse_statements(
    """
-- name: task_insert
-- A task as a row, whatever `core` would say of it.
insert into task (
           number, id, demand, priority, state, revision, generation, run, attempts, losses, interruptions,
           cancel_requested, created_at, updated_at, waits_until, finished_at, subjects, ending
       )
values (
           1, 'a', :demand, 0, :state, :revision, :generation, :run, :attempts, :losses, :interruptions,
           :cancel_requested, 1, 1, :waits_until, :finished_at, :subjects, :ending
       );

-- name: task_change
-- A step, whatever `core` would say of it.
update task set state = :state, finished_at = :finished_at, subjects = '[]';

-- name: claim_insert
-- A claim that has not ended.
insert into claim (
           task, generation, token_hash, agent, granted_at, until, ttl_s, alarm_at, pushed, acknowledged,
           epoch, lost_epoch
       )
values (1, :generation, 'hash', 'w1', 1, 2, 1.0, 2, 0, 1, 0, 0);

-- name: table_text
-- How a table was made.
select sql from sqlite_schema where name = :table;
""",
    __name__,
)
SETTLED = {state for state in TaskState if state.is_settled}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(open_migrated(tmp_path)) as opened:
        opened.run("insert into demand (number, queue, capability) values (1, 'default', 'render')")
        yield opened


def insert(database: Database, state: str, **columns: Value) -> None:
    finished = 1 if state in SETTLED else None
    values: dict[str, Value] = {
        "demand": 1,
        "state": state,
        "revision": 1,
        "generation": 1,
        "run": 1,
        "attempts": 0,
        "losses": 0,
        "interruptions": 0,
        "cancel_requested": 0,
        "waits_until": None,
        "finished_at": finished,
        "ending": None,
        "subjects": '["attempt"]' if state == TaskState.UNKNOWN else None,
    }
    values |= columns
    database.rows(SQL["task_insert"], **values)


def accepts(database: Database, state: str, **columns: Value) -> bool:
    """Say whether the file takes a row; it is taken out again."""
    database.run("begin")
    try:
        insert(database, state, **columns)
    except InvariantBroken:
        return False
    else:
        return True
    finally:
        database.rollback()


def test_the_schema_is_the_committed_one(database: Database) -> None:
    found = dump(database)
    hint = "run `python -m tests.unit.stores.sqlite_control.schema`, and read what has changed"
    assert found == COMMITTED.read_text(encoding="utf-8"), hint


def test_tables_are_strict(database: Database) -> None:
    tables = database.run("select name, strict from pragma_table_list where schema = 'main'")
    assert {name for name, strict in tables if not strict} == {"sqlite_schema", "sqlite_sequence"}


def test_references_hold(database: Database) -> None:
    assert database.number("foreign_keys") == 1
    with pytest.raises(InvariantBroken):
        insert(database, "open", demand=2)


@pytest.mark.parametrize("place", WORDS, ids=".".join)
def test_a_column_of_words_takes_those_of_core_and_no_others(
    database: Database, place: tuple[str, str]
) -> None:
    """The list in the CHECK is the enum's, word by word."""
    table, column = place
    text = str(database.rows(SQL["table_text"], table=table)[0][0])
    match = re.search(rf"\b{column} in \(([^)]*)\)", text)
    assert match is not None
    assert set(re.findall(r"'(\w+)'", match[1])) == {str(word) for word in WORDS[place]}


@pytest.mark.parametrize("state", TaskState)
def test_a_state_holds_what_belongs_to_it(database: Database, state: TaskState) -> None:
    """Final ⇔ finished_at, unknown ⇒ subjects, an ending only while unknown, claimed ⇒ a generation."""
    assert accepts(database, state)
    assert not accepts(database, state, finished_at=None if state in SETTLED else 1)
    assert accepts(database, state, subjects=None) == (state is not TaskState.UNKNOWN)
    assert accepts(database, state, ending="{}") == (state is TaskState.UNKNOWN)
    assert accepts(database, state, waits_until=5) == (state is TaskState.OPEN)
    assert accepts(database, state, generation=0) == (state is not TaskState.CLAIMED)
    for counter in ("attempts", "losses", "interruptions", "revision"):
        assert not accepts(database, state, **{counter: -1})
    assert not accepts(database, state, run=0)
    assert not accepts(database, state, cancel_requested=2)


def test_an_unheard_of_state_is_refused(database: Database) -> None:
    assert not accepts(database, "paused")


def reachable(state: TaskState) -> set[TaskState]:
    """Return where any number of steps of the table can lead; a transaction may save after several."""
    found = {state}
    while True:
        further = {after for (before, _), after in TASK_MACHINE.table.items() if before in found}
        if further <= found:
            return found
        found |= further


@pytest.mark.parametrize(("before", "after"), list(product(TaskState, TaskState)))
def test_the_file_refuses_what_no_steps_can_do(
    database: Database, before: TaskState, after: TaskState
) -> None:
    """C018: pair by pair; done stays done whatever the code decides."""
    insert(database, before)
    finished_at = 1 if after in SETTLED else None
    if after in reachable(before):
        assert database.change(SQL["task_change"], state=after, finished_at=finished_at) == 1
    else:
        with pytest.raises(InvariantBroken, match="done task stays done"):
            database.change(SQL["task_change"], state=after, finished_at=finished_at)


def test_a_task_has_one_live_claim(database: Database) -> None:
    """C013."""
    insert(database, "claimed")
    database.rows(SQL["claim_insert"], generation=1)
    with pytest.raises(InvariantBroken, match=r"claim\.task"):
        database.rows(SQL["claim_insert"], generation=2)
    database.run("update claim set ended = 'taken_over', ended_at = 3")
    database.rows(SQL["claim_insert"], generation=2)
