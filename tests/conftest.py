"""What holds for every test: asyncio is the one back end, and nothing that a test started outlives it."""

import os
import signal
import time
from collections.abc import Iterator
from uuid import uuid4

import psutil
import pytest

RUN_MARK = "TENURE_TEST_RUN"
LEAVING_S = 5.0  # Bound: how long a process that was told to end may take after the last test
NOT_OURS = "multiprocessing.resource_tracker"  # Ends with its parent, by design


@pytest.fixture(scope="session", autouse=True)
def interrupts_are_heard() -> None:
    """Undo what a shell does to what it runs in the background: it has Ctrl-C ignored, by children too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run async tests on asyncio, the only back end that is promised."""
    return "asyncio"


def processes_of(mark: str) -> dict[psutil.Process, str]:
    """Find what this run started, with its command: children, and whatever carries the mark."""
    found: dict[psutil.Process, str] = {}
    children = psutil.Process().children(recursive=True)
    for process in psutil.process_iter():
        try:
            ours = process in children or process.environ().get(RUN_MARK) == mark
            command = " ".join(process.cmdline())
            if ours and process.status() != psutil.STATUS_ZOMBIE and NOT_OURS not in command:
                found[process] = command
        except psutil.Error:
            continue  # It has ended meanwhile, or belongs to another user and so is none of ours
    return found


@pytest.fixture(scope="session", autouse=True)
def no_process_is_left() -> Iterator[None]:
    """Mark every process that this run starts by its environment, and fail if one is left at the end.

    A parent id would not do: an orphan of a killed supervisor has another one. The mark survives that, and a
    test process's own environment, read from the kernel, is the one it was started with, without the mark.
    """
    mark = str(uuid4())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(RUN_MARK, mark)
        yield
    until = time.monotonic() + LEAVING_S
    while (left := processes_of(mark)) and time.monotonic() < until:
        psutil.wait_procs(list(left), timeout=0.1)
    for process in left:
        process.kill()  # It is ours, and would disturb whoever runs next
    if left:
        lines = "\n".join(f"{process.pid} {command}" for process, command in left.items())
        pytest.fail(f"process {os.getpid()} left these running:\n{lines}")
