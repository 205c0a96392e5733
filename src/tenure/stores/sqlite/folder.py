"""A state folder and its one owner: private, on a local disk, locked until the owning process dies (D29)."""

import os
import re
import stat
from pathlib import Path
from typing import Self

from tenure.core.errors import InvalidConfig
from tenure.stores.sqlite.owner import take_lock

LOCK_NAME = "owner.lock"

_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")

# Their locks do not surely end with the process, and SQLite's shared memory does not reach across machines.
_KERNEL = {
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "ocfs2",
    "smb3",
    "vboxsf",
}
_FUSE = {"ceph", "davfs2", "gcsfuse", "glusterfs", "goofys", "juicefs", "rclone", "s3fs", "sshfs"}
NETWORK_FILE_SYSTEMS = frozenset(_KERNEL | {f"fuse.{name}" for name in _FUSE})


class StateFolder:
    """A folder that this process owns until it closes it or dies."""

    def __init__(self, path: Path, lock: int) -> None:
        """Keep the locked descriptor; `own` is the way to get one."""
        self.path = path
        self._lock = lock

    @classmethod
    def own(cls, path: Path) -> Self:
        """Make the folder if it is not there, check it, and take its lock.

        The kernel holds the lock for this process's descriptor, which no program that it starts inherits; so
        the lock ends with the process, however that ends, and a file left behind means nothing.

        Raises:
            InvalidConfig: Another process owns the folder, another user does, others may enter it, or it is
                on a network file system. Nothing in it was changed.
        """
        path = path.absolute()
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_privacy(path)
            _check_file_system(path)
            return cls(path, take_lock(path / LOCK_NAME, f"state folder {path}", other="folder"))
        except OSError as error:
            raise InvalidConfig(f"state folder {path} cannot be used: {error.strerror}") from error

    def close(self) -> None:
        """Give the folder up."""
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def file_system_of(path: Path, mounts: str) -> str:
    """Return the type of the file system under a resolved path, read from the kernel's table of mounts."""
    found, length = "", -1
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        point = Path(_ESCAPED.sub(lambda match: chr(int(match[1], 8)), before.split()[4]))
        # A later mount on the same point hides the earlier one.
        if path.is_relative_to(point) and len(point.parts) >= length:
            found, length = after.split()[0], len(point.parts)
    return found


def _check_privacy(path: Path) -> None:
    status = path.stat()
    if status.st_uid != os.geteuid():
        raise InvalidConfig(
            f"state folder {path} belongs to user {status.st_uid}, not to {os.geteuid()}; use another folder"
        )
    if others := stat.S_IMODE(status.st_mode) & 0o077:
        raise InvalidConfig(
            f"state folder {path} is open to other users (…{others:02o}); run: chmod 700 '{path}'"
        )


def _check_file_system(path: Path) -> None:
    if not _MOUNTS.exists():
        return  # only Linux says where a folder is; elsewhere the documentation has to
    found = file_system_of(path.resolve(), _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape"))
    if found in NETWORK_FILE_SYSTEMS:
        raise InvalidConfig(
            f"state folder {path} is on {found}, a network file system; use a folder on a local disk"
        )
