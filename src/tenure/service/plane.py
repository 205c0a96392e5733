"""The control plane's application service: every call of people, clients and workers, over one store."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio
import msgspec

from tenure.core.canonical import digest_text
from tenure.core.claim import LeaseBeat
from tenure.core.command import Ack, AckAnswer, Command
from tenure.core.effect import Evidence, WitnessAnswer, WitnessRequest
from tenure.core.errors import Forbidden, LeaseLost, NotRegistered
from tenure.core.event import Event, EventAnswer
from tenure.core.faultpoints import FaultPoint
from tenure.core.registration import HeartbeatAnswer, RegisterRequest, Registration, WorkerView
from tenure.core.task import ErrorInfo, TaskSpec
from tenure.core.verdict import VerdictRequest
from tenure.core.view import TaskView
from tenure.ports.board import TaskFilter
from tenure.ports.clock import Clock
from tenure.ports.credentials import Credential
from tenure.ports.facts import Fact
from tenure.ports.faults import Faults
from tenure.ports.ids import Ids
from tenure.ports.observer import Observer
from tenure.ports.store import ControlStore, Transaction
from tenure.service import access, claims, dispatch, effects, reports, sessions, submission, verdicts
from tenure.service.evidence import gather
from tenure.service.gate import Gate
from tenure.service.injected import Injected
from tenure.service.notices import LocalNotices
from tenure.service.principal import Principal
from tenure.service.streams import OFFER_MAX, Opened, Stream, Streams
from tenure.service.upkeep import Upkeep
from tenure.service.views import view, views
from tenure.service.waiting import Wakeup

FOLLOW_S = 2.0
HISTORY_MAX = 1_000


class ControlPlaneService:
    """Answers calls over one store; `running()` keeps pulse, dispatch and janitor going beside them.

    Every answer that says something changed is given after the change is durable. Methods raise core errors.
    """

    def __init__(
        self, store: ControlStore, ids: Ids, clock: Clock, observer: Observer, faults: Faults
    ) -> None:
        """Take the store and what is injected; nothing is read or written yet."""
        self._gate = Gate(store)
        self._injected = Injected(ids, LocalNotices(), faults)
        self._faults = faults
        self._streams = Streams()
        self._known: dict[str, Principal] = {}
        self._stopping = False
        self._followers: set[Wakeup] = set()
        self._upkeep = Upkeep(self._gate, self._injected, clock, observer, self._streams, ids.new_id())

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["ControlPlaneService"]:
        """Keep the loops going while the context is open; streams end when it closes."""
        await self._gate.open()
        await self._gate.write(lambda tx: tx.registry.disconnect_all())
        await self._upkeep.pulse()
        async with anyio.create_task_group() as group:
            group.start_soon(self._upkeep.run)
            try:
                yield self
            finally:
                self.shutdown()
                group.cancel_scope.cancel()

    def shutdown(self) -> None:
        """End every stream and every follower; calls are still answered."""
        self._stopping = True
        self._streams.end_all()
        for wakeup in tuple(self._followers):
            wakeup.set()

    @property
    def stopping(self) -> bool:
        """Whether streams are being ended."""
        return self._stopping

    def position(self) -> tuple[int, int]:
        """Return the store's epoch and the number of the last durable fact that was seen here (D27)."""
        return self._gate.epoch, self._gate.position

    def answered(self, call: str) -> None:
        """Note that the answer to a worker's call is on its way; only the crash suite looks."""
        self._faults.reach(FaultPoint.ANSWER_SENT, call)

    async def ready(self) -> None:
        """Return if the store answers, else raise `StoreUnavailable`."""
        await self._gate.read(lambda tx: tx.pulse.epoch())

    # Credentials

    async def authenticate(self, token: str) -> Principal:
        """Return who bears this token, or raise `Unauthenticated`."""
        hashed = digest_text(token)
        known = self._known.get(hashed)
        if known is not None and known.worker_id is not None:
            return known
        principal = await self._gate.read(lambda tx: access.authenticate(tx, token))
        if principal.worker_id is not None:
            # Why only sessions: their rows are kept, and each call looks at the live one itself.
            if len(self._known) >= 10_000:
                self._known.clear()
            self._known[hashed] = principal
        return principal

    async def ensure_admin(self, token: str) -> None:
        """Make the token an admin credential if it is not one yet."""
        await self._gate.write(lambda tx: access.ensure_admin(tx, self._injected, token))

    async def create_token(self, who: Principal, asked: access.NewCredential) -> access.ShownCredential:
        """Make a credential and show its token once."""
        return await self._gate.write(lambda tx: access.create(tx, self._injected, who, asked))

    async def list_tokens(self, who: Principal) -> list[Credential]:
        """Return every credential, without tokens."""
        who.require("admin")
        return await self._gate.read(lambda tx: tx.credentials.all())

    async def revoke_token(self, who: Principal, credential_id: str) -> None:
        """Revoke a credential from now on."""
        await self._gate.write(lambda tx: access.revoke(tx, who, credential_id))

    # Tasks

    async def submit(self, who: Principal, specs: Sequence[TaskSpec]) -> list[submission.Submitted]:
        """Add tasks, all or none; the same id or key with the same content names the same task."""
        return await self._gate.write(lambda tx: submission.submit(tx, self._injected, who, specs))

    async def task(self, who: Principal, task_id: str) -> TaskView:
        """Return one task, or raise `NotFound`."""
        who.require("read")
        return await self._gate.read(lambda tx: view(tx, verdicts.load(tx, who, task_id)))

    async def tasks(self, who: Principal, wanted: TaskFilter) -> tuple[list[TaskView], str | None]:
        """Return a page of tasks, newest first, and the cursor of the next page."""
        who.require("read")
        narrowed = msgspec.structs.replace(wanted, queues_allowed=who.queues)

        def query(tx: Transaction) -> tuple[list[TaskView], str | None]:
            ids = tx.selection.page(narrowed)
            tasks = tx.board.load(ids)
            shown = views(tx, [tasks[id_] for id_ in ids])
            return shown, ids[-1] if len(ids) == wanted.limit else None

        return await self._gate.read(query)

    async def history(self, who: Principal, task_id: str, after: int, limit: int) -> list[Fact]:
        """Return everything ever recorded of a task beyond a position, in order."""
        who.require("read")

        def query(tx: Transaction) -> list[Fact]:
            verdicts.load(tx, who, task_id)
            return tx.facts.history(task_id, after, min(limit, HISTORY_MAX))

        return await self._gate.read(query)

    async def cancel(self, who: Principal, task_id: str, revision: int | None = None) -> TaskView:
        """Cancel a task, or ask its holder to."""
        return await self._gate.write(lambda tx: verdicts.cancel(tx, self._injected, who, task_id, revision))

    async def retry(
        self, who: Principal, task_id: str, *, afresh: bool = False, revision: int | None = None
    ) -> TaskView:
        """Open a failed or cancelled task again."""
        return await self._gate.write(
            lambda tx: verdicts.retry(tx, self._injected, who, task_id, afresh=afresh, revision=revision)
        )

    async def verdict(self, who: Principal, task_id: str, given: VerdictRequest) -> TaskView:
        """Decide a subject that is in doubt."""
        return await self._gate.write(lambda tx: verdicts.verdict(tx, self._injected, who, task_id, given))

    async def follow(self, who: Principal, task_id: str) -> AsyncGenerator[TaskView, None]:
        """Yield the task at once and on each change, until it is settled or the service stops."""
        wakeup = Wakeup()
        leave = self._injected.notices.subscribe(f"task:{task_id}", wakeup.setter)
        self._followers.add(wakeup)
        try:
            last: tuple[object, ...] | None = None
            while not self._stopping:
                shown = await self.task(who, task_id)
                mark = (shown.revision, shown.progress)
                if mark != last:
                    last = mark
                    yield shown
                if shown.state in ("done", "failed", "cancelled"):
                    return
                await wakeup.wait(FOLLOW_S)
        finally:
            self._followers.discard(wakeup)
            leave()

    # Claims by pull workers

    async def claim_many(self, who: Principal, asked: claims.ClaimMany) -> list[claims.GrantedClaim]:
        """Grant open and due tasks to a pull worker."""
        return await self._gate.write(lambda tx: claims.claim_many(tx, self._injected, who, asked))

    async def claim_wait(
        self, who: Principal, asked: claims.ClaimMany, wait_s: float
    ) -> tuple[list[claims.GrantedClaim], float]:
        """Grant tasks as soon as there are some, waiting at most so long; say how long it waited."""
        wakeup = Wakeup()
        leave = self._injected.notices.subscribe("board", wakeup.setter)
        self._followers.add(wakeup)  # So that shutdown ends the wait
        started = anyio.current_time()
        try:
            while True:
                granted = await self.claim_many(who, asked)
                waited = anyio.current_time() - started
                if granted or waited >= wait_s or self._stopping:
                    return granted, waited
                await wakeup.wait(min(1.0, wait_s - waited))
        finally:
            self._followers.discard(wakeup)
            leave()

    async def recover(self, who: Principal, asked: claims.ClaimMany) -> list[claims.GrantedClaim]:
        """Take over ended leases as their rules allow."""
        return await self._gate.write(lambda tx: claims.recover(tx, self._injected, who, asked))

    async def claim(
        self, who: Principal, task_id: str, agent: str, ttl_s: float | None
    ) -> claims.GrantedClaim:
        """Grant one task, or raise one of the five normal refusals."""
        return await self._gate.write(lambda tx: claims.claim(tx, self._injected, who, task_id, agent, ttl_s))

    async def renew(
        self,
        who: Principal,
        task_id: str,
        token: str,
        ttl_s: float,
        progress: dict[str, object] | None = None,
        progress_number: int = 0,
    ) -> claims.RenewAnswer:
        """Move a lease's end, or raise `LeaseLost`."""
        who.require("worker")
        return await self._gate.write(
            lambda tx: claims.renew(tx, task_id, token, ttl_s, progress, progress_number), urgent=True
        )

    async def complete(self, who: Principal, task_id: str, token: str, result: object) -> TaskView:
        """End a claim as done."""
        who.require("worker")
        return await self._gate.write(lambda tx: claims.complete(tx, self._injected, task_id, token, result))

    async def release(
        self,
        who: Principal,
        task_id: str,
        token: str,
        reason: claims.Reason,
        error: ErrorInfo | None = None,
        subjects: Sequence[str] = (),
    ) -> TaskView:
        """Give a claim back with its reason."""
        who.require("worker")
        return await self._gate.write(
            lambda tx: claims.release(tx, self._injected, task_id, token, reason, error, subjects)
        )

    async def ledger(self, who: Principal, task_id: str, claim_token: str) -> Evidence:
        """Return all evidence of a task to the bearer of its newest claim."""
        who.require("worker")

        def query(tx: Transaction) -> Evidence:
            asked = dispatch.presented(task_id, claim_token)
            proof = tx.board.proofs([asked])[asked]
            task = tx.board.load([task_id]).get(task_id)
            if task is None or task.claim is None or proof.generation != task.generation:
                raise LeaseLost(f"this token is not the newest of task {task_id}")
            found = gather(tx, [task], {task_id: task.claim.instance_id}, limit=HISTORY_MAX)
            return found.get(task_id, Evidence())

        return await self._gate.read(query)

    # Workers

    async def register(self, who: Principal, asked: RegisterRequest) -> Registration:
        """Begin a session."""
        return await self._gate.write(lambda tx: sessions.register(tx, self._injected, who, asked))

    async def heartbeat(
        self,
        worker_id: str,
        token: str,
        ttl_s: float,
        room: int,
        usage: Mapping[str, float],
        leases: Sequence[LeaseBeat],
    ) -> HeartbeatAnswer:
        """Keep a registration and the named leases; never behind a batch (D9)."""
        return await self._gate.write(
            lambda tx: sessions.heartbeat(tx, self._injected, worker_id, token, ttl_s, room, usage, leases),
            urgent=True,
        )

    async def deregister(self, worker_id: str, token: str) -> list[str]:
        """End a session and return the task ids still held."""
        return await self._gate.write(lambda tx: sessions.deregister(tx, self._injected, worker_id, token))

    async def workers(self, who: Principal) -> list[WorkerView]:
        """Return every worker as the store judges it now."""
        who.require("read")
        return await self._gate.read(sessions.workers)

    async def drain(
        self, who: Principal, worker_id: str, *, drained: bool, note: str = "", revision: int | None = None
    ) -> WorkerView:
        """Mark a worker drained, or undo it."""
        return await self._gate.write(
            lambda tx: sessions.drain(
                tx, self._injected, who, worker_id, drained=drained, note=note, revision=revision
            )
        )

    async def acknowledge(
        self, worker_id: str, token: str, room: int, acks: Sequence[Ack]
    ) -> list[AckAnswer]:
        """Answer acknowledgements from the present."""
        answers = await self._gate.write(
            lambda tx: dispatch.acknowledge(tx, self._injected, worker_id, token, room, acks)
        )
        self._faults.reach(FaultPoint.ACK_COMMITTED)
        return answers

    async def witness(self, who: Principal, asked: Sequence[WitnessRequest]) -> list[WitnessAnswer]:
        """Answer witness requests; each is also a renewal."""
        who.require("worker")
        answers = await self._gate.write(lambda tx: effects.witness_many(tx, self._injected, asked))
        self._faults.reach(FaultPoint.WITNESS_COMMITTED)
        return answers

    async def report(self, who: Principal, room: int | None, events: Sequence[Event]) -> list[EventAnswer]:
        """Apply events and answer each once it is durable; a session's room is taken with them."""
        who.require("worker")

        def operation(tx: Transaction) -> list[EventAnswer]:
            answers = reports.report(tx, self._injected, events)
            if room is not None and who.worker_id is not None and who.session is not None:
                sessions.take_room(tx, self._injected, who.worker_id, who.session, room)
            return answers

        answers = await self._gate.write(operation)
        self._faults.reach(FaultPoint.EVENT_COMMITTED)
        return answers

    @asynccontextmanager
    async def open_stream(self, worker_id: str, token: str) -> AsyncGenerator[AsyncIterator[list[Command]]]:
        """Open a session's one stream; yields groups of commands, an empty group as a sign of life."""
        if self._stopping:
            raise NotRegistered("the server is stopping", reason="deregistered")
        opened = await self._gate.write(lambda tx: sessions.open_stream(tx, worker_id, token))
        stream = Stream(opened, self._offer)
        leave = self._injected.notices.subscribe(f"worker:{worker_id}", stream.look)
        self._streams.add(stream)
        self._injected.notices.tell("board")
        try:
            yield stream.groups()
        finally:
            leave()
            stream.end()
            if self._streams.remove(stream):
                with anyio.CancelScope(shield=True):
                    await self._gate.write(lambda tx: sessions.close_stream(tx, opened))

    async def _offer(self, opened: Opened) -> list[Command] | None:
        def operation(tx: Transaction) -> list[Command] | None:
            if not sessions.is_current(tx, opened):
                return None
            return dispatch.offer_again(tx, opened.worker_id, 0, OFFER_MAX)

        return await self._gate.write(operation)


def require_own(who: Principal, worker_id: str) -> None:
    """Raise `Forbidden` unless the caller is that worker's session."""
    if who.worker_id != worker_id:
        raise Forbidden(f"this token is not a session of worker {worker_id}")
