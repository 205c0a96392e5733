"""Small private files: written whole or not at all, readable by their owner alone."""

import contextlib
import os
from pathlib import Path

PRIVATE = 0o600
SIZE_MAX = 64 * 1024  # Bound: what is read of such a file


def write_private(path: Path, text: str) -> None:
    """Put the text in place in one step, durably; a reader sees the old text or the new one.

    1. Write beside it, for the owner alone. A crash here leaves a file that the next writing replaces.
    2. Flush it, then rename. A crash between leaves the old text.
    3. Flush the folder. Only then is the name durable.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(
        beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE
    )
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), PRIVATE)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    _flush_folder(path.parent)


def read_private(path: Path) -> str | None:
    """Return the text, or None if there is no such file; what others could read is closed to them first.

    Raises:
        OSError: It is there and cannot be read, or is a link.
        UnicodeDecodeError: It holds no text.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, PRIVATE)
        return file.read(SIZE_MAX).decode()


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
