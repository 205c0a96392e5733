"""Witness calls in groups: may these executions begin these effects? Asked until there is an answer. D16."""

import asyncio
from collections.abc import Sequence
from typing import Final, NoReturn

from tenure.core.backoff import jittered_s, sender_delay_s
from tenure.core.effect import WitnessAnswer, WitnessRequest
from tenure.core.errors import DeliveryFailed, TenureError
from tenure.core.faultpoints import FaultPoint
from tenure.worker.calls import SessionOver, ask
from tenure.worker.groups import Groups
from tenure.worker.session import Session, Sessions
from tenure.worker.tools import Tools

EFFECTS_MAX: Final = 100  # Bound: the protocol's, for one call


class Witnessed(WitnessAnswer, frozen=True):
    """An answer, with the moment before it was asked for, from which its lease counts (D14)."""

    asked_at: float = 0.0


class Witnesses:
    """Asks on behalf of executions; one call is in flight, and whoever asks meanwhile is in the next."""

    def __init__(self, tools: Tools, sessions: Sessions) -> None:
        """Ask by whatever session there is."""
        self._tools = tools
        self._sessions = sessions
        self._groups: Groups[WitnessRequest, Witnessed | TenureError | None] = Groups(
            self._perform, EFFECTS_MAX
        )

    def ask(self, asked: WitnessRequest) -> "asyncio.Future[Witnessed | TenureError | None]":
        """Return the answer to come, or why the question itself is refused.

        Whoever waits may set None to stop waiting.
        """
        return self._groups.ask(asked)

    async def run(self) -> NoReturn:
        """Ask group after group, for ever."""
        await self._groups.run()

    async def _perform(self, asked: Sequence[WitnessRequest]) -> Sequence[Witnessed | TenureError | None]:
        failures = 0
        while True:
            session = await self._sessions.wait()
            try:
                answers = await self._ask(session, asked)
            except SessionOver:
                continue
            except DeliveryFailed as error:
                failures += 1
                delay_s = jittered_s(sender_delay_s(failures), self._tools.ids.jitter())
                self._tools.observer.tell("witness.deferred", error=error.text, delay_s=delay_s)
                await self._tools.alarms.sleep(delay_s)
            except TenureError as refused:
                return await self._divide(asked, refused)
            else:
                for request in asked:
                    self._tools.reach(FaultPoint.WITNESS_ANSWERED, request.task_id)
                return answers

    async def _ask(self, session: Session, asked: Sequence[WitnessRequest]) -> list[Witnessed]:
        asked_at = self._tools.alarms.now()
        call = self._tools.parts.control_plane.witness(session.token, asked)
        answers = await ask(self._tools.alarms, session, call, self._tools.config.call_s, "a witness")
        return [
            Witnessed(
                task_id=answer.task_id,
                name=answer.name,
                standing=answer.standing,
                ttl_s=answer.ttl_s,
                result=answer.result,
                since=answer.since,
                agent=answer.agent,
                generation=answer.generation,
                predecessor=answer.predecessor,
                asked_at=asked_at,
            )
            for answer in answers
        ]

    async def _divide(
        self, asked: Sequence[WitnessRequest], refused: TenureError
    ) -> Sequence[Witnessed | TenureError | None]:
        """Find the question that spoils its group; the others get their answers."""
        if len(asked) == 1:
            return [refused]
        half = len(asked) // 2
        return [*await self._perform(asked[:half]), *await self._perform(asked[half:])]
