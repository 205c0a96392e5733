"""A control plane in memory that keeps the port's promises, with its decisions from `core`.

Calls can be made to fail: `is_down` answers nothing, `lost` performs and loses the reply, `held` waits before
it answers, `refused` raises what a call is given. Every call is kept with what it carried.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar, cast

import msgspec

from tenure.core.canonical import digest_text
from tenure.core.claim import Claim, LeaseAnswer, LeaseBeat, Standing
from tenure.core.claiming import Grantee, grant, void_start
from tenure.core.command import Ack, AckAnswer, Command, CommandKind, command_digest
from tenure.core.effect import (
    CheckpointLine,
    Effect,
    EffectState,
    Evidence,
    LedgerLine,
    WitnessAnswer,
    WitnessRequest,
    WitnessStanding,
)
from tenure.core.errors import DeliveryFailed, Forked, NotRegistered, TenureError
from tenure.core.event import (
    Answer,
    CheckpointBody,
    EffectBody,
    Event,
    EventAnswer,
    StepBody,
    read_body,
)
from tenure.core.ids import attempt_id
from tenure.core.registration import HeartbeatAnswer, RegisterRequest, Registration, is_forked
from tenure.core.settlement import settle
from tenure.core.task import Task, TaskSpec, TaskState
from tenure.core.witness import take_outcome, witness
from tenure.ports.clock import Clock

Kept = TypeVar("Kept")


@dataclass
class Call:
    """One call as it was made."""

    name: str
    at: float
    content: object

    @property
    def room(self) -> int:
        """The room that a heartbeat or acknowledgements stated."""
        return cast("tuple[int, object]", self.content)[0]

    @property
    def acks(self) -> list[Ack]:
        """What an acknowledging call carried."""
        return cast("tuple[int, list[Ack]]", self.content)[1]

    @property
    def leases(self) -> list[LeaseBeat]:
        """What a heartbeat renewed."""
        return cast("tuple[int, object, list[LeaseBeat]]", self.content)[2]

    @property
    def questions(self) -> list[WitnessRequest]:
        """What a witness call asked."""
        return cast("list[WitnessRequest]", self.content)

    @property
    def events(self) -> list[Event]:
        """What a report delivered."""
        return cast("list[Event]", self.content)

    @property
    def request(self) -> RegisterRequest:
        """What a registration stated."""
        return cast("RegisterRequest", self.content)


@dataclass
class Sent:
    """A start command that was offered, and how it stands."""

    command: Command
    state: str = "queued"


@dataclass
class Held:
    """One task here."""

    task: Task
    spec: TaskSpec
    tokens: dict[str, int] = field(default_factory=dict[str, int])
    ledger: dict[str, Effect] = field(default_factory=dict[str, Effect])
    claims: dict[int, Claim] = field(default_factory=dict[int, Claim])
    checkpoint: CheckpointLine | None = None
    progress_number: int = 0
    progress: object = None


class MemoryControlPlane:
    """Both ports of a worker's other side."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.calls: list[Call] = []
        self.is_down = False
        self.is_deaf = False
        self.lost: dict[str, int] = {}
        self.held: dict[str, asyncio.Event] = {}
        self.refused: dict[str, Callable[[Call], TenureError | None]] = {}
        self.tasks: dict[str, Held] = {}
        self.sent: dict[str, Sent] = {}
        self.events: dict[str, Event] = {}
        self.answers: dict[str, EventAnswer] = {}
        self.request: RegisterRequest | None = None
        self.session = ""
        self.ended: NotRegistered | None = None
        self.until = clock.wall()
        self.known_incarnation: str | None = None
        self.drained = False
        self.drained_number = 0
        self.streams = 0
        self._sessions = 0
        self._orders: list[Command] = []
        self._stream: asyncio.Queue[list[Command] | None] | None = None

    # What a test does

    def submit(self, *specs: TaskSpec) -> None:
        """Add tasks that are open."""
        for spec in specs:
            assert spec.id is not None
            task = Task(
                id=spec.id,
                capability=spec.capability,
                version=spec.version,
                queue=spec.queue,
                priority=0,
                state=TaskState.OPEN,
                revision=1,
                generation=0,
                run=1,
                attempts=0,
                losses=0,
                interruptions=0,
                max_attempts=spec.max_attempts,
                max_losses=spec.max_losses,
                backoff=spec.backoff,
                lease_ttl_s=spec.lease_ttl_s,
                created_at=self.clock.wall(),
                updated_at=self.clock.wall(),
            )
            self.tasks[spec.id] = Held(task, spec)

    def push(self, *task_ids: str) -> None:
        """Grant tasks to the registered worker and offer their starts."""
        assert self.request is not None
        group: list[Command] = []
        for id_ in task_ids:
            held = self.tasks[id_]
            token = f"tnr_c_{id_}_{held.task.generation + 1}"
            rule = next(c.recovery for c in self.request.capabilities if c.name == held.spec.capability)
            to = Grantee(
                agent=self.request.worker_id,
                token_hash=digest_text(token),
                ttl_s=held.spec.lease_ttl_s,
                rule=rule,
                instance_id=self.request.instance_id,
                pushed=True,
            )
            self._granted(held, to)
            held.tokens[token] = held.task.generation
            group.append(self._start(held, token))
        self.offer(*group)

    def offer(self, *commands: Command) -> None:
        """Offer commands on the open stream, and again on each later one until they are answered."""
        for command in commands:
            self.sent.setdefault(command.command_id, Sent(command))
        if self._stream is not None:
            self._stream.put_nowait(list(commands))

    def order(self, command_id: str, kind: CommandKind, task_id: str | None = None, **body: object) -> None:
        """Offer a command that is no start."""
        assert self.request is not None
        generation = self.tasks[task_id].task.generation if task_id is not None else None
        self.offer(
            Command(
                command_id=command_id,
                instance_id=self.request.instance_id,
                kind=kind,
                digest=command_digest(kind, task_id, generation, None, body),
                attempt_id=attempt_id(task_id, generation) if task_id is not None and generation else None,
                generation=generation,
                body=body,
            )
        )

    def cancel(self, task_id: str) -> None:
        """Note that a cancel was asked for; answers carry it."""
        held = self.tasks[task_id]
        held.task = held.task.changed(self.clock.wall(), cancel_requested=True)

    def take_away(self, task_id: str) -> None:
        """Grant the task to somebody else."""
        held = self.tasks[task_id]
        self._granted(held, Grantee("other", digest_text("other"), 30.0))

    def end_session(self, reason: str = "expired") -> None:
        """End the session for every later call, and the stream."""
        self.ended = NotRegistered(f"the session {reason}", reason=reason)
        self.break_stream()

    def break_stream(self) -> None:
        """End the open stream without a word."""
        if self._stream is not None:
            self._stream.put_nowait(None)

    def task(self, task_id: str) -> Task:
        """Return a task as it is."""
        return self.tasks[task_id].task

    def called(self, name: str) -> list[Call]:
        """Return the calls of that name."""
        return [call for call in self.calls if call.name == name]

    def kinds(self, task_id: str) -> list[str]:
        """Return the kinds of the events that were applied or kept for a task, in order."""
        return [str(event.kind) for event in self.events.values() if event.task_id == task_id]

    # The ports

    async def register(self, request: RegisterRequest) -> Registration:
        await self._arrive("register", request)
        if is_forked(request, self.known_incarnation):
            raise Forked("this state folder is a copy")
        self.known_incarnation = request.incarnation
        self._sessions += 1
        self.request, self.session, self.ended = request, f"tnr_s_{self._sessions}", None
        self.until = self.clock.wall() + timedelta(seconds=request.ttl_s)
        return self._leave(
            "register",
            Registration(
                request.worker_id,
                self.session,
                self.until,
                request.ttl_s,
                request.ttl_s / 3,
                self.drained,
                self.drained_number,
            ),
        )

    async def heartbeat(
        self,
        worker_id: str,
        session: str,
        ttl_s: float,
        room: int,
        usage: dict[str, float],
        leases: Sequence[LeaseBeat],
    ) -> HeartbeatAnswer:
        await self._arrive("heartbeat", (room, usage, list(leases)))
        self._require(session)
        self.until = self.clock.wall() + timedelta(seconds=ttl_s)
        answers = [self._renew(lease) for lease in leases]
        return self._leave(
            "heartbeat", HeartbeatAnswer(self.until, ttl_s, self.drained, self.drained_number, answers)
        )

    async def deregister(self, worker_id: str, session: str) -> list[str]:
        await self._arrive("deregister", None)
        self._require(session)
        self.ended = NotRegistered("the session was deregistered", reason="deregistered")
        return self._leave("deregister", [])

    async def acknowledge(
        self, worker_id: str, session: str, room: int, acks: Sequence[Ack]
    ) -> list[AckAnswer]:
        await self._arrive("acknowledge", (room, list(acks)))
        self._require(session)
        return self._leave("acknowledge", [self._acknowledged(ack) for ack in acks])

    async def witness(self, session: str, effects: Sequence[WitnessRequest]) -> list[WitnessAnswer]:
        await self._arrive("witness", list(effects))
        return self._leave("witness", [self._witnessed(asked) for asked in effects])

    async def report(self, session: str, room: int, events: Sequence[Event]) -> list[EventAnswer]:
        await self._arrive("report", list(events))
        return self._leave("report", [self._reported(event) for event in events])

    @asynccontextmanager
    async def open(self, worker_id: str, session: str) -> AsyncGenerator[AsyncIterator[list[Command]]]:
        await self._arrive("open", None)
        self._require(session)
        self.break_stream()
        self.streams += 1
        queue = self._stream = asyncio.Queue[list[Command] | None]()
        again = [sent.command for sent in self.sent.values() if sent.state == "queued"]
        queue.put_nowait(again)
        try:
            yield self._groups(queue)
        finally:
            if self._stream is queue:
                self._stream = None

    # Inside

    def _granted(self, held: Held, to: Grantee) -> None:
        if held.task.claim is not None:
            held.claims[held.task.claim.generation] = held.task.claim
        held.task = grant(held.task, to, self.clock.wall())

    async def _groups(self, queue: "asyncio.Queue[list[Command] | None]") -> AsyncIterator[list[Command]]:
        while (group := await queue.get()) is not None:
            yield group
        if self.ended is not None:
            raise self.ended

    async def _arrive(self, name: str, content: object) -> None:
        call = Call(name, self.clock.boot(), content)
        self.calls.append(call)
        if (held := self.held.get(name)) is not None:
            await held.wait()
        await asyncio.sleep(0)
        if self.is_deaf:
            await asyncio.Event().wait()
        if self.is_down:
            raise DeliveryFailed(f"{name}: nobody is there")
        refuse = self.refused.get(name)
        if refuse is not None and (error := refuse(call)) is not None:
            raise error

    def _leave(self, name: str, answer: Kept) -> Kept:
        if self.lost.get(name, 0) > 0:
            self.lost[name] -= 1
            raise DeliveryFailed(f"{name}: the reply was lost")
        return answer

    def _require(self, session: str) -> None:
        if session != self.session:
            raise NotRegistered("an older session", reason="displaced")
        if self.ended is not None:
            raise self.ended
        if self.clock.wall() >= self.until:
            raise NotRegistered("the session expired", reason="expired")

    def _start(self, held: Held, token: str) -> Command:
        task, spec = held.task, held.spec
        assert self.request is not None
        id_ = attempt_id(task.id, task.generation)
        evidence = Evidence(
            checkpoint=held.checkpoint,
            effects=[
                LedgerLine(e.name, e.kind, str(e.state), e.result, e.request_id, e.generation)
                for e in held.ledger.values()
            ],
        )
        return Command(
            command_id=id_,
            instance_id=self.request.instance_id,
            kind=CommandKind.START,
            digest=command_digest(
                CommandKind.START, task.id, task.generation, (spec.capability, spec.version, spec.input), {}
            ),
            task=spec,
            attempt_id=id_,
            generation=task.generation,
            token=token,
            run=task.run,
            losses=task.losses,
            evidence=evidence if task.generation > 1 else None,
        )

    def _standing(self, held: Held, token: str) -> Standing:
        generation = held.tokens.get(token)
        if generation is None:
            return Standing.UNMINTED
        return Standing.NEWEST if generation == held.task.generation else Standing.OLDER

    def _renew(self, lease: LeaseBeat) -> LeaseAnswer:
        held = self.tasks[lease.task_id]
        holder = held.task.holder
        if holder is None or self._standing(held, lease.token) is not Standing.NEWEST:
            return LeaseAnswer(lease.task_id, "lost")
        until = self.clock.wall() + timedelta(seconds=lease.ttl_s)
        held.task = msgspec.structs.replace(held.task, claim=msgspec.structs.replace(holder, until=until))
        if lease.progress is not None and lease.progress_number > held.progress_number:
            held.progress, held.progress_number = lease.progress, lease.progress_number
        return LeaseAnswer(lease.task_id, "held", lease.ttl_s, held.task.cancel_requested)

    def _acknowledged(self, ack: Ack) -> AckAnswer:
        sent = self.sent.get(ack.command_id)
        if sent is None:
            return AckAnswer(ack.command_id, "void")
        command = sent.command
        if command.kind is not CommandKind.START or command.task is None or command.task.id is None:
            sent.state = "acknowledged"
            return AckAnswer(ack.command_id, "go")
        held = self.tasks[command.task.id]
        holder = held.task.holder
        if holder is None or holder.generation != command.generation:
            sent.state = "void" if sent.state == "queued" else sent.state
            return AckAnswer(ack.command_id, "void")
        if sent.state == "queued" and not ack.accepted:
            sent.state = f"rejected: {ack.reason}"
            held.task = void_start(held.task, self.clock.wall())
            return AckAnswer(ack.command_id, "void")
        sent.state = "acknowledged"
        until = self.clock.wall() + timedelta(seconds=holder.ttl_s)
        claim = msgspec.structs.replace(holder, acknowledged=True, until=until)
        held.task = msgspec.structs.replace(held.task, claim=claim)
        return AckAnswer(ack.command_id, "go", holder.ttl_s, held.task.cancel_requested)

    def _witnessed(self, asked: WitnessRequest) -> WitnessAnswer:
        held = self.tasks[asked.task_id]
        known = held.ledger.get(asked.name)
        earlier = held.claims.get(known.generation) if known is not None else None
        decided = witness(
            held.task, self._standing(held, asked.token), known, earlier, asked, self.clock.wall()
        )
        if decided.effect is not None:
            held.ledger[asked.name] = decided.effect
        known = decided.known
        doubt = decided.standing is WitnessStanding.IN_DOUBT and known is not None
        return WitnessAnswer(
            task_id=asked.task_id,
            name=asked.name,
            standing=decided.standing,
            ttl_s=held.spec.lease_ttl_s,
            result=known.result if known is not None else None,
            since=known.witnessed_at if doubt and known is not None else None,
            generation=known.generation if doubt and known is not None else None,
            predecessor=decided.predecessor,
        )

    def _reported(self, event: Event) -> EventAnswer:
        if event.event_id in self.events:
            same = self.events[event.event_id] == event
            return EventAnswer(event.event_id, Answer.DUPLICATE if same else Answer.INVALID)
        held = self.tasks[event.task_id]
        standing = self._standing(held, event.token)
        if standing is Standing.UNMINTED:
            return EventAnswer(event.event_id, Answer.INVALID, "this token was never minted for that claim")
        last = max((e.sequence for e in self.events.values() if e.attempt_id == event.attempt_id), default=0)
        self.events[event.event_id] = event
        accepted = event.sequence > last and self._apply(held, event, standing)
        answer = EventAnswer(event.event_id, Answer.ACCEPTED if accepted else Answer.STALE)
        self.answers[event.event_id] = answer
        return answer

    def _apply(self, held: Held, event: Event, standing: Standing) -> bool:
        now = self.clock.wall()
        body = read_body(event.kind, event.body)
        match body:
            case CheckpointBody():
                held.checkpoint = CheckpointLine(body.value, event.sequence, body.portable)
                return True
            case StepBody():
                held.ledger[body.name] = Effect(
                    task_id=event.task_id,
                    run=1,
                    name=body.name,
                    request_id="",
                    digest="",
                    state=EffectState.APPLIED,
                    generation=event.generation,
                    epoch=event.attempt_epoch,
                    agent="worker",
                    witnessed_at=now,
                    kind="step",
                    result=body.result,
                )
                return True
            case EffectBody():
                known = held.ledger.get(body.name)
                outcome = take_outcome(
                    held.task, known, body, standing, event.generation, event.attempt_epoch, now, 0.0
                )
                held.task = outcome.task
                if outcome.effect is not None:
                    held.ledger[body.name] = outcome.effect
                return outcome.accepted
            case _:
                ledger = list(held.ledger.values())
                settled = settle(held.task, ledger, event.kind, body, standing, event.attempt_epoch, now, 0.0)
                held.task = settled.task
                return settled.accepted
