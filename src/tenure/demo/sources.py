"""Real input: the text files of the Python installation that runs this, and what is measured of each.

Pure reading; the same folder gives the same list and the same entries to everybody.
"""

import hashlib
import os
import sysconfig
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

SUFFIXES = frozenset({".c", ".cfg", ".h", ".py", ".pyi", ".rst", ".toml", ".txt", ".xml"})
SKIPPED = frozenset({"__pycache__", "dist-packages", "site-packages"})
"""Folders that change while others install or import."""


class Entry(msgspec.Struct, frozen=True):
    """One file: its path below the root, and what it holds."""

    path: str
    size_bytes: int
    sha256: str
    lines: int
    words: int


class Totals(msgspec.Struct, frozen=True):
    """Sums over entries, and the digest of their lines in order."""

    files: int
    lines: int
    words: int
    size_bytes: int
    digest: str


class Throttle:
    """Keeps a reader below a rate, so that it does not starve its neighbours; zero means no bound."""

    def __init__(self, bytes_per_s: float) -> None:
        """Start counting now."""
        self._rate = bytes_per_s
        self._began_s = time.monotonic()
        self._bytes = 0
        self._never = threading.Event()

    def passed(self, count: int) -> None:
        """Count what was read and wait until that much was due."""
        self._bytes += count
        if self._rate:
            self._never.wait(max(0.0, self._began_s + self._bytes / self._rate - time.monotonic()))


def installation() -> Path:
    """Return the folder of the standard library that is running."""
    return Path(sysconfig.get_paths()["stdlib"])


def sources(root: Path) -> list[str]:
    """Return the paths of all text files below a root, sorted, with forward slashes; links are left out."""
    found: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED]
        paths = (Path(folder, name) for name in files if Path(name).suffix in SUFFIXES)
        found += [path.relative_to(root).as_posix() for path in paths if not path.is_symlink()]
    return sorted(found)


def measure(root: Path, path: str) -> Entry:
    """Read one file and say what it holds; a last line without an end counts."""
    content = (root / path).read_bytes()
    lines = content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
    digest = hashlib.sha256(content).hexdigest()
    return Entry(path, len(content), digest, lines, len(content.split()))


def listing_digest(paths: Iterable[str]) -> str:
    """Name a list of paths, so that a change of it is noticed."""
    return hashlib.sha256("\n".join(paths).encode()).hexdigest()


def write_entries(entries: Sequence[Entry]) -> bytes:
    """Return entries as JSON lines."""
    return b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries)


def read_entries(content: bytes) -> list[Entry]:
    """Return the entries that were written."""
    return msgspec.json.Decoder(Entry).decode_lines(content)


def total(entries: Sequence[Entry]) -> Totals:
    """Sum up entries; the digest is that of their lines, so it names the file that holds them."""
    return Totals(
        files=len(entries),
        lines=sum(entry.lines for entry in entries),
        words=sum(entry.words for entry in entries),
        size_bytes=sum(entry.size_bytes for entry in entries),
        digest=hashlib.sha256(write_entries(entries)).hexdigest(),
    )
