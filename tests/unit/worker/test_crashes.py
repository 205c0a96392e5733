"""Killed at every fault point of the supervisor, at each visit: nothing is lost, nothing is done twice."""

import pytest

from tenure.core.capability import Recovery
from tenure.core.effect import SettledBy
from tenure.core.execution import BeginEffect, EndEffect
from tenure.core.faultpoints import FaultPoint
from tenure.core.task import TaskState
from tests.support.worker.bench import Bench, Ledger, Worker
from tests.support.worker.builders import spec
from tests.support.worker.executor import CoroutineExecutor, Run, Unknown

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

POINTS = [
    FaultPoint.COMMAND_RECEIVED,
    FaultPoint.INBOX_COMMITTED,
    FaultPoint.ACK_SENT,
    FaultPoint.ACK_ANSWERED,
    FaultPoint.RUNNING_COMMITTED,
    FaultPoint.HANDED_TO_EXECUTOR,
    FaultPoint.INTENT_SAVED,
    FaultPoint.WITNESS_ANSWERED,
    FaultPoint.RESULT_SAVED,
    FaultPoint.CHECKPOINT_COMMITTED,
    FaultPoint.FINAL_COMMITTED,
    FaultPoint.EVENT_SENT,
    FaultPoint.EVENT_ANSWERED,
    FaultPoint.REPORTED,
    FaultPoint.APPLIED,
]
TASKS = ["pure", "resumed", "found", "idempotent", "blind", "manual"]
VISITS_MAX = 40


class World:
    """What happened outside, by request id, and how far the resumed one had come."""

    def __init__(self) -> None:
        self.acts: list[str] = []
        self.lines: list[int] = []


class Outside:
    """The capabilities of one process, acting on the world."""

    def __init__(self, world: World, ledger: Ledger) -> None:
        self.world = world
        self.ledger = ledger

    async def pure(self, _: Run) -> object:
        return "computed"

    async def manual(self, _: Run) -> object:
        return "by hand"

    async def resumed(self, run: Run) -> object:
        done = run.work.checkpoint
        assert done is None or isinstance(done, int)
        for line in range(done or 0, 3):
            self.world.lines.append(line)
            await run.execution.checkpoint(line + 1, portable=True)
        return "resumed"

    async def found(self, run: Run) -> object:
        return await self._act(run, ("find",))

    async def idempotent(self, run: Run) -> object:
        return await self._act(run, ("idempotent",))

    async def blind(self, run: Run) -> object:
        return await self._act(run, ())

    async def _act(self, run: Run, settled_by: tuple[SettledBy, ...]) -> object:
        wanted = BeginEffect("act", "d", None, settled_by)
        standing = await run.execution.begin_effect(wanted)
        if standing.standing == "in_doubt":
            if not settled_by:
                raise Unknown("act")
            if "find" in settled_by and standing.request_id in self.world.acts:
                await run.execution.end_effect(EndEffect("act", "applied", standing.request_id))
                return standing.request_id
            standing = await run.execution.begin_effect(
                BeginEffect("act", "d", None, settled_by, absent=True)
            )
        if standing.standing == "applied":
            return standing.result
        assert standing.standing == "go"
        self.world.acts.append(standing.request_id)
        self.ledger.reach(FaultPoint.APPLIED, run.work.attempt_id)
        await run.execution.end_effect(EndEffect("act", "applied", standing.request_id))
        return standing.request_id

    def executor(self) -> CoroutineExecutor:
        made = CoroutineExecutor()
        made.add("pure", self.pure, Recovery.RECOMPUTE)
        made.add("resumed", self.resumed, Recovery.RESUME)
        made.add("found", self.found, Recovery.QUERY)
        made.add("idempotent", self.idempotent, Recovery.QUERY)
        made.add("blind", self.blind, Recovery.QUERY)
        made.add("manual", self.manual, Recovery.MANUAL)
        return made


def is_over(bench: Bench) -> bool:
    return all(bench.control.task(id_).state in (TaskState.DONE, TaskState.UNKNOWN) for id_ in TASKS)


async def live_until_struck(bench: Bench, world: World, point: FaultPoint, nth: int) -> bool:
    """Run until everything is over, or until the nth visit of the point kills; say whether it did."""
    ledger = Ledger()
    struck: list[str] = []
    async with bench.worker(Outside(world, ledger).executor(), ledger=ledger, slots=8) as worker:

        def strike(subject: str) -> None:
            struck.append(subject)
            if len(struck) == nth:
                worker.crash()

        ledger.at[point] = strike
        bench.control.submit(*(spec(id_, id_) for id_ in TASKS))
        bench.control.push(*TASKS)
        await worker.until(lambda: len(struck) >= nth or is_over(bench))
        await worker.settle()
    return len(struck) >= nth


async def recovered(bench: Bench, world: World) -> Worker:
    ledger = Ledger()
    async with bench.worker(Outside(world, ledger).executor(), ledger=ledger, slots=8) as worker:
        for _ in range(30):
            if is_over(bench) and not await worker.local(lambda tx: tx.attempts.leased()):
                break
            await worker.pass_time(2, step_s=1)
        return worker


@pytest.mark.parametrize("point", POINTS)
async def test_killed_anywhere_nothing_is_lost_and_nothing_done_twice(
    bench: Bench, point: FaultPoint
) -> None:
    """C062 to C095, B03: each visit of the point is a test of its own, until there are no more."""
    folder = bench.folder
    for nth in range(1, VISITS_MAX):
        case = Bench(folder.with_name(f"state-{nth}"))
        world = World()
        if not await live_until_struck(case, world, point, nth):
            assert nth > 1, f"{point} was never reached"
            return
        await recovered(case, world)
        states = {id_: case.control.task(id_).state for id_ in TASKS}
        may_be_unknown = {"blind", "manual"}
        assert is_over(case), states
        assert {id_ for id_, state in states.items() if state is TaskState.UNKNOWN} <= may_be_unknown
        assert world.acts.count("blind.1.act") <= 1
        assert world.acts.count("found.1.act") == 1
        assert world.acts.count("idempotent.1.act") >= 1
        assert sorted(set(world.lines)) == [0, 1, 2]
        assert len(world.lines) <= 4  # The one line that its window allows to be read twice
        for id_ in TASKS:
            finals = [e for e in case.control.events.values() if e.task_id == id_ and e.kind.is_final]
            assert len(finals) == 1, (id_, finals)
            assert case.control.task(id_).generation == 1
            assert case.control.task(id_).losses <= 1
