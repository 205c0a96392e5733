"""Walking over the sources item by item, able to continue behind any item.

Nothing here knows Tenure: a `Position` is what has to be kept to continue, and `walk` yields one after each
item.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tenure.demo.sources import Throttle, listing_digest, measure, sources


class Position(msgspec.Struct, frozen=True):
    """Where a walk stands: everything before `next_item` is in the sums and in the chain.

    `listing` names the list of items. If it is another one by the time that the walk continues, it starts
    over.
    """

    listing: str
    next_item: int = 0
    items: int = 0
    lines: int = 0
    words: int = 0
    size_bytes: int = 0
    chain: str = ""


def walk(
    root: Path,
    saved: Position | None,
    *,
    first: int | None = None,
    reads: Path | None = None,
    bytes_per_s: float = 0,
) -> Iterator[Position]:
    """Continue behind a saved position, or from the start, and yield the new position after each item.

    The first position that is yielded is the one that the walk continues from.

    Args:
        root: Folder whose files are the items.
        saved: Where an earlier walk stood.
        first: Only so many of the items, from the first on.
        reads: A file that gets a line for each item before it is read: the count from outside.
        bytes_per_s: Bound on the rate of reading.
    """
    paths = sources(root)[:first]
    listing = listing_digest(paths)
    position = (
        saved if saved is not None and saved.listing == listing else Position(listing, items=len(paths))
    )
    yield position
    throttle = Throttle(bytes_per_s)
    for path in paths[position.next_item :]:
        _note(reads, position.next_item)
        position = _after(root, path, position)
        throttle.passed((root / path).stat().st_size)
        yield position


def count_reads(reads: Path) -> dict[int, int]:
    """Return how often each item was read."""
    counts: dict[int, int] = {}
    for line in reads.read_text().splitlines():
        item = int(line.split()[0])
        counts[item] = counts.get(item, 0) + 1
    return counts


def _after(root: Path, path: str, position: Position) -> Position:
    """Return the position behind an item."""
    entry = measure(root, path)
    return Position(
        listing=position.listing,
        next_item=position.next_item + 1,
        items=position.items,
        lines=position.lines + entry.lines,
        words=position.words + entry.words,
        size_bytes=position.size_bytes + entry.size_bytes,
        chain=hashlib.sha256(f"{position.chain}{entry.path}{entry.sha256}".encode()).hexdigest(),
    )


def _note(reads: Path | None, item: int) -> None:
    """Write one line in one call, so that lines of several processes do not mix."""
    if reads is not None:
        fd = os.open(reads, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(fd, f"{item} {os.getpid()}\n".encode())
        finally:
            os.close(fd)
