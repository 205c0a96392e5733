"""The same answers without Tenure, in one pass of one process; what the demo compares its results with."""

import hashlib
from pathlib import Path

import msgspec

from tenure.demo.sources import Totals, measure, sources, total


class Truth(msgspec.Struct, frozen=True):
    """What the whole index must come to, and a walk over the first so many files."""

    index: Totals
    walked: int
    chain: str


def compute(root: Path, first: int | None = None) -> Truth:
    """Read everything below the root once, in order; the walk goes over the first so many files, or all."""
    entries = [measure(root, path) for path in sources(root)]
    chain = ""
    for entry in entries[:first]:
        chain = hashlib.sha256(f"{chain}{entry.path}{entry.sha256}".encode()).hexdigest()
    return Truth(total(entries), len(entries[:first]), chain)
