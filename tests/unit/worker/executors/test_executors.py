"""The pool of executors as the runtime uses it, with real processes. C074 C103 C122."""

import asyncio
from pathlib import Path

import psutil
import pytest

from tenure.core.capability import Recovery
from tenure.core.errors import DiskFull, InvalidConfig
from tenure.ports.local import ExecutorRow
from tests.unit.worker.executors.hosting import LATE_S, Beat, House, start, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_the_first_executor_says_what_the_app_declares(house: House) -> None:
    """C074."""
    manifest = await house.executors.manifest()
    entries = {entry.name: entry for entry in manifest}
    assert entries["report"].recovery is Recovery.RESUME
    assert entries["report"].window == "none"
    assert (entries["pid"].isolation, entries["shared-pid"].isolation) == ("process", "shared")
    assert len(house.rows) == 1


async def test_identities_are_saved_before_work_and_forgotten_after_death(house: House) -> None:
    """C103 C122."""
    pid = await house.run("pid")
    assert [row.pid for row in house.rows] == [pid]
    assert house.rows[0].marker.startswith("node-1/")
    assert house.rows[0].start_time == str(house.rows[0].start_time).strip() != ""
    await house.executors.close()
    assert house.forgotten == house.rows


async def test_an_executor_whose_identity_cannot_be_saved_gets_no_work(tmp_path: Path) -> None:
    """C103 D28."""
    house = House(tmp_path)
    pids: list[int] = []

    def refuse(row: ExecutorRow) -> None:
        pids.append(row.pid)
        raise DiskFull("no room")

    house.on_save = refuse
    with pytest.raises((DiskFull, InvalidConfig)):
        await house.executors.manifest()
    assert pids
    assert not psutil.pid_exists(pids[0])
    await house.close()


async def test_warm_processes_are_used_again_one_execution_at_a_time(house: House, tmp_path: Path) -> None:
    first = await house.run("pid")
    assert await house.run("pid") == first
    started = tmp_path / "started"
    task = start(house, house.work("wait", name="w", started=str(started)))
    await until(started.exists, "it runs")
    assert await house.run("pid") != first
    house.executors.cancel("w.1")
    assert (await task).outcome == "cancelled"


async def test_shared_work_shares_a_process(house: House) -> None:
    pids = await asyncio.gather(*(house.run("shared-pid", "shared") for _ in range(20)))
    assert len(set(pids)) == 1
    assert await house.run("pid") not in pids


async def test_plain_functions_that_are_alone_run_on_the_main_thread(house: House) -> None:
    assert await house.run("main-thread") is True
    assert await house.run("main-thread", "shared") is False


async def test_async_functions_can_be_alone_too(house: House) -> None:
    first = await house.run("shared-pid")
    assert await house.run("pid") == first
    assert await house.run("shared-pid") == first


async def test_five_hundred_executions_through_one_process(house: House, beat: Beat) -> None:
    """B18: none hangs, none is lost, none is mixed with another."""
    results = await asyncio.gather(*(house.run("echo", "shared", value=number) for number in range(500)))
    assert results == list(range(500))
    assert len(house.rows) == 1
    assert beat.latest_s < LATE_S
