"""What passes over the line of an executor, and how much of it. B27 B29 C075 C078."""

from pathlib import Path

import psutil
import pytest

from tenure.core.errors import DiskFull
from tenure.core.execution import VALUE_BYTES_MAX
from tests.unit.worker.executors.hosting import LATE_S, Answers, Beat, House

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_questions_are_answered_in_order_and_progress_goes_first(house: House) -> None:
    """C075: the newest progress is there before a checkpoint and before the end."""
    answers = Answers()
    result = await house.run("report", "process", answers)
    assert result == {"losses": 0, "generation": 1, "epoch": 1}
    assert answers.order == ["progress", "checkpoint", "find", "step", "progress"]
    assert answers.checkpoints == [({"from": None}, True)]
    assert answers.steps["read"].result == [1, 2]
    assert [made.completed for made in answers.made] == [1, 2]


async def test_an_effect_passes_through_the_ledger(house: House, tmp_path: Path) -> None:
    answers = Answers()
    assert await house.run("act", "process", answers, folder=str(tmp_path)) == "task.1.act"
    assert [ended.state for ended in answers.ended] == ["applied"]
    answers.standing = "in_doubt"
    assert await house.run("act", "process", answers, folder=str(tmp_path), find=True) == "task.1.act"
    [_, found] = answers.ended
    assert (found.state, found.result) == ("applied", "task.1.act")


async def test_a_refusal_of_the_store_reaches_the_code(house: House) -> None:
    """C078."""
    answers = Answers()
    answers.error = DiskFull("disk full")
    finished = await house.executors.run(house.work("report"), answers)
    assert finished.outcome == "failed"
    assert finished.error is not None
    assert (finished.error.type, finished.error.message) == ("StoreUnavailable", "disk full")


async def test_a_fault_of_the_runtime_is_raised_where_it_waits(house: House) -> None:
    answers = Answers()
    answers.error = ZeroDivisionError("ours")
    with pytest.raises(ZeroDivisionError):
        await house.executors.run(house.work("report"), answers)
    assert await house.run("numbers", value=2) == 4


async def test_a_flood_of_progress_is_thinned_where_it_arises(house: House, beat: Beat) -> None:
    """B27."""
    answers = Answers()
    await house.run("progress", "process", answers, times=100_000)
    assert answers.made[-1].completed == 99_999
    assert len(answers.made) < 500
    assert beat.latest_s < LATE_S


async def test_a_flood_of_questions_waits_its_turn(house: House, beat: Beat) -> None:
    answers = Answers()
    assert await house.run("ask", "shared", answers, count=3_000) == 3_000
    assert len(answers.steps) == 3_000
    assert beat.latest_s < LATE_S


async def test_a_flood_of_output_goes_past_the_supervisor(tmp_path: Path, beat: Beat) -> None:
    """B27: bytes that are no text, and a line without an end."""
    with (tmp_path / "output").open("wb") as output:
        house = House(tmp_path, output=output.fileno())
        before = psutil.Process().memory_info().rss
        await house.run("print")
        assert psutil.Process().memory_info().rss - before < 16 * 1024 * 1024
        await house.close()
    assert (tmp_path / "output").stat().st_size > 40 * 1024 * 1024
    assert beat.latest_s < LATE_S


@pytest.mark.parametrize(("size", "fits"), [(-1, True), (0, True), (1, False), (50 * 1024 * 1024, False)])
async def test_results_around_the_limit(house: House, size: int, fits: bool) -> None:
    """B29: exact where accepted, a documented failure where not; nothing hangs."""
    length = VALUE_BYTES_MAX - 2 + size
    finished = await house.executors.run(house.work("large", size=length), Answers())
    if fits:
        assert finished.result == "x" * length
        return
    assert finished.error is not None
    assert (finished.outcome, finished.error.type, finished.error.retry) == ("failed", "TooLarge", False)


async def test_integers_are_kept_exactly(house: House) -> None:
    assert await house.run("numbers", value=10**30) == 10**60


async def test_a_failure_said_on_purpose_arrives_as_such(house: House) -> None:
    finished = await house.executors.run(house.work("fail"), Answers())
    assert finished.error is not None
    assert (finished.error.type, finished.error.message, finished.error.retry) == (
        "Failed",
        "no such thing",
        False,
    )
    assert "executing.py" in finished.error.traceback
