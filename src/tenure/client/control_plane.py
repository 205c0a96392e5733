"""The worker's calls over HTTP: the `ControlPlane` port."""

from collections.abc import Sequence
from typing import Final, TypeVar

from tenure.client.exchange import Position
from tenure.client.http import AsyncHttp, Newest
from tenure.core.claim import LeaseBeat
from tenure.core.command import Ack, AckAnswer
from tenure.core.effect import WitnessAnswer, WitnessRequest
from tenure.core.errors import DeliveryFailed
from tenure.core.event import Event, EventAnswer
from tenure.core.registration import HeartbeatAnswer, RegisterRequest, Registration
from tenure.wire.commands import AcksAnswer, AcksRequest
from tenure.wire.endpoints import BY_NAME
from tenure.wire.events import EffectsAnswer, EffectsRequest, EventsAnswer, EventsRequest
from tenure.wire.workers import HeartbeatRequest, HeldAnswer

A = TypeVar("A")

BEAT_S_MIN: Final = 0.1
BEAT_S_MAX: Final = 10.0
"""Bound: one heartbeat; shorter than the time between two, so that none waits for the one before."""


class HttpControlPlane:
    """Calls of one worker; heartbeats have connections of their own and wait behind no batch (D9)."""

    def __init__(self, url: str, token: str, newest: Newest | None = None) -> None:
        """Take the address and the worker's credential; nothing is connected yet."""
        self._token = token
        self._newest = newest or Newest()
        self._calls = AsyncHttp(url, self._newest)
        self._beats = AsyncHttp(url, self._newest)

    @property
    def position(self) -> Position:
        """The highest position of the store that was heard of (D27)."""
        return self._newest.position

    async def register(self, request: RegisterRequest) -> Registration:
        """Begin a session with the worker's credential."""
        return await self._calls.call(BY_NAME["register"], Registration, token=self._token, request=request)

    async def heartbeat(
        self,
        worker_id: str,
        session: str,
        ttl_s: float,
        room: int,
        usage: dict[str, float],
        leases: Sequence[LeaseBeat],
    ) -> HeartbeatAnswer:
        """Keep the registration and the named leases."""
        answer = await self._beats.call(
            BY_NAME["heartbeat"],
            HeartbeatAnswer,
            token=session,
            request=HeartbeatRequest(ttl_s, room, usage, list(leases)),
            timeout_s=min(max(ttl_s / 4, BEAT_S_MIN), BEAT_S_MAX),
            worker_id=worker_id,
        )
        _same_number("heartbeat", leases, answer.leases)
        return answer

    async def deregister(self, worker_id: str, session: str) -> list[str]:
        """End the session and return the task ids still held."""
        answer = await self._calls.call(BY_NAME["deregister"], HeldAnswer, token=session, worker_id=worker_id)
        return answer.held

    async def acknowledge(
        self, worker_id: str, session: str, room: int, acks: Sequence[Ack]
    ) -> list[AckAnswer]:
        """Answer commands."""
        answer = await self._calls.call(
            BY_NAME["acks"],
            AcksAnswer,
            token=session,
            request=AcksRequest(room, list(acks)),
            worker_id=worker_id,
        )
        return _same_number("acks", acks, answer.acks)

    async def witness(self, session: str, effects: Sequence[WitnessRequest]) -> list[WitnessAnswer]:
        """Ask for permits."""
        answer = await self._calls.call(
            BY_NAME["effects"], EffectsAnswer, token=session, request=EffectsRequest(list(effects))
        )
        return _same_number("effects", effects, answer.effects)

    async def report(self, session: str, room: int, events: Sequence[Event]) -> list[EventAnswer]:
        """Deliver facts."""
        answer = await self._calls.call(
            BY_NAME["events"], EventsAnswer, token=session, request=EventsRequest(room, list(events))
        )
        return _same_number("events", events, answer.answers)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._calls.aclose()
        await self._beats.aclose()


def _same_number(name: str, asked: Sequence[object], answers: list[A]) -> list[A]:
    if len(asked) != len(answers):
        raise DeliveryFailed(f"{name}: {len(asked)} were sent and {len(answers)} answered")
    return answers
