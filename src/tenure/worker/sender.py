"""The single sender of facts: saved first, then signalled; in order, in batches, for as long as it takes.

Failures fall into classes, and only one of them is retried. C079 to C090.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec

from tenure.core.attempt import Attempt
from tenure.core.backoff import SENDER_S_MAX, jittered_s, sender_delay_s
from tenure.core.capability import Recovery
from tenure.core.effect import ATTEMPT_SUBJECT
from tenure.core.errors import DeliveryFailed, TenureError
from tenure.core.event import Answer, Event, EventKind, FailedBody, UnknownBody
from tenure.core.faultpoints import FaultPoint
from tenure.core.task import ErrorInfo
from tenure.ports.local import LocalTransaction
from tenure.worker.alarms import Alarm
from tenure.worker.calls import SessionOver, ask
from tenure.worker.session import Session
from tenure.worker.tools import Tools

EVENTS_MAX: Final = 1_000  # Bound: the protocol's, for one call
BATCH_BYTES_MAX: Final = 1024 * 1024
LOOK_S: Final = 1.0
PRUNE_EVERY: Final = 500  # Bound: so many confirmed events, and what is old is looked for
REASON_MAX: Final = 2_000


class Flush:
    """Somebody's wish to know what one complete flush came to."""

    def __init__(self) -> None:
        """Wait for the next flush."""
        self.over = asyncio.Event()
        self.error: TenureError | None = None

    def settle(self, error: TenureError | None) -> None:
        """Say what it came to; nobody needs to listen."""
        self.error = error
        self.over.set()


class Sender:
    """Delivers the outbox, one session after another; nothing else sends events."""

    def __init__(self, tools: Tools) -> None:
        """Send nothing before `run` runs."""
        self._tools = tools
        self._hint = asyncio.Event()
        self._flushes: list[Flush] = []
        self._taken: list[Flush] = []
        self._failures = 0
        self._unpruned = 0

    def wake(self) -> None:
        """Hint that something was saved; any number of hints before it looks are one. C080."""
        self._hint.set()

    async def flush(self) -> TenureError | None:
        """Return what the next complete flush comes to: None, or the error that ended it. C088."""
        flush = Flush()
        self._flushes.append(flush)
        self.wake()
        try:
            await flush.over.wait()
        finally:
            if flush in self._flushes:
                self._flushes.remove(flush)  # Whoever gave up must not be waited for
        return flush.error

    async def run(self, session: Session) -> None:
        """Send what earlier sessions left, then whatever is saved, until the session is over. C079, C086."""
        try:
            while not session.over.is_set():
                self._hint.clear()
                self._taken, self._flushes = self._flushes, []
                await self._flush_once(session)
        finally:
            self._flushes = (
                self._taken + self._flushes
            )  # Their flush was cut short; the next session's counts
            self._taken = []

    async def _flush_once(self, session: Session) -> None:
        """Send all there is, and wait for what comes next, or for the time to try again."""
        try:
            await self._send_all(session)
        except SessionOver as over:
            self._finish(over.cause)
        except DeliveryFailed as error:
            self._finish(error)
            await self._back_off(error)
        else:
            self._finish(None)
            self._failures = 0
            await self._wait()

    async def _wait(self) -> None:
        """Wait for a hint, and look by itself each second, since hints may be lost."""
        alarm: Alarm = self._tools.alarms.after(LOOK_S, self._hint.set)
        try:
            await self._hint.wait()
        finally:
            self._tools.alarms.call_off(alarm)

    async def _back_off(self, error: DeliveryFailed) -> None:
        """Wait 1, 2, 4 … 30 seconds, whatever hints come meanwhile. C083, C089."""
        self._failures += 1
        delay_s = jittered_s(sender_delay_s(self._failures), self._tools.ids.jitter())
        if error.retry_after_s is not None:
            delay_s = min(max(delay_s, error.retry_after_s), SENDER_S_MAX)
        self._tools.observer.tell("delivery.deferred", error=error.text, delay_s=delay_s)
        await self._tools.alarms.sleep(delay_s)

    def _finish(self, error: TenureError | None) -> None:
        for flush in self._taken:
            flush.settle(error)
        self._taken = []

    async def _send_all(self, session: Session) -> None:
        """Send until nothing is pending; each step marks what was confirmed and fetches what is next."""
        confirmed: list[Event] = []
        while batch := await self._next(confirmed):
            confirmed = await self._deliver(session, batch[: _fitting(batch)])
            self._failures = 0

    async def _next(self, confirmed: Sequence[Event]) -> list[Event]:
        """Mark events as confirmed, and return the next pending ones: one transaction. C081."""
        ids = [event.event_id for event in confirmed]
        batch = await self._tools.saving.insist(partial(mark_and_fetch, confirmed=ids))
        for event in confirmed:
            self._tools.reach(FaultPoint.REPORTED, event.event_id)
            if event.kind.is_final:
                self._tools.books.drop(event.attempt_id)
        self._unpruned += len(ids)
        if self._unpruned >= PRUNE_EVERY:
            self._unpruned = 0
            await self._tools.saving.prune()
        return batch

    async def _deliver(self, session: Session, batch: Sequence[Event]) -> list[Event]:
        """Send a batch and return what was confirmed; what will never be taken is set aside. C090, B28."""
        for event in batch:
            self._tools.reach(FaultPoint.EVENT_SENT, event.event_id)
        call = self._tools.parts.control_plane.report(session.token, self._tools.books.room, batch)
        try:
            answers = await ask(self._tools.alarms, session, call, self._tools.config.call_s, "events")
        except DeliveryFailed:
            raise
        except TenureError as refused:
            return await self._divide(session, batch, refused)
        for event in batch:
            self._tools.reach(FaultPoint.EVENT_ANSWERED, event.event_id)
        confirmed: list[Event] = []
        for event, answer in zip(batch, answers, strict=True):
            if answer.answer is Answer.INVALID:
                await self._set_aside(event, answer.detail or "the control plane will not take it")
            else:
                confirmed.append(event)
        return confirmed

    async def _divide(self, session: Session, batch: Sequence[Event], refused: TenureError) -> list[Event]:
        """Find the event that spoils its batch, so that the others go on in order."""
        if len(batch) == 1:
            await self._set_aside(batch[0], refused.text)
            return []
        half = len(batch) // 2
        first = await self._deliver(session, batch[:half])
        return first + await self._deliver(session, batch[half:])

    async def _set_aside(self, event: Event, reason: str) -> None:
        """Quarantine an event, visibly; for a final one, another that every server takes stands in. D8."""
        event_id = self._tools.ids.new_id()
        operation = partial(set_aside, event=event, reason=reason[:REASON_MAX], event_id=event_id)
        goes_on = await self._tools.saving.insist(operation)
        self._tools.observer.tell(
            "event.quarantined", event_id=event.event_id, kind=str(event.kind), reason=reason
        )
        if event.kind.is_final and not goes_on:
            self._tools.books.drop(event.attempt_id)


