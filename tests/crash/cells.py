"""The cells of the kill matrix, and for each whether its task must, may or must not become unknown.

A cell is a fault point, what happens there, and the rule of the capability. The table is written down here,
before anything runs: unknown exactly where evidence is missing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from tenure.core.faultpoints import FaultPoint as P


class Blow(StrEnum):
    """What happens while a process stands at a fault point."""

    KILL_SUPERVISOR = "kill_supervisor"
    KILL_EXECUTOR = "kill_executor"
    KILL_SERVER = "kill_server"
    LOSE_REPLY = "lose_reply"
    DELAY = "delay"


class Kind(StrEnum):
    """The capabilities of `tests.crash.work`: the four rules, `query` with and without a way to ask."""

    RECOMPUTE = "recompute"
    RESUME = "resume"
    QUERY = "query"
    QUERY_BLIND = "query-blind"
    MANUAL = "manual"

    @property
    def is_blind(self) -> bool:
        """Whether nobody can say afterwards what became of its effect."""
        return self in {Kind.QUERY_BLIND, Kind.MANUAL}


class Stage(StrEnum):
    """What is durable, and what may have happened outside, when a fault point is reached."""

    OFFERED = "offered"
    """The start is on its way; the worker has not said that it has it."""
    ADMITTED = "admitted"
    """The control plane knows that the worker has it; nothing was started."""
    MARKED = "marked"
    """The attempt is marked running; its code was not given to an executor."""
    INSIDE = "inside"
    """The code runs; no effect may begin."""
    PERMITTED = "permitted"
    """The control plane has recorded the permit; the executor has not heard of it."""
    ACTING = "acting"
    """The effect may have happened; nothing of that is saved."""
    KNOWN = "known"
    """What became of the effect is saved at the worker."""
    ENDED = "ended"
    """The final state is saved at the worker, and not at the control plane."""
    SETTLED = "settled"
    """The control plane has the final state."""


STAGES: dict[P, Stage] = {
    P.CLAIM_COMMITTED: Stage.OFFERED,
    P.COMMAND_RECEIVED: Stage.OFFERED,
    P.INBOX_COMMITTED: Stage.OFFERED,
    P.ACK_SENT: Stage.OFFERED,
    P.ACK_COMMITTED: Stage.ADMITTED,
    P.ACK_ANSWERED: Stage.ADMITTED,
    P.RUNNING_COMMITTED: Stage.MARKED,
    P.HANDED_TO_EXECUTOR: Stage.INSIDE,
    P.CHECKPOINT_COMMITTED: Stage.INSIDE,
    P.INTENT_SAVED: Stage.INSIDE,
    P.WITNESS_COMMITTED: Stage.PERMITTED,
    P.WITNESS_ANSWERED: Stage.PERMITTED,
    P.INSIDE_APPLY: Stage.ACTING,
    P.APPLIED: Stage.ACTING,
    P.RESULT_SAVED: Stage.KNOWN,
    P.FINAL_COMMITTED: Stage.ENDED,
    P.EVENT_SENT: Stage.ENDED,
    P.EVENT_COMMITTED: Stage.SETTLED,
    P.ANSWER_SENT: Stage.SETTLED,
    P.EVENT_ANSWERED: Stage.SETTLED,
    P.REPORTED: Stage.SETTLED,
}

SERVER = frozenset(
    {P.CLAIM_COMMITTED, P.ACK_COMMITTED, P.WITNESS_COMMITTED, P.EVENT_COMMITTED, P.ANSWER_SENT}
)
EXECUTOR = frozenset({P.INSIDE_APPLY, P.APPLIED})
RUNNING = frozenset({Stage.INSIDE, Stage.PERMITTED, Stage.ACTING, Stage.KNOWN})


def home_of(point: P) -> str:
    """Return the role of the process that reaches a point."""
    if point in SERVER:
        return "server"
    return "executor" if point in EXECUTOR else "supervisor"


@dataclass(frozen=True, order=True)
class Cell:
    """One point, one blow, one kind of work."""

    point: P
    blow: Blow
    kind: Kind

    @property
    def stage(self) -> Stage:
        """What is durable when the blow falls."""
        return STAGES[self.point]

    def __str__(self) -> str:
        return f"{self.point},{self.blow},{self.kind}"


class Unknown(StrEnum):
    """Whether the task may need a verdict in the end."""

    REQUIRED = "required"
    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"


@dataclass(frozen=True)
class Expected:
    """One entry of the table with its reason."""

    unknown: Unknown
    reason: str


CANNOT_OCCUR: dict[Cell, str] = {}
"""Cells that cannot occur, each with its reason. None: every kind of work passes every boundary."""


def all_cells() -> Iterator[Cell]:
    """Yield every cell, whether it can occur or not."""
    return (Cell(point, blow, kind) for point, blow, kind in product(P, Blow, Kind))


def expected(cell: Cell) -> Expected:
    """Return what the table says about a cell."""
    match cell.blow:
        case Blow.KILL_SUPERVISOR:
            return _after_death(cell)
        case Blow.KILL_EXECUTOR:
            return _after_executor(cell)
        case Blow.KILL_SERVER:
            return Expected(Unknown.FORBIDDEN, "the worker keeps what it does and asks again")
        case Blow.LOSE_REPLY:
            return _after_lost_reply(cell)
        case Blow.DELAY:
            return _after_delay(cell)


def _after_death(cell: Cell) -> Expected:
    stage = cell.stage
    if stage in {Stage.OFFERED, Stage.ADMITTED}:
        return Expected(Unknown.FORBIDDEN, "found pending, so its code never ran")
    if stage in {Stage.ENDED, Stage.SETTLED}:
        return Expected(Unknown.FORBIDDEN, "its final state is saved; only the report is repeated")
    if cell.kind is Kind.MANUAL:
        return Expected(Unknown.REQUIRED, "found running under MANUAL: nobody knows what the code did")
    if cell.kind is Kind.QUERY_BLIND and stage is Stage.ACTING:
        return Expected(Unknown.REQUIRED, "died between permit and result, and nobody can be asked")
    if cell.kind is Kind.QUERY_BLIND and stage is Stage.PERMITTED:
        return Expected(Unknown.FORBIDDEN, "no `go` was saved here, so nothing was applied")
    return Expected(Unknown.FORBIDDEN, "its rule enters again, and the ledger settles its effect")


def _after_executor(cell: Cell) -> Expected:
    if cell.kind is Kind.MANUAL and cell.stage is Stage.MARKED:
        return Expected(Unknown.ALLOWED, "marked running; whether the code had begun depends on the instant")
    if cell.kind is Kind.QUERY_BLIND and cell.point is P.WITNESS_ANSWERED:
        return Expected(Unknown.ALLOWED, "the `go` is saved while its executor dies; it may have been heard")
    return _after_death(cell)


def _after_lost_reply(cell: Cell) -> Expected:
    if cell.point is P.INSIDE_APPLY and cell.kind.is_blind:
        return Expected(Unknown.REQUIRED, "the act's own reply is lost, and nobody can be asked")
    if cell.point is P.INSIDE_APPLY:
        return Expected(Unknown.FORBIDDEN, "the act's own reply is lost; it is looked up or sent again")
    return Expected(Unknown.FORBIDDEN, "a lost reply is asked for again and is no doubt")


def _after_delay(cell: Cell) -> Expected:
    home, stage = home_of(cell.point), cell.stage
    if home == "executor":
        return Expected(Unknown.FORBIDDEN, "the supervisor renews while its executor is slow")
    if home == "server":
        if cell.kind is Kind.MANUAL and stage is Stage.PERMITTED:
            return Expected(Unknown.REQUIRED, "no answer for one TTL: MANUAL work is killed at its deadline")
        return Expected(Unknown.FORBIDDEN, "an outage breaks calm, and nobody else may take over")
    if stage in {Stage.ENDED, Stage.SETTLED}:
        return Expected(Unknown.FORBIDDEN, "the report is evidence, however late it comes")
    if stage is Stage.OFFERED:
        return Expected(
            Unknown.FORBIDDEN, "a start without an acknowledgement is void, and counted as nothing"
        )
    if cell.kind is Kind.MANUAL and stage is Stage.ADMITTED:
        return Expected(Unknown.REQUIRED, "acknowledged under MANUAL, and its lease ended")
    if cell.kind is Kind.MANUAL:
        return Expected(Unknown.ALLOWED, "killed at its deadline, unless what it reports is in time evidence")
    if cell.kind is Kind.QUERY_BLIND and stage is Stage.PERMITTED:
        return Expected(Unknown.ALLOWED, "the permit is in doubt until its holder tells that nothing began")
    return Expected(Unknown.FORBIDDEN, "taken over by its rule; what the former holder did is in the ledger")


def select(cells: Iterable[Cell], only: str | None) -> list[Cell]:
    """Return the cells that a `point,blow,kind` names; an empty part or `*` names all."""
    if only is None:
        return list(cells)
    parts = [part.strip() for part in only.split(",")]
    parts += [""] * (3 - len(parts))

    def matches(cell: Cell) -> bool:
        own = (cell.point, cell.blow, cell.kind)
        return all(part in {"", "*", value} for part, value in zip(parts, own, strict=True))

    return [cell for cell in cells if matches(cell)]
