"""Ends every process of a set when the process that started them is gone; run by path, on its own.

    python guard.py MARK

It reads standard input, a pipe that nobody else holds, until its end: the kernel closes it whatever the
starter died of. Members are found by a mark in their environment, so none has to be announced and none that
was started in the last moment is missed. It imports nothing of Tenure.
"""

import os
import sys
import time
from collections.abc import Iterator

import psutil

MARK = "TENURE_PROCESS_SET"
"""Name of the environment setting that all members of a set inherit."""

ROUNDS_MAX = 250
"""Bound: a member may start another while it is being killed, but not for ever."""

QUIET_ROUNDS = 3
"""A process in the middle of its exec shows no environment for a moment; so one empty look proves nothing."""

ROUND_S = 0.02
"""Bound on the wait for the dead of one round; where nobody reaps orphans, they stay as zombies."""


def members(mark: str) -> Iterator[psutil.Process]:
    """Find the living processes that carry the mark, apart from this one."""
    for process in psutil.process_iter():
        try:
            marked = process.environ().get(MARK) == mark
            if marked and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                yield process
        except (psutil.Error, OSError):
            continue  # gone meanwhile, or another user's


def kill_members(mark: str) -> dict[int, str]:
    """Kill until none is left, and say which there were, by pid with their command lines."""
    killed: dict[int, str] = {}
    quiet = 0
    for _ in range(ROUNDS_MAX):
        found = list(members(mark))
        for process in found:
            try:
                killed[process.pid] = " ".join(process.cmdline())
                process.kill()
            except psutil.Error:
                continue  # it ended by itself
        quiet = 0 if found else quiet + 1
        if quiet == QUIET_ROUNDS:
            break
        if quiet:
            time.sleep(ROUND_S)  # noqa: TID251 - an exec under way gives no sign to wait for
        psutil.wait_procs(found, timeout=ROUND_S)
    return killed


def main() -> None:
    """Wait for the end of the starter, then kill what it left."""
    while sys.stdin.buffer.read(1):
        pass
    kill_members(sys.argv[1])


if __name__ == "__main__":
    main()
