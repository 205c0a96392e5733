"""What all transition tables share: a table from (state, event) to state, and one way to apply it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Generic, TypeVar

from tenure.core.errors import InvariantBroken

S = TypeVar("S", bound=StrEnum)
E = TypeVar("E", bound=StrEnum)


class IllegalTransition(InvariantBroken):
    """An event that the table does not list reached an entity."""


class Machine(Generic[S, E]):
    """A transition table; what it does not list raises. Final states absorb by explicit entries."""

    def __init__(self, name: str, table: Mapping[tuple[S, E], S]) -> None:
        """Name the entity for messages and keep the table."""
        self.name = name
        self.table = dict(table)

    def next(self, state: S, event: E) -> S:
        """Return the state after the event, or raise `IllegalTransition` naming what is allowed."""
        found = self.table.get((state, event))
        if found is None:
            allowed = ", ".join(sorted(str(e) for s, e in self.table if s == state)) or "nothing"
            raise IllegalTransition(f"{self.name} in state {state} does not take {event}; allowed: {allowed}")
        return found

    def takes(self, state: S, event: E) -> bool:
        """Say whether the table lists the pair."""
        return (state, event) in self.table
