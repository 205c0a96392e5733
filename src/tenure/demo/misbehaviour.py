"""How the remote service misbehaves on purpose: which reply is lost or late.

Every kind of it happens after the effect was committed, which is the moment that tells good recovery from
luck.
"""

import threading
from collections import Counter
from dataclasses import dataclass
from typing import Self

OPERATIONS = ("create", "search", "status", "cancel", "charge")
"""What can be asked of the service, by the names that a misbehaviour is planned for."""


@dataclass(frozen=True)
class Misbehaviour:
    """What to do with one reply: never send it, or send it late."""

    operation: str
    nth: int
    lose: bool = False
    delay_s: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `lose:create:1` or `delay:create:2:1.5` (the second create, answered 1.5 s late)."""
        match text.split(":"):
            case ["lose", operation, nth] if operation in OPERATIONS:
                return cls(operation, int(nth), lose=True)
            case ["delay", operation, nth, seconds] if operation in OPERATIONS:
                return cls(operation, int(nth), delay_s=float(seconds))
            case _:
                raise ValueError(f"{text!r} is not lose:OPERATION:NTH or delay:OPERATION:NTH:SECONDS")


class Misconduct:
    """The plans for this run; each is used once, counted from when it was made."""

    def __init__(self) -> None:
        """Start with no plans: a well-behaved service."""
        self._guard = threading.Lock()
        self._seen: Counter[str] = Counter()
        self._plans: dict[tuple[str, int], Misbehaviour] = {}

    def plan(self, misbehaviour: Misbehaviour) -> None:
        """Have the nth reply to this operation from now on go wrong."""
        with self._guard:
            nth = self._seen[misbehaviour.operation] + misbehaviour.nth
            self._plans[misbehaviour.operation, nth] = misbehaviour

    def next_of(self, operation: str) -> Misbehaviour | None:
        """Count one request of this operation and return what is to happen to its reply."""
        with self._guard:
            self._seen[operation] += 1
            return self._plans.pop((operation, self._seen[operation]), None)
