"""Delays after failures: the sender's 1, 2, 4 … 30 seconds, and a task's between its tries.

Jitter is an argument in [0, 1), drawn by the caller, so that the same inputs give the same delay.
"""

from msgspec import Struct

SENDER_S_MAX = 30.0


class Backoff(Struct, frozen=True, forbid_unknown_fields=True):
    """How long a task waits between failed tries: initial, times factor each, at most max."""

    initial_s: float = 1.0
    factor: float = 2.0
    max_s: float = 300.0

    def delay_s(self, failures: int, jitter: float) -> float:
        """Return the wait after so many failed tries (1 or more), half of it jittered, within the cap."""
        exponent = min(max(failures - 1, 0), 64)  # Bound: a float overflows long after any cap is reached
        full = min(self.initial_s * self.factor**exponent, self.max_s)
        return full * (0.5 + 0.5 * jitter)


def sender_delay_s(failures: int) -> float:
    """Return the sender's delay after so many consecutive failures: 1, 2, 4, 8, 16, 30, 30 … C083."""
    return min(2.0 ** min(max(failures - 1, 0), 6), SENDER_S_MAX)


def jittered_s(delay_s: float, jitter: float) -> float:
    """Return the delay with full jitter upwards from half, never beyond it (B31)."""
    return delay_s * (0.5 + 0.5 * jitter)
