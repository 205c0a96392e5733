"""What a worker sees of the other side: calls, and commands in."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from tenure.core.claim import LeaseBeat
from tenure.core.command import Ack, AckAnswer, Command
from tenure.core.effect import WitnessAnswer, WitnessRequest
from tenure.core.event import Event, EventAnswer
from tenure.core.registration import HeartbeatAnswer, RegisterRequest, Registration


class ControlPlane(Protocol):
    """The calls of a worker. Each may raise `DeliveryFailed` (keep and retry), `Unauthenticated`.

    `Forbidden`,
    `NotRegistered`, or another `Refused` for the request as a whole.
    """

    async def register(self, request: RegisterRequest) -> Registration:
        """Begin a session; replaces the one before. Raises `Forked` for a copied folder. C001 C002."""
        ...

    async def heartbeat(
        self,
        worker_id: str,
        session: str,
        ttl_s: float,
        room: int,
        usage: dict[str, float],
        leases: Sequence[LeaseBeat],
    ) -> HeartbeatAnswer:
        """Keep the registration and the named leases; if not registered, no lease was renewed (D24)."""
        ...

    async def deregister(self, worker_id: str, session: str) -> list[str]:
        """End the session and return the task ids still held; unacknowledged starts are handed back."""
        ...

    async def acknowledge(
        self, worker_id: str, session: str, room: int, acks: Sequence[Ack]
    ) -> list[AckAnswer]:
        """Answer commands; repeatable for ever, answered from the present (D13)."""
        ...

    async def witness(self, session: str, effects: Sequence[WitnessRequest]) -> list[WitnessAnswer]:
        """Ask for permits, in one transaction; each is also a renewal (D16)."""
        ...

    async def report(self, session: str, room: int, events: Sequence[Event]) -> list[EventAnswer]:
        """Deliver facts; each answer means that the fact is durable there. C081."""
        ...


class CommandStream(Protocol):
    """Commands in. On every connection all unacknowledged ones are offered again. C115."""

    def open(self, worker_id: str, session: str) -> AbstractAsyncContextManager[AsyncIterator[list[Command]]]:
        """Open the session's one stream; yields commands in groups as they arrive.

        Ends without error when the server stops or a newer stream of the session opens. Raises
        `NotRegistered` when the session has ended and `DeliveryFailed` when it breaks.
        """
        ...
