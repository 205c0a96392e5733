"""A clock that moves only when a test moves it, and ids that repeat with their seed."""

import itertools
import random  # noqa: TID251 - seeded, so that a history repeats
from datetime import UTC, datetime, timedelta

import anyio

START = datetime(2026, 1, 1, tzinfo=UTC)


class ManualClock:
    """Wall and boot-time clock of one machine; keeps the `Clock` port's promises without ever waiting."""

    def __init__(self, start: datetime = START) -> None:
        """Begin at an instant, with the boot-time clock at 1,000 s."""
        self._wall = start
        self._boot = 1_000.0

    def wall(self) -> datetime:
        """Return the instant that the test set."""
        return self._wall

    def boot(self) -> float:
        """Return the boot-time reading that the test set."""
        return self._boot

    async def sleep(self, seconds: float) -> None:
        """Let the others run and move on by so much."""
        self.advance(seconds)
        await anyio.lowlevel.checkpoint()

    def advance(self, seconds: float) -> None:
        """Let time pass, on both clocks."""
        self._wall += timedelta(seconds=seconds)
        self._boot += seconds

    def step(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an administrator would; the boot-time clock stays."""
        self._wall += timedelta(seconds=seconds)


class SeededIds:
    """Ids, tokens and jitter that are the same for the same seed; never for production."""

    def __init__(self, seed: int = 0) -> None:
        """Begin a sequence."""
        self._numbers = itertools.count(1)
        self._random = random.Random(seed)  # noqa: S311 - seeded on purpose

    def new_id(self) -> str:
        """Return ids that sort in the order in which they were made."""
        return f"id-{next(self._numbers):012d}"

    def new_token(self, prefix: str) -> str:
        """Return a token that no other call returns."""
        return f"{prefix}{self._random.getrandbits(256):064x}"

    def jitter(self) -> float:
        """Return a number in [0, 1)."""
        return self._random.random()
