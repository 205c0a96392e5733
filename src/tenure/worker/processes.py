"""Process identities, kills by identity alone, and the proof that no executor is left.

A pid means nothing by itself: it is compared with the start time and the boot id before every signal (C103).
What proves an end is the kernel: a waited-for child, or an exclusive lock that every executor holds shared.

Contracts: C103, C104, C122.
"""

import fcntl
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import psutil

from tenure.ports.local import ExecutorRow
from tenure.ports.observer import Observer

MARKER: Final = "TENURE_EXECUTOR"
"""The environment setting of an executor and of what it starts, by which leftovers are found."""

PROOF_S: Final = 5.0  # Bound: how long killed executors may take to be gone
_LOOK_S: Final = 0.01
_START_TIME: Final = 19  # of the fields behind the command's name in /proc/PID/stat


def start_time_of(pid: int) -> str | None:
    """Return when a process started, in the kernel's own figures; None: there is none, or it has ended."""
    if sys.platform == "linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] in ("Z", "X") else fields[_START_TIME]
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else repr(process.create_time())
    except psutil.NoSuchProcess:
        return None


def kill_identified(row: ExecutorRow, boot_id: str) -> bool:
    """Kill the process if it is still the one that was remembered; say whether it was. C103."""
    if row.boot_id != boot_id or start_time_of(row.pid) != row.start_time:
        return False
    if sys.platform != "linux":
        with suppress(ProcessLookupError):
            os.kill(row.pid, signal.SIGKILL)
        return True
    try:
        held = os.pidfd_open(row.pid)
    except ProcessLookupError:
        return False
    try:
        # Compared again with the process held: the pid may have changed hands since the first look.
        if start_time_of(row.pid) != row.start_time:
            return False
        signal.pidfd_send_signal(held, signal.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        os.close(held)
    return True


def kill_marked(markers: Iterable[str]) -> int:
    """Kill what executors with these markers have started and left behind, and say how much that was."""
    wanted = set(markers)
    killed = 0
    for process in psutil.process_iter() if wanted else ():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARKER) in wanted and process.status() != psutil.STATUS_ZOMBIE:
                process.kill()  # psutil compares the start time first
                killed += 1
    return killed


class ExecutorsLock:
    """The file `executors.lock` of a state folder; each executor holds it shared through what it inherits."""

    def __init__(self, path: Path, *, node_id: str, boot_id: str, observer: Observer) -> None:
        """Open the file; nothing is locked yet."""
        self._path = path
        self._node_id = node_id
        self._boot_id = boot_id
        self._observer = observer
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._is_shared = False

    @property
    def node_id(self) -> str:
        """The machine that executors are started on; part of their markers."""
        return self._node_id

    @property
    def boot_id(self) -> str:
        """This boot of it; part of their identities."""
        return self._boot_id

    def share(self) -> int:
        """Hold the lock shared, and return the descriptor that an executor inherits.

        Raises:
            OSError: Another process holds it exclusively.
        """
        if not self._is_shared:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            self._is_shared = True
        return self._descriptor

    async def none_left(self, rows: Sequence[ExecutorRow]) -> bool:
        """Kill the executors of earlier supervisors, and say whether it is proved that none is left.

        The proof is the exclusive lock, which the kernel gives only when every executor of this folder is
        gone, also one that was started and not remembered. On another machine nothing is proved: those that
        were started there may still act.
        """
        here = [row for row in rows if row.marker.startswith(f"{self._node_id}/")]
        await anyio.to_thread.run_sync(self._kill, here)
        is_held = await self._take_exclusively()
        self._is_shared = False
        self.share()
        if not is_held:
            self._observer.tell("executors.left", lock=str(self._path))
        elsewhere = len(rows) - len(here)
        if elsewhere:
            self._observer.tell("executors.elsewhere", count=elsewhere)
        return is_held and not elsewhere

    def close(self) -> None:
        """Let go of the file; executors that still live keep the lock."""
        os.close(self._descriptor)

    def _kill(self, rows: Sequence[ExecutorRow]) -> None:
        for row in rows:
            if kill_identified(row, self._boot_id):
                self._observer.tell("executor.found", pid=row.pid)
        left = kill_marked(row.marker for row in rows if row.boot_id == self._boot_id)
        if left:
            self._observer.tell("executor.leftovers", count=left)

    async def _take_exclusively(self) -> bool:
        """Take the lock as soon as the last holder is gone; said is only whether that was in time."""
        with anyio.move_on_after(PROOF_S):
            while True:
                try:
                    fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    # Why not a blocking call: it cannot be given up when a holder cannot be killed.
                    await anyio.sleep(_LOOK_S)
                else:
                    return True
        return False
