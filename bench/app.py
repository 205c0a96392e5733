"""What the measured worker runs: nothing at all, counted, and a start that tells its moment.

The count is a byte appended to a file that the bench names, so it is made by the executors themselves.
"""

import os
import socket
import time
from pathlib import Path

from tenure import App, AsyncAttempt, Attempt, Recovery

COUNT = "BENCH_COUNT"
"""Environment setting: the file that gets one byte for each execution."""

app = App("bench")


def _counter() -> int:
    path = os.environ.get(COUNT)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if path else -1


_count_fd = _counter()


@app.capability("noop", version="1", recovery=Recovery.RECOMPUTE)
async def noop(_attempt: AsyncAttempt) -> None:
    """Do nothing, in an executor shared by many."""
    os.write(_count_fd, b".")


@app.capability("noop-alone", version="1", recovery=Recovery.RECOMPUTE)
def noop_alone(_attempt: Attempt) -> None:
    """Do nothing, in a process of its own."""
    os.write(_count_fd, b".")


@app.capability("tell", version="1", recovery=Recovery.RECOMPUTE)
async def tell(_attempt: AsyncAttempt, address: str) -> None:
    """Say when it started, by the clock that all processes of a machine share."""
    started_ns = time.monotonic_ns()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(str(started_ns).encode(), address)


def count(path: Path) -> int:
    """Return how many executions have begun."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
