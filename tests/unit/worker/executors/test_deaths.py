"""Executors that die, hang or will not end: one attempt pays, and nobody else notices. B04 B18 B26 C122."""

import asyncio
import os
import signal
from pathlib import Path
from typing import cast

import psutil
import pytest

from tenure.core.errors import Unavailable
from tests.unit.worker.executors.hosting import LATE_S, Answers, Beat, House, died, start, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def test_code_that_holds_the_interpreter_disturbs_nobody(house: House, beat: Beat) -> None:
    """B04: the loop beats on, also while deadlines are sent to a process that cannot read them."""
    task = start(house, house.work("gil", name="held", seconds=2))
    async with asyncio.timeout(20):
        while not task.done():
            for _ in range(1_000):
                house.executors.lease_moved("held.1", 1.0)
            assert await house.run("numbers", value=3) == 9
    assert (await task).result == "held"
    assert beat.latest_s < LATE_S


async def test_a_segfault_costs_one_attempt(house: House) -> None:
    death = await died(start(house, house.work("segfault")))
    assert (death.alone, death.signal, death.cause) == (True, signal.SIGSEGV, "executor_died")
    assert "SIGSEGV" in str(death)
    assert await house.run("numbers", value=2) == 4


@pytest.mark.parametrize(
    ("capability", "given", "number"), [("signal", {"number": 9}, 9), ("leave", {"code": 3}, None)]
)
async def test_a_death_is_told_with_its_signal(
    house: House, capability: str, given: dict[str, object], number: int | None
) -> None:
    """B26: an end by itself is a death too, whatever its code."""
    death = await died(start(house, house.work(capability, given=given)))
    assert (death.alone, death.signal) == (True, number)


async def test_neighbours_of_a_death_are_not_alone_and_go_on_by_themselves(
    house: House, tmp_path: Path
) -> None:
    started = tmp_path / "started"
    neighbour = house.work("sleep", "shared", name="n", started=str(started))
    task = start(house, neighbour)
    await until(started.exists, "the neighbour runs")
    death = await died(start(house, house.work("segfault", "shared")))
    assert not death.alone
    assert not (await died(task)).alone
    assert await house.run("echo", "shared", value=1) == 1


async def test_what_is_deaf_is_killed_and_shown_dead(house: House, tmp_path: Path) -> None:
    """B10 C121."""
    started = tmp_path / "started"
    task = start(house, house.work("deaf", name="d", started=str(started)))
    await until(started.exists, "it runs")
    house.executors.cancel("d.1")
    await house.executors.kill("d.1")
    assert not psutil.pid_exists(int(started.read_text()))
    assert (await died(task)).signal == signal.SIGKILL


async def test_a_paused_executor_is_killed_all_the_same(house: House, tmp_path: Path) -> None:
    started = tmp_path / "started"
    task = start(house, house.work("deaf", name="d", started=str(started)))
    await until(started.exists, "it runs")
    os.kill(int(started.read_text()), signal.SIGSTOP)
    await house.executors.kill("d.1")
    assert (await died(task)).alone


async def test_giving_up_a_run_kills_and_waits_until_it_is_shown_dead(house: House, tmp_path: Path) -> None:
    """The contract of the port; C104."""
    started = tmp_path / "started"
    task = start(house, house.work("deaf", started=str(started)))
    await until(started.exists, "it runs")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not psutil.pid_exists(int(started.read_text()))


async def test_a_kill_before_the_code_began_executes_nothing(house: House, tmp_path: Path) -> None:
    busy = start(house, house.work("wait", name="b", started=str(tmp_path / "b")))
    early = start(house, house.work("wait", name="w", started=str(tmp_path / "w")))
    await asyncio.sleep(0)
    await house.executors.kill("w.1")
    assert (await died(early)).alone
    assert not (tmp_path / "w").exists()
    house.executors.cancel("b.1")
    await busy


async def test_what_it_started_in_its_session_ends_with_it(house: House, tmp_path: Path) -> None:
    """B26: nobody goes on in its name."""
    started = tmp_path / "started"
    await died(start(house, house.work("offspring", started=str(started))))
    program = int(started.read_text())
    await until(lambda: is_gone(program), "the program is gone")


async def test_what_a_dead_executor_had_handed_in_is_saved_before_its_death_is_told(
    house: House, tmp_path: Path
) -> None:
    answers = Answers()
    answers.gate = asyncio.Event()
    task = start(house, house.work("report", name="r"), answers)
    await until(lambda: "checkpoint" in answers.order, "it saves")
    kill = asyncio.create_task(house.executors.kill("r.1"))
    await kill
    assert not task.done()
    answers.gate.set()
    await died(task)
    assert answers.checkpoints == [({"from": None}, True)]


async def test_a_question_that_nobody_waits_for_any_more_is_given_up(house: House, tmp_path: Path) -> None:
    answers = Answers()
    answers.gate = asyncio.Event()
    task = start(house, house.work("act", name="a", folder=str(tmp_path)), answers)
    await until(lambda: answers.asked, "it asks")
    await house.executors.kill("a.1")
    await died(task)


async def test_an_exit_in_a_task_of_the_authors_own_does_not_end_the_executor(house: House) -> None:
    """C060."""
    pid = await house.run("shared-pid", "shared")
    assert await house.run("exit", "shared") == "still here"
    assert await house.run("shared-pid", "shared") == pid


async def test_an_executor_holds_no_database_and_its_children_hold_neither_line_nor_lock(
    house: House, tmp_path: Path
) -> None:
    """B18 C122."""
    database = os.open(tmp_path / "local.db", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(database, True)
    await house.run("pid")
    other = House(tmp_path)
    held = cast("dict[str, list[str]]", await other.run("descriptors"))
    assert not any(path.endswith(".db") for path in held["own"])
    assert any(path.endswith("executors.lock") for path in held["own"])
    for kind in ("child", "fork"):
        assert not any("executors.lock" in path for path in held[kind])
    assert sum("socket:" in path for path in held["own"]) == 1
    assert not any("socket:" in path for path in held["fork"])
    os.close(database)
    await other.close()


async def test_closing_ends_idle_and_busy_ones(tmp_path: Path) -> None:
    house = House(tmp_path)
    task = start(house, house.work("deaf", started=str(tmp_path / "d")))
    await until((tmp_path / "d").exists, "it runs")
    pids = [
        int((tmp_path / "d").read_text()),
        await house.run("pid"),
        await house.run("shared-pid", "shared"),
    ]
    assert isinstance(pids[1], int)
    await house.executors.close()
    await died(task)
    assert not any(psutil.pid_exists(int(str(pid))) for pid in pids)
    assert house.forgotten
    with pytest.raises(Unavailable):
        await house.executors.run(house.work("pid"), Answers())
    house.lock.close()


async def test_an_executor_that_loses_its_line_ends(house: House, tmp_path: Path) -> None:
    """C122: also where the kernel does not kill children with their parent."""
    started = tmp_path / "started"
    task = start(house, house.work("deaf", name="d", started=str(started)))
    await until(started.exists, "it runs")
    house.executors._placed["d.1"].line.close()
    death = await died(task)
    assert death.signal is None
