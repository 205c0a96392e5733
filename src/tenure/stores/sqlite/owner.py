"""A file's lock that the kernel holds for one process until that process dies, however it dies."""

import contextlib
import fcntl
import os
from collections.abc import Generator
from pathlib import Path

from tenure.core.errors import InvalidConfig


def take_lock(path: Path, owned: str, *, other: str) -> int:
    """Lock a file, made if it is not there, and return the descriptor that holds the lock.

    No program that this process starts inherits the descriptor; so the lock ends with the process, and a file
    left behind means nothing.

    Args:
        path: The file; what stands in it is only for the message that a second owner gets.
        owned: What is owned by it, as that message names it.
        other: What the second owner may use instead, as in `folder`.

    Raises:
        InvalidConfig: Another process holds it.
        OSError: The file cannot be opened or locked.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    except BlockingIOError:
        owner = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        os.close(descriptor)
        raise InvalidConfig(
            f"{owned} is in use by process {owner or 'unknown'}; stop it or use another {other}"
        ) from None
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


@contextlib.contextmanager
def served_by_one(store_path: Path) -> Generator[None]:
    """Keep a store for one server as long as the block runs; its lock file stays behind.

    The file itself lets several processes write. But a server wakes those who wait on it, counts its calm and
    says where it answers for itself alone: beside a second one, workers would wait for what the other took.

    Raises:
        InvalidConfig: Another server has the store, or the lock file cannot be made.
    """
    path = store_path.resolve()
    try:
        descriptor = take_lock(path.with_name(f"{path.name}.lock"), f"store {store_path}", other="store")
    except OSError as error:
        raise InvalidConfig(f"{store_path} cannot be used: {error.strerror}") from error
    try:
        yield
    finally:
        os.close(descriptor)
