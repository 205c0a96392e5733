"""Telling what happens, to logs, metrics and tests."""

from typing import Protocol


class Observer(Protocol):
    """Takes every event of the catalogue; must not block and must not raise. Never given a token."""

    def tell(self, name: str, **fields: object) -> None:
        """Take one event: its name from the catalogue and its fields."""
        ...
