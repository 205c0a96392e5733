"""Workers, their sessions, drained marks and incarnations. C001 to C009, C117."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from tenure.core.registration import Session


class DrainMark(Struct, frozen=True):
    """A person's mark on a worker, numbered; the higher number wins at the worker. C111."""

    worker_id: str
    drained: bool
    number: int
    note: str = ""


class Registry(Protocol):
    """Sessions by worker and by token; rows stay while the worker id is in use (D24)."""

    def latest(self, worker_ids: Collection[str] | None) -> dict[str, Session]:
        """Return the newest session of each worker (None: of all), locked."""
        ...

    def by_token(self, token_hash: str) -> Session | None:
        """Return the session that this token was minted for, also if it has ended, locked."""
        ...

    def save(self, sessions: Sequence[Session]) -> None:
        """Add or change sessions by (worker id, number)."""
        ...

    def touch(
        self, worker_id: str, number: int, ttl_s: float, room: int, usage: Mapping[str, float]
    ) -> datetime | None:
        """Move a live, newest session's end to now + ttl, guarded; None: not registered. C004 C006."""
        ...

    def drain_marks(self, worker_ids: Collection[str] | None) -> dict[str, DrainMark]:
        """Return the marks of these workers (None: of all)."""
        ...

    def mark_drain(self, mark: DrainMark) -> None:
        """Keep the mark; it survives restart, displacement and expiry."""
        ...

    def incarnation(self, instance_id: str, accept: str | None) -> str | None:
        """Return the last accepted incarnation of an instance; `accept` is kept as the last from now on."""
        ...

    def disconnect_all(self) -> None:
        """Note that no stream is open: the one server of this store has just started."""
        ...
