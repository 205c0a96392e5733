"""Telling code to stop, plain and awaited. C058."""

import asyncio
import time
from pathlib import Path

import pytest

from tenure.app.loop import EARLY_S
from tests.unit.worker.executors.hosting import Answers, House, start, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_a_cancel_reaches_plain_code_where_it_asks(house: House, tmp_path: Path) -> None:
    """C058."""
    started = tmp_path / "started"
    task = start(house, house.work("wait", name="w", started=str(started)))
    await until(started.exists, "it runs")
    house.executors.cancel("w.1")
    assert (await task).outcome == "cancelled"


@pytest.mark.parametrize("isolation", ["shared", "process"])
async def test_a_cancel_ends_async_code_where_it_waits(house: House, tmp_path: Path, isolation: str) -> None:
    started = tmp_path / "started"
    given = house.work(
        "sleep", "process" if isolation == "process" else "shared", name="s", started=str(started)
    )
    task = start(house, given)
    await until(started.exists, "it runs")
    house.executors.cancel("s.1")
    assert (await task).outcome == "cancelled"
    assert await house.run("echo", "shared", value=1) == 1


async def test_a_cancel_before_the_code_began_reaches_it(house: House, tmp_path: Path) -> None:
    busy = start(house, house.work("wait", name="b", started=str(tmp_path / "b")))
    early = start(house, house.work("wait", name="w", started=str(tmp_path / "w")))
    await asyncio.sleep(0)
    house.executors.cancel("w.1")
    assert (await early).outcome == "cancelled"
    house.executors.cancel("b.1")
    await busy


async def test_a_cancelled_effect_is_ended_first(house: House, tmp_path: Path) -> None:
    """C058: shielded until its outcome is saved."""
    started, go_on, answers = tmp_path / "started", tmp_path / "go", Answers()
    work = house.work("act-async", "shared", name="a", started=str(started), go_on=str(go_on))
    task = start(house, work, answers)
    await until(started.exists, "it acts")
    house.executors.cancel("a.1")
    thrown = time.monotonic() + EARLY_S + 0.2
    await until(lambda: time.monotonic() > thrown, "the cancel is thrown")
    assert not task.done()
    go_on.touch()
    assert (await task).outcome == "cancelled"
    assert [ended.state for ended in answers.ended] == ["applied"]


async def test_a_stop_is_told_and_code_decides_for_itself(house: House, tmp_path: Path) -> None:
    task = start(house, house.work("wait", started=str(tmp_path / "w")))
    await until((tmp_path / "w").exists, "it runs")
    house.executors.stop()
    assert (await task).result == "stopping"
    assert await house.run("wait", started=str(tmp_path / "later")) == "stopping"