def mark_and_fetch(tx: LocalTransaction, confirmed: Sequence[str]) -> list[Event]:
    """Mark events as reported, and return the oldest that are still pending."""
    if confirmed:
        tx.outbox.mark_reported(confirmed)
    return tx.outbox.pending(EVENTS_MAX)


def set_aside(tx: LocalTransaction, event: Event, reason: str, event_id: str) -> bool:
    """Quarantine an event; for a final one append its stand-in, and say whether there is one."""
    attempt = tx.attempts.load([event.attempt_id]).get(event.attempt_id) if event.kind.is_final else None
    if attempt is None:
        return tx.outbox.quarantine(event.event_id, reason)
    return tx.outbox.quarantine(event.event_id, reason, _stand_in(attempt, event, reason, event_id))


def _stand_in(attempt: Attempt, event: Event, reason: str, event_id: str) -> Event:
    """Return the least that ends a claim: unknown, or failed where running again is always right."""
    if attempt.rule is Recovery.RECOMPUTE:
        kind, body = EventKind.FAILED, FailedBody(ErrorInfo(type="quarantined", message=reason))
    else:
        kind, body = EventKind.UNKNOWN, UnknownBody([ATTEMPT_SUBJECT], reason)
    return msgspec.structs.replace(
        event, event_id=event_id, sequence=event.sequence + 1, kind=kind, body=msgspec.to_builtins(body)
    )


def _fitting(batch: Sequence[Event]) -> int:
    """Return how many of the first events make a batch of at most 1 MiB; at least one."""
    size = 0
    for count, event in enumerate(batch):
        size += len(msgspec.json.encode(event))
        if size > BATCH_BYTES_MAX and count:
            return count
    return len(batch)
