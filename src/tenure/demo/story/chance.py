"""Chance that can be repeated: numbers drawn from a seed, the same for the same seed on every machine."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """Draws from a seed; each draw is named, so that one more draw elsewhere changes no other."""

    def __init__(self, seed: int) -> None:
        """Begin with this seed."""
        self.seed = seed

    def share(self, name: str) -> float:
        """Return a number from 0 to below 1."""
        digest = hashlib.sha256(f"{self.seed}:{name}".encode()).digest()
        return int.from_bytes(digest[:7], "big") / 2**56

    def between(self, name: str, least: float, most: float) -> float:
        """Return a number from `least` to below `most`."""
        return least + (most - least) * self.share(name)

    def one_of(self, name: str, choices: Sequence[T]) -> T:
        """Return one of several."""
        return choices[int(self.share(name) * len(choices))]

    def shuffled(self, name: str, items: Sequence[T]) -> list[T]:
        """Return them in another order."""
        return sorted(items, key=lambda item: self.share(f"{name}:{item}"))
