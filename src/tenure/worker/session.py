"""Sessions: one registration of this instance after another, with proof that its folder is no copy. C117."""

import asyncio
from datetime import datetime
from typing import Final

import msgspec

from tenure.core.backoff import jittered_s, sender_delay_s
from tenure.core.capability import Capability
from tenure.core.errors import DeliveryFailed, InvariantBroken, OutcomeUnknown, TenureError, Unavailable
from tenure.core.execution import ManifestEntry
from tenure.core.registration import RegisterRequest, Registration
from tenure.ports.local import InstanceRow, LocalTransaction
from tenure.worker.tools import Tools

UNCONFIRMED_MAX: Final = 900  # Bound: starts in a row that never heard of a registration


class Session:
    """One registration; over once it was ended by anybody who learned why."""

    def __init__(self, registration: Registration, opened_at: float) -> None:
        """Begin with the answer to the registration and the moment before it was asked for."""
        self.registration = registration
        self.token = registration.token
        self.opened_at = opened_at
        self.cause: TenureError | None = None
        self.over = asyncio.Event()

    def end(self, cause: TenureError | None) -> None:
        """End it; the first cause counts, None is this worker's own wish."""
        if not self.over.is_set():
            self.cause = cause
            self.over.set()


class Sessions:
    """The present session, for those who outlive sessions."""

    def __init__(self) -> None:
        """Begin without one."""
        self._present: Session | None = None
        self._opened = asyncio.Event()
        self._store_instant: tuple[float, float] | None = None

    @property
    def present(self) -> Session | None:
        """The present session, if there is one and it is not over."""
        session = self._present
        return session if session is not None and not session.over.is_set() else None

    async def wait(self) -> Session:
        """Return the present session, or the next one."""
        while (session := self.present) is None:
            self._opened.clear()
            await self._opened.wait()
        return session

    def open(self, session: Session) -> None:
        """Make it the present one."""
        self._present = session
        self._opened.set()

    def close(self) -> None:
        """Be without one."""
        self._present = None

    def heard(self, store_now: float, at: float) -> None:
        """Note what the control plane's clock said (seconds) at a moment of ours; only for telling ages."""
        self._store_instant = (store_now, at)

    def age_s(self, since: datetime | None, at: float) -> float | None:
        """Return how long ago an instant of the control plane's clock was; None: not known."""
        if since is None or self._store_instant is None:
            return None
        then, heard_at = self._store_instant
        return max(0.0, then - since.timestamp() + at - heard_at)


class Registrar:
    """Registers this instance: draws an incarnation at the start, and goes on with it for every session."""

    def __init__(self, tools: Tools) -> None:
        """Draw nothing yet."""
        self._tools = tools
        self._row: InstanceRow | None = None
        self._incarnation = ""
        self._tries = 0
        self._failures = 0

    @property
    def row(self) -> InstanceRow:
        """The identity as it is saved."""
        if self._row is None:
            raise InvariantBroken("the identity is asked for before it was drawn")
        return self._row

    async def draw(self) -> InstanceRow:
        """Save this start's incarnation before anybody hears of it; a new store gets its identity too."""
        incarnation = self._tools.ids.new_id()
        fresh = InstanceRow(instance_id=self._tools.ids.new_id())

        def operation(tx: LocalTransaction) -> InstanceRow:
            known = tx.identity.read() or fresh
            drawn = (*known.unconfirmed, incarnation)[-UNCONFIRMED_MAX:]
            row = msgspec.structs.replace(known, unconfirmed=drawn)
            tx.identity.write(row)
            return row

        self._row = await self._tools.saving.insist(operation)
        self._incarnation = incarnation
        books = self._tools.books
        books.is_drained, books.drained_number = self._row.drained, self._row.drained_number
        self._tools.instance_id = self._row.instance_id
        self._tools.store_epoch = max(self._row.store_epoch, 1)
        return self._row

    async def register(self) -> Session:
        """Begin a session, trying for as long as nobody answers, and confirm the incarnation. D12 D23.

        Raises:
            Refused: The answer is no, and asking again unchanged will not help.
        """
        while True:
            asked_at = self._tools.alarms.now()
            try:
                session = Session(await self._ask(), asked_at)
            except DeliveryFailed as error:
                await self.back_off(error)
            else:
                await self._confirm()
                return session

    async def back_off(self, cause: TenureError) -> None:
        """Wait longer after each failure in a row, jittered within the cap (B31)."""
        self._failures += 1
        delay_s = jittered_s(sender_delay_s(self._failures), self._tools.ids.jitter())
        self._tools.observer.tell("register.deferred", error=cause.text, delay_s=delay_s)
        await self._tools.alarms.sleep(delay_s)

    def was_stable(self) -> None:
        """Begin the delays anew: a session has lasted."""
        self._failures = 0

    async def _ask(self) -> Registration:
        tools = self._tools
        self._tries += 1
        try:
            with tools.alarms.bound(tools.config.call_s, "registering"):
                return await tools.parts.control_plane.register(self._request())
        except DeliveryFailed:
            raise
        except (Unavailable, OutcomeUnknown) as error:
            raise DeliveryFailed(error.text) from error

    def _request(self) -> RegisterRequest:
        config, row = self._tools.config, self.row
        before = [name for name in row.unconfirmed if name != self._incarnation]
        return RegisterRequest(
            worker_id=config.worker_id,
            instance_id=row.instance_id,
            ttl_s=config.ttl_s,
            node_id=config.node_id,
            incarnation=self._incarnation,
            predecessors=before + ([row.confirmed] if row.confirmed is not None else []),
            try_number=self._tries,
            queues=config.queues,
            labels=config.labels,
            capabilities=[_declared(entry) for entry in self._tools.manifest],
            slots=config.slots,
            room=self._tools.books.room,
            resources=config.resources,
        )

    async def _confirm(self) -> None:
        if self.row.confirmed == self._incarnation:
            return

        def operation(tx: LocalTransaction) -> InstanceRow:
            row = msgspec.structs.replace(
                tx.identity.read() or self.row, confirmed=self._incarnation, unconfirmed=(), tries=self._tries
            )
            tx.identity.write(row)
            return row

        self._row = await self._tools.saving.insist(operation)


def _declared(entry: ManifestEntry) -> Capability:
    return Capability(entry.name, entry.version, entry.recovery, entry.window, entry.input_schema)
