"""Indexing in shards: each shard leaves a file named by its content, and a last step joins them.

Nothing here knows Tenure. Running any of it again, also at the same time elsewhere, gives the same files,
which is what makes it safe to recompute.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from tenure.demo.sources import Entry, Throttle, Totals, measure, read_entries, sources, total, write_entries

Progress = Callable[[int, int], None]
"""Called with what is done and what there is."""


class Mismatch(Exception):
    """A file does not hold what its name says."""


def index_shard(
    root: Path, shard: int, shards: int, work: Path, progress: Progress, bytes_per_s: float = 0
) -> Totals:
    """Measure every file of a shard and publish its entries; return their totals."""
    paths = sources(root)[shard::shards]
    throttle = Throttle(bytes_per_s)
    entries: list[Entry] = []
    for done, path in enumerate(paths, start=1):
        entries.append(measure(root, path))
        throttle.passed(entries[-1].size_bytes)
        progress(done, len(paths))
    totals = total(entries)
    publish(work, write_entries(entries))
    publish_as(work, _pointer(shard, shards), totals.digest.encode())
    return totals


def merge_shards(shards: int, work: Path, progress: Progress) -> Totals:
    """Join the entries of all shards, publish the whole index and return its totals.

    Raises:
        FileNotFoundError: A shard has not been indexed.
        Mismatch: A shard's file was changed after it was published.
    """
    entries: list[Entry] = []
    for shard in range(shards):
        digest = (work / _pointer(shard, shards)).read_text()
        entries += read_entries(fetch(work, digest))
        progress(shard + 1, shards)
    entries.sort(key=lambda entry: entry.path)
    publish(work, write_entries(entries))
    return total(entries)


def publish(work: Path, content: bytes) -> str:
    """Keep content under its digest and return that; seen whole or not at all."""
    digest = hashlib.sha256(content).hexdigest()
    publish_as(work, digest, content)
    return digest


def publish_as(work: Path, name: str, content: bytes) -> None:
    """Write a file so that it appears whole under its name, also after a crash."""
    work.mkdir(parents=True, exist_ok=True)
    fd, temporary = tempfile.mkstemp(dir=work, prefix=".partial-")
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    Path(temporary).replace(work / name)
    folder = os.open(work, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def fetch(work: Path, digest: str) -> bytes:
    """Return content by its digest, verified."""
    content = (work / digest).read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise Mismatch(f"{work / digest} does not hold what its name says")
    return content


def _pointer(shard: int, shards: int) -> str:
    """Name the small file that says under which digest a shard's entries are kept."""
    return f"shard-{shard}-of-{shards}"
