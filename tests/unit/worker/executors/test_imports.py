"""Importing the author's module: what can go wrong, told in one line. C093."""

from pathlib import Path

import pytest

from tenure.core.errors import InvalidConfig
from tests.unit.worker.executors.hosting import Answers, House, start, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


SIMPLE = """
from tenure import App, Attempt, Recovery
app = App("changing")
@app.capability("one", recovery=Recovery.{rule})
def one(attempt: Attempt, started: str = "") -> int:
    if started:
        open(started, "w").close()
        attempt.poll(lambda: 0, until=bool, every=0.01)
    return 1
"""


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (
            "import nowhere_to_be_found",
            r"broken.py:1: ModuleNotFoundError: No module named 'nowhere_to_be_found'",
        ),
        ("1 +", r"SyntaxError: invalid syntax"),
        ("raise SystemExit(4)", r"broken.py:1: SystemExit: 4"),
        ("import os\nos._exit(5)", r"ended by itself with code 5 while it imported the app"),
        ("other = 1", r"module 'broken' has no 'app'"),
        ("app = 1", r"'broken:app' is a int and no App"),
        ("from tenure import App\napp = App('a')", r"declares no capability"),
        (
            "from tenure import App\napp = App('a')\n@app.capability('x')\ndef x(attempt): ...",
            r"broken.py:3: x: does not say what may happen to it after a crash",
        ),
    ],
)
async def test_an_app_that_cannot_be_imported_is_told_in_one_line(
    tmp_path: Path, source: str, says: str
) -> None:
    (tmp_path / "broken.py").write_text(source)
    house = House(tmp_path, "broken:app")
    with pytest.raises(InvalidConfig, match=says) as refused:
        await house.executors.manifest()
    assert "\n" not in refused.value.text
    await house.close()


KILLED = """
import os, pathlib, signal
from tenure import App, Attempt, Recovery
times = pathlib.Path({times!r})
times.write_text(times.read_text() + "x" if times.exists() else "x")
if len(times.read_text()) <= {kills}:
    os.kill(os.getpid(), signal.SIGKILL)
app = App("killed")
@app.capability("one", recovery=Recovery.RECOMPUTE)
def one(attempt: Attempt) -> int:
    return 1
"""


async def test_a_kill_during_the_first_import_is_no_fault_of_the_module(tmp_path: Path) -> None:
    """Somebody short of memory, or with a grudge, may hit the first executor as well as any other."""
    (tmp_path / "killed.py").write_text(KILLED.format(times=str(tmp_path / "times"), kills=2))
    house = House(tmp_path, "killed:app")
    assert [entry.name for entry in await house.executors.manifest()] == ["one"]
    await house.close()


async def test_a_module_that_always_gets_its_process_killed_is_told(tmp_path: Path) -> None:
    (tmp_path / "killed.py").write_text(KILLED.format(times=str(tmp_path / "times"), kills=99))
    house = House(tmp_path, "killed:app")
    with pytest.raises(InvalidConfig, match="SIGKILL"):
        await house.executors.manifest()
    assert (tmp_path / "times").read_text() == "xxx"
    await house.close()


async def test_a_module_that_is_not_there_is_told(tmp_path: Path) -> None:
    house = House(tmp_path, "nowhere.at_all:app")
    with pytest.raises(InvalidConfig, match="No module named 'nowhere'"):
        await house.executors.manifest()
    await house.close()


async def test_a_module_that_changed_under_the_worker_is_noticed(tmp_path: Path) -> None:
    """C093: nothing is executed with another meaning than what was registered."""
    module = tmp_path / "changing.py"
    module.write_text(SIMPLE.format(rule="RECOMPUTE"))
    house = House(tmp_path, "changing:app")
    task = start(house, house.work("one", name="first", started=str(tmp_path / "started")))
    await until((tmp_path / "started").exists, "it runs")
    module.write_text(SIMPLE.format(rule="QUERY     "))
    with pytest.raises(InvalidConfig, match="declares other capabilities"):
        await house.executors.run(house.work("one"), Answers())
    module.write_text("import nowhere_to_be_found")
    with pytest.raises(InvalidConfig, match="nowhere_to_be_found"):
        await house.executors.run(house.work("one"), Answers())
    house.executors.cancel("first.1")
    await task
    await house.close()


async def test_an_import_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import threading\nthreading.Event().wait(60)")
    house = House(tmp_path, "slow:app")
    house.limit_import(0.3)
    with pytest.raises(InvalidConfig, match=r"takes longer than 0.3 s"):
        await house.executors.manifest()
    await house.close()
