"""The process harness itself: readiness, signals, ends, and that nothing stays behind."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tenure.testing.processes import ProcessEnded, Processes

READY_THEN_WAIT = "import json, signal; print(json.dumps({'ready': True}), flush=True); signal.pause()"


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path / "logs") as started:
        yield started


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_process_is_ready_when_it_has_said_so(processes: Processes) -> None:
    process = processes.start("one", python("print('hello', flush=True)\n" + READY_THEN_WAIT))
    assert process.wait_ready() == {"ready": True}
    assert process.is_running
    assert process.out.read_text().startswith("hello\n")


def test_a_later_line_is_found_by_what_it_says(processes: Processes) -> None:
    code = 'print(\'{"n": 1}\\n{broken\\n{"n": 2}\', flush=True)\n' + READY_THEN_WAIT
    process = processes.start("one", python(code))
    assert process.wait_document(lambda said: said.get("n") == 2) == {"n": 2}


def test_a_process_that_ends_before_it_is_ready_fails_the_wait_with_its_logs(processes: Processes) -> None:
    process = processes.start("one", python("import sys; sys.exit('no licence')"))
    with pytest.raises(ProcessEnded, match="no licence"):
        process.wait_ready()
    assert process.wait_exit() == 1


def test_a_process_that_says_nothing_fails_the_wait_in_time(processes: Processes) -> None:
    process = processes.start("one", python("import signal; signal.pause()"))
    with pytest.raises(TimeoutError, match=r"one has not said in 0\.05 s"):
        process.wait_ready(0.05)
    with pytest.raises(TimeoutError, match="one still runs"):
        process.wait_exit(0.05)


def test_signals_end_stop_and_continue_a_process(processes: Processes) -> None:
    process = processes.start("one", python(READY_THEN_WAIT))
    process.wait_ready()
    process.pause()
    assert psutil.Process(process.pid).status() == psutil.STATUS_STOPPED
    process.go_on()
    process.terminate()
    assert process.wait_exit() == -signal.SIGTERM
    second = processes.start("one", python(READY_THEN_WAIT))
    assert second.name == "one.2"
    assert second.kill() == -signal.SIGKILL
    second.send(signal.SIGKILL)  # nothing happens to whoever has that pid now


def test_the_end_of_the_set_is_the_end_of_all_of_it(tmp_path: Path) -> None:
    spawner = (
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
    )
    with Processes(tmp_path) as processes:
        parent = processes.start("parent", python(spawner + READY_THEN_WAIT))
        parent.wait_ready()
        (child,) = parent.children()
        processes.close()
    assert not parent.is_running
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE  # where nobody reaps orphans


def test_what_outlives_the_process_that_started_it_is_ended_and_named(tmp_path: Path) -> None:
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])"
    processes = Processes(tmp_path)
    processes.start("parent", python(code)).wait_exit()
    (left,) = processes.close()
    assert "signal.pause()" in left


def test_nothing_outlives_the_test_process_however_it_dies(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from tenure.testing.processes import Processes
child = Processes(Path({str(tmp_path / "logs")!r})).start("child", {python(READY_THEN_WAIT)!r})
child.wait_ready()
print(child.pid, flush=True)
import signal; signal.pause()
"""
    test = subprocess.Popen(python(code), stdout=subprocess.PIPE, text=True)
    with test:
        assert test.stdout is not None
        child = os.pidfd_open(int(test.stdout.readline()))
        os.kill(test.pid, signal.SIGKILL)
    assert select.select([child], [], [], 10)[0], "the child is still alive"
    os.close(child)


def test_a_failure_inside_the_set_carries_the_logs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mine") as failure, Processes(tmp_path) as processes:  # noqa: PT012 - the last line raises
        processes.start("one", python(READY_THEN_WAIT)).wait_ready()
        raise ValueError("mine")
    assert "one (pid" in failure.value.__notes__[0]
