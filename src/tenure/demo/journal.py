"""An append-only file of JSON lines, flushed to the disk before anybody is told.

The remote service keeps what took effect in one, so that a check can count effects from outside of Tenure.
A line that a crash has cut short was never answered; it is dropped when the file is opened again.
"""

import json
import os
from pathlib import Path
from typing import Self, cast

Record = dict[str, object]


def read_journal(path: Path) -> list[Record]:
    """Return the whole records of a journal, in order; a cut last line is not one."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    lines = content.split(b"\n")[:-1]  # what follows the last newline is empty or cut short
    return [cast("Record", json.loads(line)) for line in lines]


class Journal:
    """One open journal; `append` returns when the record is on the disk."""

    def __init__(self, path: Path) -> None:
        """Open or create the file and take up what it holds; a cut last line is removed."""
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self.records = read_journal(path)
        whole = path.read_bytes().rfind(b"\n") + 1
        os.ftruncate(self._fd, whole)
        os.fsync(self._fd)
        _flush_folder(path.parent)

    def append(self, kind: str, **fields: object) -> Record:
        """Write one record with the next number and flush it; a failure leaves its outcome open."""
        record: Record = {"number": len(self.records) + 1, "kind": kind, **fields}
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        written = os.write(self._fd, line)
        if written != len(line):
            raise OSError(f"{written} of {len(line)} bytes written to the journal")
        os.fsync(self._fd)
        self.records.append(record)
        return record

    def close(self) -> None:
        """Close the file; everything appended is already on the disk."""
        os.close(self._fd)

    def __enter__(self) -> Self:
        """Use as a context that closes the file."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()


def _flush_folder(folder: Path) -> None:
    """Flush the folder, without which a new file's name may be gone after a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
