"""One execution inside its executor: what it was given, what was told to it since, and whom it asks."""

import threading
from collections.abc import Callable
from typing import Final, Protocol

from tenure.app.reply import Reply
from tenure.app.threads import Threads
from tenure.core.checkpoint import Progress
from tenure.core.errors import Cancelled, EffectMismatch, TenureError
from tenure.core.execution import BeginEffect, EffectStanding, EndEffect, Saved, Work
from tenure.ports.clock import Clock
from tenure.ports.faults import Faults

ASKED: Final = "asked"
"""The reason of a `Cancelled` that the code asked for itself, at a place that it chose."""


class Desk(Protocol):
    """What an execution asks of the runtime; each reply comes once it is durable."""

    def begin_effect(self, attempt_id: str, wanted: BeginEffect) -> Reply[EffectStanding]:
        """Ask whether an effect may begin."""
        ...

    def end_effect(self, attempt_id: str, ended: EndEffect) -> Reply[None]:
        """Have an effect's outcome saved."""
        ...

    def find_step(self, attempt_id: str, name: str) -> Reply[Saved | None]:
        """Ask for the saved result of a step."""
        ...

    def save_step(self, attempt_id: str, saved: Saved) -> Reply[None]:
        """Have a step's result saved."""
        ...

    def save_checkpoint(self, attempt_id: str, value: object, *, portable: bool) -> Reply[None]:
        """Have a checkpoint saved."""
        ...

    def hold_lease(self, attempt_id: str, seconds: float) -> Reply[bool]:
        """Ask whether the lease is held for so long."""
        ...

    def advance(self, attempt_id: str, progress: Progress) -> None:
        """Hand on progress; never waits."""
        ...


class Surroundings:
    """What all executions of a process share."""

    def __init__(self, desk: Desk, clock: Clock, faults: Faults) -> None:
        """Take the injected world."""
        self.desk = desk
        self.clock = clock
        self.faults = faults
        self.threads = Threads()
        self.is_stopping = False


class Running:
    """The state of one execution; told from the thread that reads the line, read from those that run code."""

    def __init__(self, work: Work, around: Surroundings) -> None:
        """Begin with what the work says."""
        self.work = work
        self.around = around
        self.cancelled = threading.Event()
        self.broken: TenureError | None = None
        self._fenced_at_boot = work.fenced_at_boot
        self._on_cancel: Callable[[], object] | None = None
        self._guard = threading.Lock()
        self._steps: set[str] = set()
        self._effects = 0
        self._none_left = threading.Condition(self._guard)

    @property
    def is_cancelled(self) -> bool:
        """Whether the code was told to stop."""
        return self.cancelled.is_set()

    def now(self) -> float:
        """Return seconds on the boot-time clock."""
        return self.around.clock.boot()

    def cancel(self) -> None:
        """Tell the code to stop."""
        with self._guard:
            first = not self.cancelled.is_set()
            self.cancelled.set()
            tell = self._on_cancel
        if first and tell is not None:
            tell()

    def when_cancelled(self, tell: Callable[[], object]) -> None:
        """Have it told once, also if the cancel came before."""
        with self._guard:
            self._on_cancel = tell
            if not self.cancelled.is_set():
                return
        tell()

    def raise_if_cancelled(self, reason: str | None = None) -> None:
        """Raise `Cancelled` if the code was told to stop."""
        if self.cancelled.is_set():
            raise Cancelled("a cancel was asked for", reason=reason)

    def move_lease(self, fenced_at_boot: float) -> None:
        """Take the newest local deadline."""
        self._fenced_at_boot = fenced_at_boot

    def holds_for(self, seconds: float) -> bool:
        """Say whether the deadline as it is known here is certainly so far away; False: ask."""
        return self._fenced_at_boot is None or self.now() + seconds < self._fenced_at_boot

    def check_unbroken(self) -> None:
        """Raise again what a failed save raised: no further effect begins after it. C078."""
        if self.broken is not None:
            raise self.broken

    def enter_step(self, name: str) -> None:
        """Take a step's name; only once, or a second step would silently get the first one's result."""
        with self._guard:
            if name in self._steps:
                raise EffectMismatch(f"step {name!r} was used before; names are unique within a run")
            self._steps.add(name)

    def enter_effect(self) -> None:
        """Count an effect that is under way."""
        with self._guard:
            self._effects += 1

    def leave_effect(self) -> None:
        """Uncount it."""
        with self._guard:
            self._effects -= 1
            if self._effects == 0:
                self._none_left.notify_all()

    def wait_effects(self) -> None:
        """Wait until no effect is under way; each is bounded by its own timeout."""
        with self._guard:
            self._none_left.wait_for(lambda: self._effects == 0)
