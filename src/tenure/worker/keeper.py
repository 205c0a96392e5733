"""Heartbeats on fixed ticks: the registration, and every lease by its own token. D9, D14, D15.

Nothing that is slow is waited for here, and nothing but the end of the process comes after it. A lease that
is answered lost, or a cancel that is answered with it, is acted on at once; silence only lets deadlines
pass.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from tenure.core.claim import LeaseAnswer, LeaseBeat
from tenure.core.errors import DeliveryFailed, TenureError
from tenure.core.registration import HeartbeatAnswer
from tenure.worker.alarms import Alarm
from tenure.worker.books import Entry
from tenure.worker.calls import SessionOver, ask
from tenure.worker.drains import Drains
from tenure.worker.session import Session, Sessions
from tenure.worker.stops import Stops
from tenure.worker.tools import Tools

LEASES_MAX: Final = 1_000  # Bound: the protocol's, for one call
BOUND_SHARE: Final = 0.8
"""Bound: a call may take this share of the interval, so that none waits for the one before."""
PROGRESS_S: Final = 2.0
"""Bound: how long progress that somebody may be watching waits for a tick."""


class Keeper:
    """Renews while there is a session; the last to stop."""

    def __init__(
        self, tools: Tools, sessions: Sessions, stops: Stops, drains: Drains, renewed: Callable[[], None]
    ) -> None:
        """Tell `renewed` after each heartbeat that was answered: what waited for its lease may start."""
        self._tools = tools
        self._sessions = sessions
        self._stops = stops
        self._drains = drains
        self._renewed = renewed
        self._due = asyncio.Event()
        self._wait_s = tools.config.ttl_s
        self._waiting: list[asyncio.Future[None]] = []
        self._progress_due: Alarm | None = None

    def soon(self) -> None:
        """Beat now rather than at the next tick: a room has changed that others count on."""
        self._due.set()

    def consider(self, entry: Entry) -> None:
        """Take a lease into account that may be too short for the wait that is under way."""
        if entry.attempt.spec.lease_ttl_s / 3 < self._wait_s:
            self.soon()

    def progressed(self) -> None:
        """Have new progress heard before long, between two ticks if they are far apart."""
        if self._progress_due is None:
            self._progress_due = self._tools.alarms.after(PROGRESS_S, self.soon)

    def beat(self) -> "asyncio.Future[None]":
        """Return what resolves when an extra heartbeat has been answered, or has not, within a bound."""
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(over)
        self._tools.alarms.after(self._tools.config.call_s, lambda: _resolve(over))
        self.soon()
        return over

    async def run(self, session: Session) -> None:
        """Beat at once, and then on ticks of a random phase, until the session is over. B31."""
        alarms = self._tools.alarms
        tick = alarms.now() + self._interval_s(session) * self._tools.ids.jitter()
        try:
            while True:
                self._due.clear()
                await self._beat(session)
                interval_s = self._wait_s = self._interval_s(session)
                now = alarms.now()
                # Fixed ticks: a late one does not move those after it, and missed ones are not made up for.
                while tick <= now:
                    tick += interval_s
                tick = min(tick, now + interval_s)
                alarm = alarms.at(tick, self._due.set)
                try:
                    await self._due.wait()
                finally:
                    alarms.call_off(alarm)
        except SessionOver:
            return

    def _interval_s(self, session: Session) -> float:
        """Return a third of the shortest thing that is kept alive."""
        shortest = min(
            (entry.attempt.spec.lease_ttl_s for entry in self._tools.books.leased()),
            default=self._tools.config.ttl_s,
        )
        return min(self._tools.config.ttl_s / 3, shortest / 3, session.registration.heartbeat_s)

    async def _beat(self, session: Session) -> None:
        self._tools.saving.look_for_room()
        self._tools.alarms.call_off(self._progress_due)
        self._progress_due = None
        entries = list(self._tools.books.leased())
        bound_s = self._interval_s(session) * BOUND_SHARE
        waiting, self._waiting = self._waiting, []
        try:
            for start in range(0, max(len(entries), 1), LEASES_MAX):
                await self._ask(session, entries[start : start + LEASES_MAX], bound_s)
        except DeliveryFailed as error:
            self._tools.observer.tell("heartbeat.deferred", error=error.text)
        except SessionOver:
            raise
        except TenureError as refused:
            self._tools.observer.tell("heartbeat.refused", error=refused.text)
        finally:
            for over in waiting:
                _resolve(over)
        self._renewed()

    async def _ask(self, session: Session, entries: Sequence[Entry], bound_s: float) -> None:
        tools = self._tools
        asked_at = tools.alarms.now()
        beats = [_lease_beat(entry) for entry in entries]
        call = tools.parts.control_plane.heartbeat(
            tools.config.worker_id,
            session.token,
            tools.config.ttl_s,
            tools.books.room,
            tools.books.usage(),
            beats,
        )
        answer = await ask(tools.alarms, session, call, bound_s, "a heartbeat")
        self._take(answer, asked_at)
        leases = {lease.task_id: lease for lease in answer.leases}
        for entry, beat in zip(entries, beats, strict=True):
            lease = leases.get(beat.task_id)
            if lease is not None:
                self._take_lease(entry, beat, lease, asked_at)

    def _take(self, answer: HeartbeatAnswer, asked_at: float) -> None:
        # The instant is the store's at some moment since; the latest one makes ages too young, never too old.
        store_now = answer.expires_at.timestamp() - answer.ttl_s
        self._sessions.heard(store_now, max(asked_at, self._tools.alarms.now()))
        self._drains.hear(drained=answer.drained, number=answer.drained_number)

    def _take_lease(self, entry: Entry, beat: LeaseBeat, lease: LeaseAnswer, asked_at: float) -> None:
        if lease.state == "lost":
            self._stops.lost(entry)
            return
        self._tools.renewed(entry, asked_at + lease.ttl_s)
        entry.progress_told = max(entry.progress_told, beat.progress_number)
        if lease.progress_refused is not None:
            self._tools.observer.tell("progress.refused", attempt_id=entry.id, error=lease.progress_refused)
        if lease.cancel_requested:
            self._stops.cancel(entry)


def _lease_beat(entry: Entry) -> LeaseBeat:
    """Return the renewal of one lease, with progress where the control plane has not heard the newest."""
    attempt = entry.attempt
    newest = entry.progress is not None and entry.progress_number > entry.progress_told
    return LeaseBeat(
        task_id=attempt.task_id,
        token=attempt.token,
        ttl_s=attempt.spec.lease_ttl_s,
        progress=msgspec.to_builtins(entry.progress) if newest else None,
        progress_number=entry.progress_number if newest else 0,
    )


def _resolve(over: "asyncio.Future[None]") -> None:
    if not over.done():
        over.set_result(None)
