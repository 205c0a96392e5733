"""What became of a task, computed from its history alone: who held it, what died, and what recovery did.

An execution is one (generation, attempt epoch), which the lines of a history carry. What the last execution
did not have to do again was re-used, what it had to do again was re-run.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import cast

from msgspec import Struct

from tenure.core.capability import Recovery
from tenure.core.view import TaskView
from tenure.wire.tasks import HistoryLine

Execution = tuple[int, int]
"""Generation and attempt epoch; later ones are greater."""


class Evidence(Struct, frozen=True):
    """One row of the table: a task, and in words what its recovery came to."""

    task: str
    state: str
    rule: Recovery
    generations: int
    holders: tuple[str, ...]
    losses: int
    reused: tuple[str, ...] = ()
    rerun: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()


def evidence_of(
    rule: Recovery, task: TaskView, history: Sequence[HistoryLine], unheard: Collection[str] = ()
) -> Evidence:
    """Read a task's history.

    Args:
        rule: How its capability recovers, since the words differ.
        task: As it is now.
        history: All of it, in order.
        unheard: Results of which the outside knows that their first reply never arrived: if the ledger has
            one all the same, it was found.
    """
    last = max(map(_execution, history), default=(0, 0))
    return Evidence(
        task=task.id,
        state=task.state,
        rule=rule,
        generations=task.generation,
        holders=tuple(dict.fromkeys(_holders(history))),
        losses=task.losses,
        reused=(*_continued(history), *_kept(history, last)),
        rerun=tuple(_rerun(rule, task.losses + task.attempts)),
        found=tuple(dict.fromkeys(_found(history, unheard))),
        decided=tuple(_decided(history)),
    )


def _holders(history: Iterable[HistoryLine]) -> Iterable[str]:
    return (str(line.body["agent"]) for line in history if line.kind == "claimed" and "agent" in line.body)


def _continued(history: Iterable[HistoryLine]) -> Iterable[str]:
    """Say behind which items a walk was continued after each death; those before were not read again."""
    saved: dict[str, object] = {}
    items: list[str] = []
    for line in history:
        if line.kind == "checkpoint" and line.answer == "accepted":
            saved = cast("dict[str, object]", line.body.get("value"))
        elif line.kind == "lost" and saved:
            items.append(str(saved["next_item"]))
    if items:
        yield f"checkpoint at item {', '.join(items)} of {saved['items']}"


def _kept(history: Iterable[HistoryLine], last: Execution) -> Iterable[str]:
    """Name the effects that an earlier execution had applied, so that the last one only read their result."""
    for line in history:
        if _is_applied(line) and _execution(line) < last:
            yield f"{line.body['name']} = {line.body.get('result')}"


def _rerun(rule: Recovery, again: int) -> Iterable[str]:
    if not again:
        return
    times = "once" if again == 1 else f"{again} times"
    match rule:
        case Recovery.RECOMPUTE:
            yield f"all of it, {times}"
        case Recovery.RESUME:
            yield f"from its checkpoint, {times}"
        case Recovery.QUERY:
            yield f"code around its effects, {times}"
        case Recovery.MANUAL:
            yield f"by verdict, {times}"


def _found(history: Sequence[HistoryLine], unheard: Collection[str]) -> Iterable[str]:
    """Name the effects whose result was found outside, not heard: by a later execution, or after silence."""
    permits: dict[object, Execution] = {}
    for line in history:
        if line.kind == "witnessed":
            permits[line.body.get("name")] = _execution(line)
        elif _is_applied(line):
            name, result = line.body["name"], line.body.get("result")
            if _execution(line) > permits.get(name, _execution(line)) or result in unheard:
                yield f"{name} = {result}"


def _decided(history: Iterable[HistoryLine]) -> Iterable[str]:
    for line in history:
        if line.kind == "verdict":
            subject, verdict = line.body.get("subject"), str(line.body.get("verdict")).replace("_", " ")
            yield f"{subject} {verdict}, by {line.body.get('by')}"


def _is_applied(line: HistoryLine) -> bool:
    return line.kind == "effect" and line.answer == "accepted" and line.body.get("state") == "applied"


def _execution(line: HistoryLine) -> Execution:
    return line.generation, line.attempt_epoch
