"""The store's own sign of life, by which takeover knows whether it may judge (D19)."""

from datetime import datetime
from typing import Protocol

from msgspec import Struct


class Pulse(Struct, frozen=True):
    """When a server last touched the store, on both of its clocks, and since when all was steady.

    `server` names the process start that wrote it: boot-time readings are compared only within one.
    """

    at: datetime
    boot_s: float
    calm_since: datetime
    server: str


class PulseRow(Protocol):
    """One row, touched by any server each second; and the store's epoch (D27)."""

    def read(self) -> Pulse | None:
        """Return the pulse, or None on a store that never had a server."""
        ...

    def write(self, pulse: Pulse) -> None:
        """Keep the pulse."""
        ...

    def epoch(self) -> int:
        """Return the store's epoch; a restored store has a higher one."""
        ...
