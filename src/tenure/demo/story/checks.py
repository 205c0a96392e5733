"""The story's own judgement: what must be true at the end, checked from outside of Tenure where it can be."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

import msgspec
from msgspec import Struct

from tenure.core.view import TaskView
from tenure.demo.capabilities import Charged, Render
from tenure.demo.journal import Record
from tenure.demo.sources import Totals
from tenure.demo.truth import Truth
from tenure.demo.walking import Position
from tenure.wire.tasks import HistoryLine

T = TypeVar("T")


class Check(Struct, frozen=True):
    """One thing that must be true; the detail says how much was looked at, or what is wrong."""

    claim: str
    ok: bool
    detail: str


class Read(Struct, frozen=True):
    """One item read by one process, as the walk notes it before it reads."""

    item: int
    pid: int


def all_accounted_for(submitted: Sequence[str], board: Mapping[str, TaskView]) -> Check:
    """Say whether the board holds exactly what was submitted, and all of it is done."""
    missing = sorted(set(submitted) - board.keys())
    extra = sorted(board.keys() - set(submitted))
    unfinished = sorted(f"{task.id} is {task.state}" for task in board.values() if task.state != "done")
    wrong = [
        *(f"{name} is missing" for name in missing),
        *(f"{name} is extra" for name in extra),
        *unfinished,
    ]
    return _check("every task is accounted for", wrong, f"{len(submitted)} submitted, {len(board)} done")


def settled_once(board: Mapping[str, TaskView], histories: Mapping[str, Sequence[HistoryLine]]) -> Check:
    """Say whether each task has one settled result, and it is the one that is shown."""
    wrong: list[str] = []
    for name, history in histories.items():
        results = [line.body.get("result") for line in history if _settles(line)]
        if len(results) != 1:
            wrong.append(f"{name} has {len(results)}")
        elif name in board and results[0] != board[name].result:
            wrong.append(f"{name} shows another one than it settled with")
    return _check("no task has two settled results", wrong, f"{len(histories)} histories read")


def one_remote_render_each(renders: Mapping[str, TaskView], journal: Iterable[Record]) -> Check:
    """Say whether the farm made exactly one render of each scene, and the task names that one.

    Args:
        renders: The task of each scene.
        journal: What took effect at the remote service.
    """
    made: dict[str, list[object]] = {}
    for record in journal:
        if record["kind"] == "job":
            made.setdefault(str(record["scene"]), []).append(record["id"])
    wrong = [
        f"{scene} has {len(ids)}" for scene, ids in made.items() if len(ids) != 1 or scene not in renders
    ]
    for scene, task in renders.items():
        result = _read(task.result, Render)
        if result is None or [result.job_id] != made.get(scene):
            wrong.append(f"{scene} was made as {made.get(scene)}, its task says {task.result}")
    return _check("the farm has exactly one job per render", wrong, f"{len(renders)} scenes")


def charged_once(order: str, task: TaskView, journal: Iterable[Record]) -> Check:
    """Say whether the order was charged once, and the receipt is that charge's."""
    charges = [record for record in journal if record["kind"] == "charge" and record["order"] == order]
    receipt = _read(task.result, Charged)
    wrong = [] if len(charges) <= 1 else [f"{order} was charged {len(charges)} times"]
    if receipt is None or [receipt.receipt] != [charge["id"] for charge in charges]:
        wrong.append(f"the task says {task.result}, the bank {charges}")
    return _check("the bank has at most one charge", wrong, f"{order}, {len(charges)} charge")


def index_is_true(task: TaskView, truth: Truth) -> Check:
    """Say whether the index equals one that was computed without Tenure."""
    index = _read(task.result, Totals)
    wrong = [] if index == truth.index else [f"{index} is not {truth.index}"]
    detail = f"{truth.index.files} files, {truth.index.lines} lines, digest {truth.index.digest[:12]}"
    return _check("the index equals one computed without Tenure", wrong, detail)


def walk_is_true(task: TaskView, truth: Truth) -> Check:
    """Say whether the walk met every file once and in order: its chain of digests equals the plain one."""
    walked = _read(task.result, Position)
    wrong: list[str] = []
    if walked is None or (walked.chain, walked.next_item) != (truth.chain, truth.walked):
        wrong.append(f"it ended as {task.result}")
    return _check(
        "the walk equals one made without Tenure", wrong, f"{truth.walked} files, chain {truth.chain[:12]}"
    )


def read_within_window(reads: Sequence[Read], items: int) -> Check:
    """Say whether a walk was continued, each time, at the very item at which it was cut.

    So an item is read once more for each death that fell upon it, which is the window that the capability
    declares, and no other item is read twice.
    """
    wrong = [
        f"item {after.item} after {before.item}" for before, after in pairwise(reads) if _skips(before, after)
    ]
    if not reads or reads[0].item != 0 or reads[-1].item != items - 1:
        wrong.append("it did not begin with the first item and end with the last")
    counts = Counter(read.item for read in reads)
    again = sum(count - 1 for count in counts.values())
    if len(counts) != items:
        wrong.append(f"{len(counts)} of {items} items were read")
    processes = len({read.pid for read in reads})
    detail = f"{items} items by {processes} processes, {again} read again"
    return _check("each walked item was read at most once per death upon it", wrong, detail)


def left_cleanly(exits: Mapping[str, int | None], left: Sequence[str]) -> Check:
    """Say whether every process that was told to leave did so by itself, and none is left."""
    wrong = [f"{name} ended with {code}" for name, code in exits.items() if code != 0]
    wrong += [f"left running: {process}" for process in left]
    return _check(
        "everything drained and nothing is left running", wrong, f"{len(exits)} processes told to leave"
    )


def parse_reads(text: str) -> list[Read]:
    """Return the lines that a walk has left behind."""
    return [Read(*map(int, line.split())) for line in text.splitlines()]


def _settles(line: HistoryLine) -> bool:
    return line.kind == "succeeded" and line.answer == "accepted"


def _skips(before: Read, after: Read) -> bool:
    allowed = {before.item + 1} if before.pid == after.pid else {before.item, before.item + 1}
    return after.item not in allowed


def _read(result: object, form: type[T]) -> T | None:
    try:
        return msgspec.convert(result, form)
    except msgspec.ValidationError:
        return None


def _check(claim: str, wrong: Sequence[str], detail: str) -> Check:
    return Check(claim, ok=not wrong, detail="; ".join(wrong) or detail)
