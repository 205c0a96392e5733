"""What must hold after every cell, whatever was struck: read from the stores and the ledger, from outside."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from tenure.core.effect import request_id
from tests.crash.cells import Expected, Kind, Unknown
from tests.crash.stores import query
from tests.crash.work import EFFECT, ITEMS
from tests.crash.world import World

FINAL = ("succeeded", "failed", "cancelled", "handed_back", "unknown")


@dataclass(frozen=True)
class Submitted:
    """One task under examination: what it did, and how often its items may have been done."""

    id: str
    kind: Kind
    item_times_max: int = 1


@dataclass(frozen=True)
class Traces:
    """Where to look once every process has ended."""

    store: Path
    locals: Mapping[str, Path]
    world: World
    tasks: Iterable[Submitted]
    settled: Mapping[str, tuple[str, object]] = field(default_factory=dict[str, tuple[str, object]])
    """What each task was when it was first seen settled: its state and its result."""


def examine(traces: Traces) -> list[str]:
    """Return every violation in words; none is what is hoped for."""
    found = list(_integrity(traces))
    if found:
        return found  # a damaged file would only be misread
    for task in traces.tasks:
        found += _task(traces, task)
        found += _acts(traces.world, task)
    found += _commands(traces)
    for name, file in traces.locals.items():
        found += _local(name, file)
    return found


def judge_unknown(expected: Expected, seen: bool) -> list[str]:
    """Compare what the table says with whether a verdict was needed."""
    if seen and expected.unknown is Unknown.FORBIDDEN:
        return [f"unknown although there is evidence: {expected.reason}"]
    if not seen and expected.unknown is Unknown.REQUIRED:
        return [f"not unknown although evidence is missing: {expected.reason}"]
    return []


def _integrity(traces: Traces) -> Iterator[str]:
    for file in (traces.store, *traces.locals.values()):
        try:
            answers = [str(row[0]) for row in query(file, "pragma integrity_check")]
            broken = query(file, "pragma foreign_key_check")
        except apsw.Error as error:
            yield f"{file} cannot be read: {error}"
            continue
        if answers != ["ok"]:
            yield f"{file} is damaged: {answers[:3]}"
        if broken:
            yield f"{file} has rows that refer to nothing: {broken[:3]}"


def _task(traces: Traces, task: Submitted) -> Iterator[str]:
    rows = query(traces.store, "select state, result, generation from task where id = ?", (task.id,))
    if not rows:
        yield f"task {task.id} was accepted and is lost"
        return
    state, result, generation = rows[0]
    if state != "done":
        yield f"task {task.id} is {state} in the end"
    yield from _history(traces.store, task.id, generation)
    first = traces.settled.get(task.id)
    if first is not None and first != (state, result):
        yield f"task {task.id} was settled as {first} and is now {(state, result)}"


def _history(store: Path, task_id: str, generation: object) -> Iterator[str]:
    """Generations only grow, and at most one report of success was accepted, with none behind it."""
    facts = query(
        store, "select kind, generation, answer from fact where task_id = ? order by position", (task_id,)
    )
    granted = [number for kind, number, _ in facts if kind == "claimed"]
    if granted != sorted(set(map(_number, granted))):
        yield f"generations of {task_id} were granted as {granted}"
    if granted and _number(granted[-1]) > _number(generation):
        yield f"task {task_id} stands at generation {generation}, below one granted: {granted}"
    ends = [kind for kind, _, answer in facts if kind in FINAL and answer == "accepted"]
    if "succeeded" in ends[:-1]:
        yield f"task {task_id} accepted reports after its success: {ends}"


def _acts(world: World, task: Submitted) -> Iterator[str]:
    id_ = request_id(task.id, 1, EFFECT)
    acts = world.count("act", id_)
    if acts == 0:
        yield f"the effect of {task.id} never happened"
    if acts > 1 and task.kind is not Kind.RECOMPUTE:
        yield f"the effect of {task.id} ({task.kind}) happened {acts} times"
    for item in range(ITEMS if task.kind is Kind.RESUME else 0):
        times = world.count("item", f"{task.id}:{item}")
        if not 1 <= times <= task.item_times_max:
            yield f"item {item} of {task.id} was done {times} times, at most {task.item_times_max} may be"


def _commands(traces: Traces) -> Iterator[str]:
    """No acknowledged start is lost: it stands in its worker's inbox with one attempt that has ended."""
    commands = query(
        traces.store,
        "select command_id, worker_id, state from command where kind = 'start' order by sequence",
    )
    for command_id, worker_id, state in commands:
        if state == "queued":
            yield f"start {command_id} is still queued"
        file = traces.locals.get(str(worker_id))
        if file is None:
            yield f"start {command_id} is for {worker_id}, of which there is no local store"
            continue
        attempts = query(file, "select state from attempt where command_id = ?", (str(command_id),))
        if len(attempts) > 1:
            yield f"start {command_id} has {len(attempts)} attempts at {worker_id}"
        if state == "acknowledged" and not attempts:
            yield f"start {command_id} was acknowledged and is lost at {worker_id}"


def _local(name: str, file: Path) -> Iterator[str]:
    open_ = query(file, "select id, state from attempt where state in ('pending', 'running')")
    if open_:
        yield f"worker {name} left unfinished: {open_}"
    unsent = query(file, "select kind, state, reason from event where state <> 'reported'")
    if unsent:
        yield f"worker {name} left unreported: {unsent}"
    starts = "select count(*) from inbox where kind = 'start' and accepted = 1"
    attempts = "select count(*) from attempt"
    counted = (query(file, starts)[0][0], query(file, attempts)[0][0])
    if counted[0] != counted[1]:
        yield f"worker {name} accepted {counted[0]} starts and has {counted[1]} attempts"


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value
