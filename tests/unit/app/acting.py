"""A ledger whose answers a test writes down, and effects carried out by either kind of attempt."""

import asyncio
import inspect
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TypeVar, cast

from tenure.app.attempt import AsyncAttempt, Attempt
from tenure.app.awaiting import LoopWaiting
from tenure.app.reply import Reply
from tenure.app.running import Running, Surroundings
from tenure.core.checkpoint import Progress
from tenure.core.errors import Unavailable
from tenure.core.execution import BeginEffect, EffectStanding, EndEffect, Saved, Work
from tenure.core.faultpoints import FaultPoint

T = TypeVar("T")

REQUEST = "task.1.act"
GO = EffectStanding("go", REQUEST)
ENDED = EffectStanding("in_doubt", REQUEST, predecessor="ended")
MAY_ACT = EffectStanding("in_doubt", REQUEST, predecessor="may_still_act")


class ManualClock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.at = 1_000.0

    def wall(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)

    def boot(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds


class Points:
    """Remembers which fault points were reached, and may do something there."""

    def __init__(self) -> None:
        self.seen: list[FaultPoint] = []
        self.act: Callable[[FaultPoint], object] = self.seen.append

    def reach(self, point: FaultPoint, subject: str = "") -> None:
        self.act(point)


class Desk:
    """Gives the answers that were written down, and remembers what it was told."""

    def __init__(self, standings: Iterable[EffectStanding]) -> None:
        self.standings = list(standings)
        self.asked: list[BeginEffect] = []
        self.told: list[EndEffect] = []
        self.checkpoints: list[object] = []
        self.steps: dict[str, Saved] = {}
        self.progress: list[Progress] = []
        self.holds = True
        self.held: list[float] = []
        self.broken: Unavailable | None = None

    def begin_effect(self, attempt_id: str, wanted: BeginEffect) -> Reply[EffectStanding]:
        self.asked.append(wanted)
        return self._reply(self.standings.pop(0) if len(self.standings) > 1 else self.standings[0])

    def end_effect(self, attempt_id: str, ended: EndEffect) -> Reply[None]:
        self.told.append(ended)
        return self._reply(None)

    def find_step(self, attempt_id: str, name: str) -> Reply[Saved | None]:
        return self._reply(self.steps.get(name))

    def save_step(self, attempt_id: str, saved: Saved) -> Reply[None]:
        self.steps[saved.name] = saved
        return self._reply(None)

    def save_checkpoint(self, attempt_id: str, value: object, *, portable: bool) -> Reply[None]:
        self.checkpoints.append((value, portable))
        return self._reply(None)

    def hold_lease(self, attempt_id: str, seconds: float) -> Reply[bool]:
        self.held.append(seconds)
        return self._reply(self.holds)

    def advance(self, attempt_id: str, progress: Progress) -> None:
        self.progress.append(progress)

    @property
    def outcomes(self) -> list[str]:
        """What effects came to, in order."""
        return [ended.state for ended in self.told]

    def _reply(self, value: T) -> Reply[T]:
        reply: Reply[T] = Reply()
        if self.broken is None:
            reply.settle(value)
        else:
            reply.fail(self.broken)
        return reply


class Scene:
    """One execution with its desk, its clock and its fault points; `kind` says how it is carried out."""

    def __init__(self, kind: str, *standings: EffectStanding, fenced_at: float | None = None) -> None:
        self.kind = kind
        self.desk = Desk(standings or [GO])
        self.clock = ManualClock()
        self.points = Points()
        work = Work("task.1", "task", 1, 1, 1, "acts", "1", {}, "process", fenced_at_boot=fenced_at)
        self.running = Running(work, Surroundings(self.desk, self.clock, self.points))

    def do(self, call: Callable[[Attempt], object]) -> object:
        """Call an attempt's method and return what it comes to, awaited or not."""
        if self.kind == "plain":
            return call(Attempt(self.running))

        async def awaited() -> object:
            result = call(cast("Attempt", AsyncAttempt(self.running, LoopWaiting(self.running))))
            return await result if inspect.isawaitable(result) else result

        return asyncio.run(awaited())

    def effect(self, apply: Callable[[str], object], **terms: object) -> object:
        """Perform an effect, `act` unless another name is given."""
        name, params = terms.pop("name", "act"), terms.pop("params", {"a": 1})
        return self.do(
            lambda attempt: cast("Callable[..., object]", attempt.effect)(name, params, apply, **terms)
        )
