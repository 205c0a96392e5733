"""The room left on the disk: a probe before each commit, and a reserve to give up when it is full (D28).

A full disk found before a commit is a known thing: nothing happened, and the work can wait. Found by the
commit itself it is an unknown outcome and ends the process, hence the probe. The reserve is what final states
are written into when everything else has to wait.
"""

import os
from pathlib import Path

from tenure.core.errors import DiskFull

RESERVE_NAME = "reserve"
RESERVE_BYTES = 16 * 2**20
FLOOR_BYTES = 4 * 2**20  # one group of commits and the log's index fit in it with room to spare


class Space:
    """The room on the disk under one folder."""

    def __init__(
        self, folder: Path, *, reserve_bytes: int = RESERVE_BYTES, floor_bytes: int = FLOOR_BYTES
    ) -> None:
        """Look at a folder; nothing is written until `hold` is called."""
        self._folder = folder
        self._reserve = folder / RESERVE_NAME
        self._reserve_bytes = reserve_bytes
        self._floor_bytes = floor_bytes

    def free_bytes(self) -> int:
        """Return how much this process may still write under the folder."""
        status = os.statvfs(self._folder)
        return status.f_bavail * status.f_frsize

    def is_full(self) -> bool:
        """Whether so little is left that no commit may be tried."""
        return self.free_bytes() < self._floor_bytes

    def require(self) -> int:
        """Return the free bytes, or raise `DiskFull` if they are too few; asked before each commit."""
        if (free := self.free_bytes()) < self._floor_bytes:
            raise DiskFull(
                f"the disk under {self._folder} is full: {free // 1024} KiB left; free space", reason="full"
            )
        return free

    @property
    def is_held(self) -> bool:
        """Whether the reserve is there, with blocks behind all its bytes."""
        try:
            status = self._reserve.stat()
        except FileNotFoundError:
            return False
        return status.st_size >= self._reserve_bytes and status.st_blocks * 512 >= self._reserve_bytes

    def hold(self) -> bool:
        """Make the reserve, unless that alone would fill the disk; say whether it is there now.

        Call it at the start, and again from time to time after a release: it is made once that leaves twice
        the floor.
        """
        if self.is_held:
            return True
        if self.free_bytes() < self._reserve_bytes + 2 * self._floor_bytes:
            return False
        descriptor = os.open(self._reserve, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, self._reserve_bytes)
        except OSError:
            self.release()
        finally:
            os.close(descriptor)
        return self.is_held

    def release(self) -> None:
        """Give the reserve up, so that final states can be written although the disk is full."""
        self._reserve.unlink(missing_ok=True)
