"""Commands in: from the stream into the inbox, acknowledged, started once the answer is `go`. C062 to C067.

Three steps, each with one group in flight: save, acknowledge, act on the answer. The stream only carries;
what is not answered comes again on the next connection. C115
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import anyio

from tenure.core.attempt import AttemptState
from tenure.core.backoff import jittered_s, sender_delay_s
from tenure.core.capability import Capability
from tenure.core.command import Ack, AckAnswer, Command
from tenure.core.errors import (
    DeliveryFailed,
    DiskFull,
    Forbidden,
    NotRegistered,
    TenureError,
    Unauthenticated,
)
from tenure.core.faultpoints import FaultPoint
from tenure.worker.admission import Admitted, Frontage, admit, refuse_unsaved
from tenure.worker.books import Entry, Stage
from tenure.worker.calls import SessionOver, ask
from tenure.worker.drains import Drains
from tenure.worker.groups import Inflow
from tenure.worker.keeper import Keeper
from tenure.worker.running import Runner
from tenure.worker.session import Session
from tenure.worker.stops import Stops
from tenure.worker.tools import Tools

Ready = Callable[[], None]
"""Called when the stream is open and commands may come."""

ACKS_MAX: Final = 1_000  # Bound: the protocol's, for one call
STABLE_S: Final = 30.0  # So long a stream must have lived before its delays begin anew (B31)


class Intake:
    """Takes commands while a session lasts; what was not answered when it ends is offered again."""

    def __init__(self, tools: Tools, runner: Runner, stops: Stops, drains: Drains, keeper: Keeper) -> None:
        """Give what may start to the runner, and what may not go on to the stops."""
        self._tools = tools
        self._keeper = keeper
        self._runner = runner
        self._stops = stops
        self._drains = drains
        self._received: Inflow[Command] = Inflow()
        self._acks: Inflow[Ack] = Inflow()
        self._failures = 0

    def ask_again(self, entry: Entry) -> None:
        """Acknowledge a pending attempt anew: its `go` came too late to be used. D13."""
        self._acks.put([Ack(entry.attempt.command_id)])

    async def run(self, session: Session, ready: Ready) -> None:
        """Acknowledge what is still pending, then open the stream and take what comes."""
        self._received, self._acks = Inflow(), Inflow()
        pending = [e for e in self._tools.books if e.attempt.state is AttemptState.PENDING]
        try:
            waiting = [e for e in pending if e.stage in (Stage.WAITING, Stage.READY)]
            for start in range(0, len(waiting), ACKS_MAX):
                await self._acknowledge(
                    session, [Ack(e.attempt.command_id) for e in waiting[start : start + ACKS_MAX]]
                )
            async with anyio.create_task_group() as group:
                group.start_soon(self._save_received)
                group.start_soon(self._send_acks, session)
                await self._receive(session, ready)
                group.cancel_scope.cancel()
        except SessionOver:
            return

    async def _receive(self, session: Session, ready: Ready) -> None:
        """Keep the session's one stream open."""
        while not session.over.is_set():
            opened_at = self._tools.alarms.now()
            try:
                await self._read(session, ready)
                text = "the stream ended"
            except (NotRegistered, Unauthenticated, Forbidden) as verdict:
                session.end(verdict)
                return
            except TenureError as error:
                text = error.text
            if self._tools.alarms.now() - opened_at >= STABLE_S:
                self._failures = 0
            self._failures += 1
            delay_s = jittered_s(sender_delay_s(self._failures), self._tools.ids.jitter())
            self._tools.observer.tell("stream.ended", error=text, delay_s=delay_s)
            await self._tools.alarms.sleep(delay_s)

    async def _read(self, session: Session, ready: Ready) -> None:
        worker_id = self._tools.config.worker_id
        async with self._tools.parts.commands.open(worker_id, session.token) as groups:
            self._tools.observer.tell("stream.opened")
            ready()
            async for group in groups:
                self._received.put(group)

    async def _save_received(self) -> None:
        while True:
            commands = await self._received.take()
            for command in commands:
                self._tools.reach(FaultPoint.COMMAND_RECEIVED, command.command_id)
            try:
                admitted = await self._tools.saving.write(
                    partial(admit, commands=commands, front=self._frontage())
                )
            except DiskFull:
                ids = [command.command_id for command in commands]
                seen = await self._tools.saving.read(lambda tx, ids=ids: tx.inbox.seen(ids))
                self._acks.put(refuse_unsaved(commands, seen))
                continue
            for command in commands:
                self._tools.reach(FaultPoint.INBOX_COMMITTED, command.command_id)
            self._take(admitted)

    def _frontage(self) -> Frontage:
        tools = self._tools
        return Frontage(
            instance_id=tools.instance_id,
            capabilities=[Capability(e.name, e.version, e.recovery) for e in tools.manifest],
            capacity=0 if tools.books.is_sick else tools.books.capacity_promised,
            resources=tools.config.resources,
            is_stopping=tools.books.is_stopping,
            at=tools.parts.clock.wall(),
        )

    def _take(self, admitted: Admitted) -> None:
        """Take into care what was saved, then have it acknowledged."""
        for attempt in admitted.attempts:
            older = self._tools.books.add(Entry(attempt, Stage.WAITING))
            if older is not None:
                self._stops.lost(older)
        for attempt in admitted.cancelled:
            entry = self._tools.books.get(attempt.id)
            if entry is not None:
                entry.attempt = attempt
                self._stops.cancelled(entry)
        if admitted.identity is not None:
            self._drains.marked(admitted.identity)
        for ack in admitted.acks:
            if not ack.accepted:
                self._tools.observer.tell(
                    "command.refused", command_id=ack.command_id, reason=ack.reason, detail=ack.detail
                )
        self._acks.put(admitted.acks)

    async def _send_acks(self, session: Session) -> None:
        try:
            while True:
                await self._acknowledge(session, await self._acks.take(ACKS_MAX))
        except SessionOver:
            return

    async def _acknowledge(self, session: Session, acks: Sequence[Ack]) -> None:
        """Have acknowledgements answered, for as long as it takes, and act on the answers. D13."""
        failures = 0
        while True:
            for ack in acks:
                self._tools.reach(FaultPoint.ACK_SENT, ack.command_id)
            asked_at = self._tools.alarms.now()
            try:
                answers = await self._ask(session, acks)
            except DeliveryFailed as error:
                failures += 1
                delay_s = jittered_s(sender_delay_s(failures), self._tools.ids.jitter())
                self._tools.observer.tell("acknowledgement.deferred", error=error.text, delay_s=delay_s)
                await self._tools.alarms.sleep(delay_s)
            except TenureError as refused:
                await self._divide(session, acks, refused)
                return
            else:
                for answer in answers:
                    self._tools.reach(FaultPoint.ACK_ANSWERED, answer.command_id)
                    self._answered(answer, asked_at)
                return

    async def _ask(self, session: Session, acks: Sequence[Ack]) -> list[AckAnswer]:
        tools = self._tools
        call = tools.parts.control_plane.acknowledge(
            tools.config.worker_id, session.token, tools.books.room, acks
        )
        return await ask(tools.alarms, session, call, tools.config.call_s, "acknowledgements")

    async def _divide(self, session: Session, acks: Sequence[Ack], refused: TenureError) -> None:
        if len(acks) == 1:
            # Nothing is lost: it is still unanswered there, and offered again on the next connection.
            self._tools.observer.tell(
                "acknowledgement.refused", command_id=acks[0].command_id, error=refused.text
            )
            return
        half = len(acks) // 2
        await self._acknowledge(session, acks[:half])
        await self._acknowledge(session, acks[half:])

    def _answered(self, answer: AckAnswer, asked_at: float) -> None:
        """Start, renew or give up what an answer is about; other commands' answers say nothing."""
        entry = self._tools.books.get(answer.command_id)
        if entry is None:
            return
        if answer.standing == "void":
            self._stops.lost(entry)
            return
        self._tools.renewed(entry, asked_at + answer.ttl_s)
        if entry.attempt.cancel_requested:
            self._stops.cancelled(entry)
        elif answer.cancel_requested:
            self._stops.cancel(entry)
        elif entry.stage is Stage.WAITING:
            self._runner.offer(entry)
            self._keeper.consider(entry)
