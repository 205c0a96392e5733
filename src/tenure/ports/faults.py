"""Where tests strike; in production nothing happens."""

from typing import Protocol

from tenure.core.faultpoints import FaultPoint


class Faults(Protocol):
    """Reached at every durable boundary."""

    def reach(self, point: FaultPoint, subject: str = "") -> None:
        """Tell that a point is reached; may block, or never return because the process is killed."""
        ...
