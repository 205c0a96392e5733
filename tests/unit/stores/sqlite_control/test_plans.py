"""How SQLite carries the statements out: by index where it is hot, whatever the file holds."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import pytest

from tenure.stores.sqlite.control import (
    board,
    commands,
    credentials,
    facts,
    pulse,
    registry,
    selection,
    upkeep,
    verdicts,
)
from tenure.stores.sqlite.database import Database
from tenure.stores.sqlite.statements import Statement
from tests.unit.stores.sqlite_control.schema import open_migrated

PORTS = (board, selection, upkeep, registry, commands, facts, verdicts, credentials, pulse)
STATEMENTS: dict[str, Statement] = {
    field.name: getattr(port.SQL, field.name) for port in PORTS for field in fields(port.SQL)
}
SMALL = {"demand", "worker", "drain_mark", "credential", "tally", "pulse", "meta", "sqlite_sequence"}
"""Tables whose length does not grow with the work that is done."""

# What each hot statement has to find its rows by.
HOT: dict[str, tuple[str, ...]] = {
    "task_load": ("task USING INDEX sqlite_autoindex_task_1", "claim USING INDEX claim_generation"),
    "task_save": ("task USING INTEGER PRIMARY KEY",),
    "claim_renew": ("task USING INDEX sqlite_autoindex_task_1", "claim USING INDEX claim_generation"),
    "claim_save": ("claim USING INDEX claim_generation",),
    "claim_proofs": ("claim USING INDEX claim_generation",),
    "due_find": ("task USING INDEX task_ready (demand=?)",),
    "due_promote": ("task USING COVERING INDEX task_waiting (waits_until<?)",),
    "due_next": ("task USING COVERING INDEX task_waiting",),
    "alarm_move": ("claim USING INDEX claim_alarm (alarm_at<?)",),
    "lease_ended": ("claim USING INDEX claim_alarm (alarm_at<?)",),
    "start_unanswered": ("command USING INDEX command_queued",),
    "overdue_find": ("task USING INDEX task_overdue",),
    "dependent_find": ("dependency USING COVERING INDEX dependency_dependents",),
    "granted_for": ("claim USING INDEX claim_request (request_id=?)",),
    "held_by": ("claim USING INDEX claim_held",),
    "command_queued": ("command USING INDEX command_queued (worker_id=? AND sequence>?)",),
    "command_of_tasks": ("command USING INDEX command_task (task_id=?)",),
    "command_unanswered": ("command USING COVERING INDEX command_queued",),
    "session_touch": ("session USING INDEX",),
    "session_of_token": ("session USING INDEX",),
    "fact_seen": ("fact USING INDEX fact_event (event_id=?)",),
    "fact_history": ("fact USING INDEX fact_task (task_id=? AND rowid>?)",),
    "sequence_raise": ("claim USING INDEX claim_generation",),
    "effect_load": ("effect USING INDEX sqlite_autoindex_effect_1 (task_id=? AND run=?)",),
    "page_special": ("task USING INDEX task_special (state=? AND rowid<?)",),
    "page_labelled": ("task_label USING COVERING INDEX task_label_value",),
}


# A new row that others may refer to has SQLite look for those that wait for it, but only if any does.
NOT_RUN = {("demand_add", "task")}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with closing(open_migrated(tmp_path_factory.mktemp("plans"))) as opened:
        yield opened


def plan(database: Database, statement: Statement) -> list[str]:
    explained = Statement(
        statement.name,
        f"explain query plan {statement.text}",
        statement.purpose,
        statement.parameters,
    )
    values = dict.fromkeys(statement.parameters)
    return [str(row[3]) for row in database.rows(explained, **values)]


def test_all_statements_are_here() -> None:
    folder = Path(board.__file__).parent / "sql"
    files = {path.stem for path in folder.glob("*.sql")}
    assert files == {port.__name__.rpartition(".")[2] for port in PORTS}
    assert len(STATEMENTS) == sum(len(fields(port.SQL)) for port in PORTS), "a name is used in two files"


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_fits_the_schema_and_reads_no_long_table_through(database: Database, name: str) -> None:
    """P11: a million settled tasks cost nothing; the index behind a scan holds live rows only."""
    steps = plan(database, STATEMENTS[name])
    scans = [step for step in steps if step.startswith("SCAN ")]
    long = [
        step
        for step in scans
        if "VIRTUAL TABLE" not in step
        and step.split()[1] not in SMALL
        and not any(index in step for index in ("command_queued", "claim_held"))
    ]
    # What a statement itself has put together, as far as a limit allows.
    own = {"wish", "held", "clock", "fitting", "head", "candidate", "CONSTANT"}
    unexcused = [step for step in long if (name, step.split()[1]) not in NOT_RUN]
    assert [step for step in unexcused if step.split()[1] not in own] == []


@pytest.mark.parametrize("name", HOT)
def test_a_hot_statement_uses_its_index(database: Database, name: str) -> None:
    steps = plan(database, STATEMENTS[name])
    missing = [part for part in HOT[name] if not any(part in step for step in steps)]
    assert not missing, "\n".join(steps)


def test_what_is_handed_out_is_not_sorted_first(database: Database) -> None:
    """P11: the index has the order, so that a million pending tasks cost a claim nothing."""
    steps = plan(database, STATEMENTS["due_find"])
    inside = steps[: next(i for i, step in enumerate(steps) if step.startswith("SCAN head"))]
    assert not [step for step in inside if "ORDER BY" in step]


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("claim_renew", {"until", "ttl_s", "progress", "progress_number"}),
        ("session_touch", {"expires_at", "last_seen_at", "ttl_s", "room", "usage"}),
        ("command_offered", {"offered_at"}),
        ("sequence_raise", {"last_sequence"}),
    ],
)
def test_what_is_touched_often_stands_in_no_index(database: Database, name: str, columns: set[str]) -> None:
    """Renewals, heartbeats and offers move rows in no index."""
    text = STATEMENTS[name].text
    assert all(f"{column} = " in text for column in columns)
    indexed = database.run(
        """
        select info.name, index_of.name
          from sqlite_schema as index_of
          join pragma_index_info(index_of.name) as info
         where index_of.type = 'index' and index_of.tbl_name in ('claim', 'session', 'command')
        """
    )
    assert not columns & {column for column, _ in indexed}
    partial = database.run("select sql from sqlite_schema where type = 'index' and sql like '% where %'")
    conditions = " ".join(str(row[0]).partition(" where ")[2] for row in partial)
    assert not [column for column in columns if column in conditions.split()]
