"""How each blow falls at each fault point: which call a point belongs to, and what has to be armed when."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from tenure.core.faultpoints import FaultPoint as P
from tenure.testing.gates import Act, Strike, hold, kill_visitor, then
from tenure.testing.traffic import Rule
from tests.crash.cells import Blow, Cell, home_of
from tests.crash.rig import Rig
from tests.crash.world import World

HOLDER = "one"
OTHER = "two"

BEHIND_THE_END = frozenset({P.EVENT_SENT, P.EVENT_COMMITTED, P.ANSWER_SENT, P.EVENT_ANSWERED, P.REPORTED})
"""Points that are reached for every event; here they are struck for the final one, the most telling."""


class When(StrEnum):
    """When the loss of a reply is prepared."""

    BEFORE = "before"
    """With the strike itself: the point lies behind the reply, or beside it."""
    THERE = "there"
    """While the visitor stands at the point: its next call is meant."""


@dataclass(frozen=True)
class Loss:
    """The call whose reply is lost at a point."""

    when: When
    path: str


STREAM = "commands"
ACT = "act"

LOSSES: dict[P, Loss] = {
    P.CLAIM_COMMITTED: Loss(When.THERE, STREAM),
    P.COMMAND_RECEIVED: Loss(When.THERE, STREAM),
    P.INBOX_COMMITTED: Loss(When.BEFORE, "/acks"),
    P.ACK_SENT: Loss(When.BEFORE, "/acks"),
    P.ACK_COMMITTED: Loss(When.BEFORE, "/acks"),
    P.ACK_ANSWERED: Loss(When.BEFORE, "/acks"),
    # These belong to no call of their own, so the next one that the attempt makes loses its reply.
    P.RUNNING_COMMITTED: Loss(When.THERE, "/(events|effects|heartbeat)"),
    P.HANDED_TO_EXECUTOR: Loss(When.THERE, "/(events|effects|heartbeat)"),
    P.CHECKPOINT_COMMITTED: Loss(When.THERE, "/events"),
    P.INTENT_SAVED: Loss(When.BEFORE, "/effects"),
    P.WITNESS_COMMITTED: Loss(When.BEFORE, "/effects"),
    P.WITNESS_ANSWERED: Loss(When.BEFORE, "/effects"),
    P.INSIDE_APPLY: Loss(When.THERE, ACT),
    P.APPLIED: Loss(When.THERE, "/events"),
    P.RESULT_SAVED: Loss(When.THERE, "/events"),
    P.FINAL_COMMITTED: Loss(When.THERE, "/events"),
    P.EVENT_SENT: Loss(When.BEFORE, "/events"),
    P.EVENT_COMMITTED: Loss(When.BEFORE, "/events"),
    P.ANSWER_SENT: Loss(When.BEFORE, "/events"),
    P.EVENT_ANSWERED: Loss(When.BEFORE, "/events"),
    P.REPORTED: Loss(When.BEFORE, "/events"),
}


class Fall:
    """One blow in one rig: armed, fallen, and healed again."""

    def __init__(self, rig: Rig, cell: Cell, world: World) -> None:
        """Look at what is to happen; nothing is armed yet."""
        self._rig, self._cell, self._world = rig, cell, world
        self._loss: Rule | None = None
        self._prelude: Strike | None = None
        self._strike: Strike | None = None

    def arm(self) -> None:
        """Prepare everything that has to stand before the task is submitted."""
        if self._cell.point in BEHIND_THE_END:
            self._prelude = self._rig.gate.arm(P.FINAL_COMMITTED, hold, role="supervisor")
        else:
            self._arm_point()

    def fall(self) -> Strike:
        """Wait until a process stands at the point and let the blow fall there; held ones stay held."""
        if self._prelude is not None:
            self._prelude.wait_reached()
            self._arm_point()
            self._prelude.let_go()
        assert self._strike is not None
        if self._cell.blow is Blow.DELAY:
            self._strike.wait_reached()
        else:
            self._strike.wait()
        return self._strike

    def heal(self) -> None:
        """Start again what was killed, and see that what was to be lost was lost."""
        match self._cell.blow:
            case Blow.KILL_SUPERVISOR:
                self._rig.start_worker(HOLDER)
            case Blow.KILL_SERVER:
                self._rig.start_server()
            case Blow.LOSE_REPLY:
                if self._loss is not None:
                    self._loss.wait()
            case _:
                pass

    def _arm_point(self) -> None:
        cell = self._cell
        loss = LOSSES[cell.point] if cell.blow is Blow.LOSE_REPLY else None
        if loss is not None and loss.when is When.BEFORE:
            self._loss = self._rig.proxy.lose_reply("POST", loss.path)
        self._strike = self._rig.gate.arm(cell.point, self._act(), role=home_of(cell.point))

    def _act(self) -> Act:
        home = home_of(self._cell.point)
        match self._cell.blow:
            case Blow.KILL_SUPERVISOR:
                return self._kill(home == "supervisor", lambda: self._rig.kill_worker(HOLDER))
            case Blow.KILL_SERVER:
                return self._kill(home == "server", self._rig.kill_server)
            case Blow.KILL_EXECUTOR:
                return then(self._kill_executors)
            case Blow.LOSE_REPLY:
                return then(self._lose)
            case Blow.DELAY:
                return hold

    def _kill(self, is_visitor: bool, kill: Callable[[], None]) -> Act:
        """Kill the visitor where it stands, or another process while it stands there."""
        if not is_visitor:
            return then(kill)

        def act(visit: object, strike: Strike) -> None:
            assert strike.visit is not None
            kill_visitor(strike.visit, strike)
            kill()  # dead already; this waits for its end and counts it

        return act

    def _kill_executors(self) -> None:
        # While the server stands, its answer waits until the supervisor has noticed the death.
        if not self._rig.kill_executors(HOLDER, reaped=home_of(self._cell.point) == "server"):
            raise AssertionError(f"there was no executor to kill at {self._cell.point}")

    def _lose(self) -> None:
        loss = LOSSES[self._cell.point]
        if loss.when is When.BEFORE:
            return
        if loss.path == STREAM:
            self._rig.proxy.cut()
        elif loss.path == ACT:
            self._world.lose_next_reply()
        else:
            self._loss = self._rig.proxy.lose_reply("POST", loss.path)
