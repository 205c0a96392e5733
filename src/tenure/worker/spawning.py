"""Starting a child process that shares this process's fate, and telling its end for certain.

Nothing runs between fork and exec (B18). The child itself asks the kernel to be killed with its parent, which
means with the thread that started it: so only the main thread may start one.
"""

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from tenure.core.errors import InvariantBroken
from tenure.worker.processes import start_time_of

_CAN_LEAVE_UNREAPED: Final = hasattr(os, "waitid")  # macOS has it from Python 3.13 on
_VMSTAT: Final = Path("/proc/vmstat")
_CGROUP: Final = Path("/proc/self/cgroup")
_CGROUPS: Final = Path("/sys/fs/cgroup")


class Exit(Struct, frozen=True):
    """How a process ended; neither a code nor a signal: the kernel did not say (SIGCHLD is ignored)."""

    code: int | None = None
    signal: int | None = None
    out_of_memory: bool = False

    @property
    def cause(self) -> str:
        """The word that a `lost` event has for it."""
        return "out_of_memory" if self.out_of_memory else "executor_died"

    def __str__(self) -> str:
        """Say it in words."""
        if self.out_of_memory:
            return "was killed because the machine ran out of memory"
        if self.signal is not None:
            with suppress(ValueError):
                return f"was killed by signal {self.signal} ({signal.Signals(self.signal).name})"
            return f"was killed by signal {self.signal}"
        if self.code is not None:
            return f"ended by itself with code {self.code}"
        return "ended, and nobody can say how"


class Child:
    """A child process in a session of its own; `gone` resolves when it is shown dead.

    With it end the processes that it started in its session, so that nobody goes on in its name.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        output: int,
        descriptors: Sequence[int],
    ) -> None:
        """Start it; it inherits these descriptors and no others.

        Raises:
            OSError: The machine cannot start a process now.
        """
        if threading.current_thread() is not threading.main_thread():
            raise InvariantBroken("an executor is started from the main thread, whose death ends it")
        self._loop = asyncio.get_running_loop()
        self._kills_before = _out_of_memory_kills()
        self._was_killed = False
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(environment),
            pass_fds=tuple(descriptors),
            start_new_session=True,
        )
        self.pid = self._process.pid
        # Not reaped before `_ended`, so the pid is its own until then, even if it has ended already.
        self.start_time = start_time_of(self.pid) or ""
        self.gone: asyncio.Future[Exit] = self._loop.create_future()
        self._watch()

    def kill(self) -> None:
        """Kill it and its session; what is gone stays gone."""
        if not self.gone.done():
            self._was_killed = True
            self._kill_session()

    def _kill_session(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _watch(self) -> None:
        try:
            self._held = os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # macOS, or a kernel before 5.3
            threading.Thread(target=self._wait, name=f"wait-{self.pid}", daemon=True).start()
            return
        self._loop.add_reader(self._held, self._noticed)

    def _noticed(self) -> None:
        self._loop.remove_reader(self._held)
        os.close(self._held)
        self._ended()

    def _wait(self) -> None:
        if _CAN_LEAVE_UNREAPED:
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._process.wait()
        with suppress(RuntimeError):  # the loop has been closed: nobody asks any more
            self._loop.call_soon_threadsafe(self._ended)

    def _ended(self) -> None:
        if _CAN_LEAVE_UNREAPED:
            # 1. How it ended, without reaping it: its pid still names its session.
            found = self._status()
            # 2. What it has left in its session ends before anybody acts on its death.
            self._kill_session()
            # 3. Reap it; from here on the pid may be anybody's.
            self._process.wait()
        else:
            code = self._process.wait()
            found = Exit(code=code) if code >= 0 else Exit(signal=-code)
        if not self.gone.done():
            self.gone.set_result(found)

    def _status(self) -> Exit:
        try:
            status = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            return Exit()  # Python would call that 0; an unknown status is never success (B26)
        if status is None:
            return Exit()
        if status.si_code == os.CLD_EXITED:
            return Exit(code=status.si_status)
        starved = status.si_status == signal.SIGKILL and not self._was_killed and self._is_starved()
        return Exit(signal=status.si_status, out_of_memory=starved)

    def _is_starved(self) -> bool:
        """Say whether the kernel has killed for memory since the start; more cannot be known."""
        now = _out_of_memory_kills()
        return now is not None and self._kills_before is not None and now > self._kills_before


def _out_of_memory_kills() -> int | None:
    """Return how often the kernel has killed for memory: in our own control group, else on the machine."""
    with suppress(OSError, ValueError, StopIteration):
        group = next(line for line in _CGROUP.read_text().splitlines() if line.startswith("0::"))
        return _counter(_CGROUPS / group[4:] / "memory.events")
    with suppress(OSError, ValueError, StopIteration):
        return _counter(_VMSTAT)
    return None


def _counter(path: Path) -> int:
    return next(
        int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith("oom_kill ")
    )
