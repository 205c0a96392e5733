"""The same answers without Tenure, in one pass of one process; what the demo compares its results with."""

import hashlib
from pathlib import Path

import msgspec

from tenure.demo.sources import Totals, measure, sources, total


class Truth(msgspec.Struct, frozen=True):
    """What the whole index and the whole walk must come to."""

    index: Totals
    chain: str


def compute(root: Path) -> Truth:
    """Read everything below the root once, in order."""
    entries = [measure(root, path) for path in sources(root)]
    chain = ""
    for entry in entries:
        chain = hashlib.sha256(f"{chain}{entry.path}{entry.sha256}".encode()).hexdigest()
    return Truth(total(entries), chain)
