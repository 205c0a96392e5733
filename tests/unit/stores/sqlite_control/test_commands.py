"""Commands to workers."""

import msgspec
import pytest

from tenure.core.command import CommandKind, CommandRow, CommandState
from tenure.core.errors import InvariantBroken
from tenure.core.instants import after
from tests.support.worker.clock import START
from tests.unit.stores.sqlite_control.making import Bench


def command(id_: str, **fields: object) -> CommandRow:
    plain = CommandRow(
        command_id=id_,
        worker_id="w1",
        instance_id="i1",
        sequence=0,
        kind=CommandKind.START,
        digest="d",
        state=CommandState.QUEUED,
        queued_at=START,
    )
    return msgspec.structs.replace(plain, **fields)


def add(bench: Bench, *rows: CommandRow) -> None:
    bench.do(lambda tx: tx.commands.add(rows))


def queued(bench: Bench, after_sequence: int = 0, limit: int = 9) -> list[str]:
    return [row.command_id for row in bench.look(lambda tx: tx.commands.queued("w1", after_sequence, limit))]


def test_a_command_comes_back_with_its_number(bench: Bench) -> None:
    """C062: the store counts; numbers only grow."""
    full = command(
        "full",
        kind=CommandKind.FIND,
        task_id="a",
        generation=3,
        token="tnr_c_x",
        body={"effects": [{"name": "charge", "params": {"cents": 2**70}}]},
        offered_at=after(START, 1.0),
    )
    add(bench, full, command("plain"))
    found = bench.do(lambda tx: tx.commands.load(["plain", "full", "nobody"]))
    assert found == {
        "full": msgspec.structs.replace(full, sequence=1),
        "plain": command("plain", sequence=2),
    }


def test_a_worker_gets_its_queued_commands_in_order(bench: Bench) -> None:
    """C115."""
    add(bench, command("b", kind=CommandKind.DRAIN), command("a"), command("other", worker_id="w2"))
    add(bench, command("void", state=CommandState.VOID), command("c", kind=CommandKind.CANCEL))
    assert queued(bench) == ["b", "a", "c"]
    assert queued(bench, limit=2) == ["b", "a"]
    assert queued(bench, after_sequence=2) == ["c"]


def test_an_answer_erases_the_token(bench: Bench) -> None:
    """D26: the file refuses to keep the token of an answered command."""
    add(bench, command("a", token="tnr_c_x"))
    row = bench.do(lambda tx: tx.commands.load(["a"]))["a"]
    kept = msgspec.structs.replace(row, state=CommandState.REJECTED, reason="capacity")
    with pytest.raises(InvariantBroken):
        bench.do(lambda tx: tx.commands.save([kept]))
    answered = msgspec.structs.replace(kept, token=None)
    bench.do(lambda tx: tx.commands.save([answered]))
    assert bench.look(lambda tx: tx.commands.load(["a"])) == {"a": answered}
    assert queued(bench) == []


def test_a_command_that_was_never_added_is_not_saved(bench: Bench) -> None:
    with pytest.raises(InvariantBroken, match="never added"):
        bench.do(lambda tx: tx.commands.save([command("a")]))


def test_an_offer_is_a_mark_of_its_own(bench: Bench) -> None:
    """D20: by the store's clock, and only while it is queued."""
    add(bench, command("a"), command("b"), command("void", state=CommandState.VOID))
    bench.clock.advance(3.0)
    bench.do(lambda tx: tx.commands.mark_offered(["a", "void"]))
    rows = bench.look(lambda tx: tx.commands.load(["a", "b", "void"]))
    assert {id_: row.offered_at for id_, row in rows.items()} == {
        "a": after(START, 3.0),
        "b": None,
        "void": None,
    }
    assert rows["a"].state is CommandState.QUEUED


def test_the_commands_about_tasks_are_those_without_an_answer(bench: Bench) -> None:
    add(bench, command("x", task_id="b"), command("y", task_id="a"), command("z", task_id="c"))
    add(bench, command("old", task_id="a", state=CommandState.ACKNOWLEDGED), command("none"))
    rows = bench.do(lambda tx: tx.commands.of_tasks({"a", "b", "nobody"}))
    assert [row.command_id for row in rows] == ["x", "y"]


def test_room_is_measured_against_starts_without_an_answer(bench: Bench) -> None:
    """D21."""
    add(bench, command("a"), command("b"), command("c", worker_id="w2"), command("d", kind=CommandKind.DRAIN))
    add(bench, command("e", state=CommandState.ACKNOWLEDGED))
    assert bench.look(lambda tx: tx.commands.unanswered()) == {"w1": 2, "w2": 1}
