"""Start-up: what an earlier process left is judged by evidence before anything new is taken. C091 to C095.

1. Kill the executors that can be identified, and prove that none is left. A crash here repeats the same.
2. Register, so that what is decided can be told and leases can be asked for.
3. Decide on every unfinished attempt and save the decision, then take all into the books. A crash in between
   finds the decisions, or makes the same ones again.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, TypeVar

from tenure.core.attempt import Attempt, AttemptState
from tenure.core.event import LostBody
from tenure.ports.local import ExecutorRow, LocalTransaction
from tenure.worker.books import Entry, Stage
from tenure.worker.endings import died, handed_back
from tenure.worker.running import Runner
from tenure.worker.settling import Settling
from tenure.worker.starting import Start, save_starts
from tenure.worker.stops import Stops
from tenure.worker.tools import Tools

T = TypeVar("T")

GROUP: Final = 256  # Bound: attempts decided in one transaction


async def prove_none_left(tools: Tools) -> None:
    """Kill what an earlier process left running, and note whether it is proved that nothing is. C122."""
    rows = await tools.saving.read(lambda tx: tx.executors.all())
    tools.is_proved = await tools.parts.none_left(rows)
    if tools.is_proved and rows:
        await tools.saving.insist(partial(_forget, rows=rows))


async def restore(tools: Tools, settling: Settling, stops: Stops, runner: Runner) -> None:
    """Decide on what was unfinished, and take everything that still needs care into the books. C094.

    Whatever ran is told as lost, once per execution, if it is proved dead; what may go on waits for a
    heartbeat that says that its lease is held.
    """
    found = await tools.saving.read(lambda tx: tx.attempts.leased())
    decided: dict[str, Attempt] = {}
    for group in _groups([a for a in found if not a.state.is_final]):
        starts = [_decision(tools, settling, attempt) for attempt in group]
        decided |= await tools.saving.insist(partial(save_starts, starts=starts))
    for attempt in found:
        _take(tools, settling, stops, runner, decided.get(attempt.id, attempt))
    if found:
        tools.observer.tell("worker.restored", attempts=len(found), proved=tools.is_proved)


def _decision(tools: Tools, settling: Settling, attempt: Attempt) -> Start:
    declared = tools.declared(attempt.spec, attempt.manifest_digest)
    death: LostBody | None = died("worker_restarted", None) if tools.is_proved else None
    return Start(attempt.id, declared, settling.stamp, death, wanted=False, is_proved=tools.is_proved)


def _take(tools: Tools, settling: Settling, stops: Stops, runner: Runner, attempt: Attempt) -> None:
    entry = Entry(attempt, Stage.ENDED if attempt.state.is_final else Stage.WAITING)
    older = tools.books.add(entry)
    if older is not None:
        stops.lost(older)
    if entry.is_lost:
        return
    if attempt.state is AttemptState.RUNNING:
        runner.offer(entry)
    elif attempt.state is AttemptState.PENDING and tools.books.is_shut:
        settling.settle(entry, handed_back("the worker takes nothing new"))


def _forget(tx: LocalTransaction, rows: Sequence[ExecutorRow]) -> None:
    for row in rows:
        tx.executors.remove(row.pid, row.start_time)


def _groups(whole: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(whole), GROUP):
        yield whole[start : start + GROUP]
