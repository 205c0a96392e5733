"""The checks are checked: each must see the fault that it is there for, in stores made by hand."""

# pyright: reportUnknownMemberType=false
# Reason: apsw's types name a `Buffer` that Python has from 3.12 on.

from pathlib import Path

import apsw
import pytest

from tests.crash.cells import Expected, Kind, Unknown
from tests.crash.invariants import Submitted, Traces, examine, judge_unknown
from tests.crash.world import World

SERVER = """
create table task (id text, state text, result text, generation integer);
create table fact (position integer primary key, task_id text, generation integer, kind text, answer text);
create table command (sequence integer primary key, command_id text, worker_id text, kind text, state text);
insert into task values ('t', 'done', '1', 1);
insert into fact values (1, 't', 1, 'claimed', null), (2, 't', 1, 'succeeded', 'accepted');
insert into command values (1, 't.1', 'one', 'start', 'acknowledged');
"""
WORKER = """
create table attempt (id text, command_id text, state text);
create table inbox (command_id text, kind text, accepted integer);
create table event (kind text, state text, reason text);
insert into attempt values ('t.1', 't.1', 'succeeded');
insert into inbox values ('t.1', 'start', 1);
insert into event values ('succeeded', 'reported', null);
"""


@pytest.fixture
def traces(tmp_path: Path) -> Traces:
    for name, script in (("server.db", SERVER), ("one.db", WORKER)):
        change(tmp_path / name, script)
    world = World(tmp_path)
    world.note("act", "t.1.act")
    return Traces(
        tmp_path / "server.db",
        {"one": tmp_path / "one.db"},
        world,
        [Submitted("t", Kind.QUERY)],
        {"t": ("done", "1")},
    )


def change(file: Path, script: str) -> None:
    connection = apsw.Connection(str(file))
    connection.execute(script).fetchall()
    connection.close()


def test_a_history_without_fault_passes(traces: Traces) -> None:
    assert examine(traces) == []


@pytest.mark.parametrize(
    ("script", "violation"),
    [
        ("delete from task", "was accepted and is lost"),
        ("update task set state = 'claimed'", "is claimed in the end"),
        ("update task set result = '2'", "was settled as ('done', '1') and is now ('done', '2')"),
        ("insert into fact values (3, 't', 1, 'claimed', null)", "generations of t were granted as [1, 1]"),
        ("update task set generation = 0", "stands at generation 0, below one granted"),
        ("insert into fact values (3, 't', 1, 'failed', 'accepted')", "accepted reports after its success"),
        ("update command set state = 'queued'", "is still queued"),
        (
            "insert into command values (2, 't.2', 'one', 'start', 'acknowledged')",
            "t.2 was acknowledged and is",
        ),
    ],
)
def test_a_fault_in_the_store_is_seen(traces: Traces, script: str, violation: str) -> None:
    change(traces.store, script)
    assert violation in "\n".join(examine(traces))


@pytest.mark.parametrize(
    ("script", "violation"),
    [
        ("insert into attempt values ('t.1', 't.1', 'failed')", "start t.1 has 2 attempts"),
        ("update attempt set state = 'running'", "left unfinished"),
        ("update event set state = 'pending'", "left unreported"),
        ("delete from attempt", "accepted 1 starts and has 0 attempts"),
    ],
)
def test_a_fault_in_a_local_store_is_seen(traces: Traces, script: str, violation: str) -> None:
    change(traces.locals["one"], script)
    assert violation in "\n".join(examine(traces))


def test_an_act_done_twice_or_never_is_seen(traces: Traces) -> None:
    traces.world.note("act", "t.1.act")
    assert "happened 2 times" in "\n".join(examine(traces))
    (traces.store.parent / "acts.jsonl").unlink()
    assert "never happened" in "\n".join(examine(traces))


def test_a_damaged_file_is_seen(traces: Traces) -> None:
    with traces.store.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 512)
    assert any("damaged" in line or "cannot be read" in line for line in examine(traces))


def test_unknown_is_judged_by_the_table() -> None:
    assert judge_unknown(Expected(Unknown.FORBIDDEN, "r"), seen=True)
    assert judge_unknown(Expected(Unknown.REQUIRED, "r"), seen=False)
    for seen in (True, False):
        assert not judge_unknown(Expected(Unknown.ALLOWED, "r"), seen)
