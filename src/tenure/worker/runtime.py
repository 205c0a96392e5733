"""The Runtime, the worker that survives: joins its parts and carries them through sessions. C049, C094."""

from collections.abc import Callable
from typing import cast

import anyio
from anyio import CancelScope

from tenure.core.errors import (
    Forbidden,
    Forked,
    NotRegistered,
    OutcomeUnknown,
    Refused,
    StoreUnavailable,
    TenureError,
    Unauthenticated,
)
from tenure.worker import resume
from tenure.worker.alarms import Alarms
from tenure.worker.books import Books, Entry
from tenure.worker.config import RuntimeConfig
from tenure.worker.drains import Drains
from tenure.worker.effects import Services
from tenure.worker.ended import Ended, EndReason
from tenure.worker.intake import Intake
from tenure.worker.keeper import Keeper
from tenure.worker.limits import Limits
from tenure.worker.parts import Parts
from tenure.worker.running import Runner
from tenure.worker.saving import Saving
from tenure.worker.sender import Sender
from tenure.worker.session import Registrar, Session, Sessions
from tenure.worker.settling import Settling
from tenure.worker.stopping import Stopping
from tenure.worker.stops import Stops
from tenure.worker.tools import Tools

Ready = Callable[[], None]


class Runtime:
    """One worker, from its start to its end; it runs once.

    It closes the executor. The local store and the control plane are whoever opened them to close, after it.
    """

    def __init__(self, parts: Parts, config: RuntimeConfig) -> None:
        """Check parts and config, and join them; nothing is called yet.

        Raises:
            InvalidConfig: A part is missing, or the config names no usable worker. C048, C049.
        """
        parts.check()
        config.check()
        alarms, books = Alarms(parts.clock), Books(config)
        self._tools = Tools(parts, config, alarms, Saving(parts.store, alarms, parts.observer, books), books)
        self._sessions = Sessions()
        self._registrar = Registrar(self._tools)
        self._sender = Sender(self._tools)
        self._settling = Settling(self._tools, self._sender)
        self._stops = Stops(self._tools, self._settling)
        self._drains = Drains(self._tools, self._stops)
        self._keeper = Keeper(self._tools, self._sessions, self._stops, self._drains, self._lease_held)
        self._services = Services(
            self._tools, self._sessions, self._settling, self._stops, self._sender, self._keeper
        )
        self._runner = Runner(
            self._tools,
            self._settling,
            self._stops,
            Limits(self._tools, self._stops),
            self._services.execution,
            self._ask_again,
            self._module_changed,
        )
        self._intake = Intake(self._tools, self._runner, self._stops, self._drains, self._keeper)
        self._stopping = Stopping(
            self._tools, self._stops, self._keeper, self._sender, self._services.progressing, self._leave
        )
        self._registering = CancelScope()
        self._is_restored = False
        self._left: Ended | None = None
        self._changed: str | None = None

    def stop(self) -> None:
        """Stop in order; asked a second time, cancel what still runs. Call it on the event loop."""
        self._stopping.ask()

    async def run(self, ready: Ready = lambda: None) -> Ended:
        """Run until stopped, displaced, refused or without a store, and say which it was.

        `ready` is called each time that a stream is open: registered, restored, and taking commands.

        Raises:
            InvalidConfig: The executor cannot import the application.
        """
        try:
            try:
                await self._prepare()
            except StoreUnavailable as failed:
                ended = Ended(EndReason.STORE_FAILED, failed.text)
            else:
                ended = await self._run_parts(ready)
        finally:
            with CancelScope(shield=True):
                await self._tools.parts.executor.close()
        self._tools.observer.tell("worker.ended", reason=str(ended.reason), text=ended.text)
        return ended

    async def _prepare(self) -> None:
        """Prove that nothing of an earlier process is left, then learn what this one can do. C122."""
        await resume.prove_none_left(self._tools)
        self._tools.manifest = await self._tools.parts.executor.manifest()

    async def _run_parts(self, ready: Ready) -> Ended:
        ended: Ended | None = None
        try:
            async with anyio.create_task_group() as group:
                for part in (
                    self._tools.alarms.run,
                    self._tools.saving.watch,
                    self._settling.run,
                    self._stops.run,
                    self._drains.run,
                    self._services.witnesses.run,
                    self._services.progressing.run,
                    self._runner.run,
                    self._stopping.run,
                ):
                    group.start_soon(part)
                ended = await self._live(ready)
                # What is not settled by now is left for whoever holds the folder next.
                group.cancel_scope.cancel()
        except* (StoreUnavailable, OutcomeUnknown) as failed:
            ended = Ended(EndReason.STORE_FAILED, _first(failed))
        return ended or Ended(EndReason.STORE_FAILED, "the local store was closed under the runtime")

    async def _live(self, ready: Ready) -> Ended:
        """Carry one session after another."""
        await self._registrar.draw()
        while True:
            session = await self._register()
            if isinstance(session, Ended):
                return session
            if not self._is_restored:
                await resume.restore(self._tools, self._settling, self._stops, self._runner)
                self._is_restored = True
            await self._carry(session, ready)
            ended = await self._after(session)
            if ended is not None:
                return ended

    async def _register(self) -> Session | Ended:
        """Begin a session, or learn that there will be none."""
        if self._left is not None:
            return self._left
        try:
            with CancelScope() as self._registering:
                return await self._registrar.register()
        except Forked as copied:
            return Ended(EndReason.FORKED, copied.text)
        except (Unauthenticated, Forbidden) as denied:
            return Ended(EndReason.UNAUTHORISED, denied.text)
        except NotRegistered as displaced:
            return Ended(EndReason.DISPLACED, displaced.text)
        except (StoreUnavailable, OutcomeUnknown):
            raise  # The local store's, since the other side's is asked again
        except TenureError as refused:
            return Ended(EndReason.REFUSED, refused.text)
        return self._left or Ended(EndReason.UNDELIVERED, "stopped before anybody answered")

    async def _carry(self, session: Session, ready: Ready) -> None:
        """Run what belongs to a session until it is over; only then may the next one's sender start. C079."""
        self._sessions.open(session)
        if self._left is not None:
            session.end(None)  # It came too late
        self._tools.observer.tell("session.opened", worker_id=self._tools.config.worker_id)
        self._drains.hear(drained=session.registration.drained, number=session.registration.drained_number)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._keeper.run, session)
                group.start_soon(self._sender.run, session)
                group.start_soon(self._intake.run, session, ready)
                await session.over.wait()
                group.cancel_scope.cancel()
        finally:
            self._sessions.close()

    async def _after(self, session: Session) -> Ended | None:
        """Decide what the end of a session means: another one, or the end of this worker. D5, D12."""
        with CancelScope() as self._registering:
            return await self._judge(session.cause, session)
        return self._left

    async def _judge(self, cause: TenureError | None, session: Session) -> Ended | None:
        self._tools.observer.tell("session.ended", cause=cause.text if cause is not None else "left")
        match cause:
            case None:
                return await self._deregister(session)
            case NotRegistered() if cause.reason == "displaced":
                return Ended(EndReason.DISPLACED, cause.text)
            case Refused() if isinstance(cause, Unauthenticated | Forbidden):
                await self._registrar.back_off(cause)
                return self._left
            case _:
                if self._tools.alarms.now() - session.opened_at < self._tools.config.ttl_s / 2:
                    await self._registrar.back_off(cause)
                else:
                    self._registrar.was_stable()
                return self._left

    async def _deregister(self, session: Session) -> Ended:
        """End the registration, the last thing done; what does not go well is never a clean end. C056."""
        left = self._left or Ended(EndReason.STOPPED, "stopped")
        worker_id = self._tools.config.worker_id
        try:
            with self._tools.alarms.bound(self._tools.config.call_s, "deregistering"):
                await self._tools.parts.control_plane.deregister(worker_id, session.token)
        except NotRegistered as displaced:
            return Ended(EndReason.DISPLACED, displaced.text) if displaced.reason == "displaced" else left
        except TenureError as error:
            if left.reason is EndReason.STOPPED:
                return Ended(EndReason.UNDELIVERED, f"stopped, but not deregistered: {error.text}")
        return left

    def _lease_held(self) -> None:
        """Start what waited for its lease, or for room on the disk."""
        self._runner.fill()

    def _ask_again(self, entry: Entry) -> None:
        self._intake.ask_again(entry)

    def _leave(self, undelivered: TenureError | None) -> None:
        """Leave the session, or give up getting one: everything that could be done is done."""
        if undelivered is not None:
            text = f"stopped; what is left in the outbox waits for the next start: {undelivered.text}"
            self._left = Ended(EndReason.UNDELIVERED, text)
        elif self._changed is not None:
            self._left = Ended(EndReason.CHANGED, self._changed)
        else:
            self._left = Ended(EndReason.STOPPED, "stopped")
        self._registering.cancel()
        if self._sessions.present is not None:
            self._sessions.present.end(None)

    def _module_changed(self, text: str) -> None:
        """Stop, since the code on the disk is not the code that this worker declared."""
        if self._changed is None:
            self._changed = text
            self.stop()


def _first(failed: BaseExceptionGroup[BaseException]) -> str:
    """Return the text of the first error of a group."""
    first = failed.exceptions[0]
    if isinstance(first, BaseExceptionGroup):
        return _first(cast("BaseExceptionGroup[BaseException]", first))
    return first.text if isinstance(first, TenureError) else str(first)
