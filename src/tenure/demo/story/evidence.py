"""What became of a task, computed from its history alone: who held it, what died, and what recovery did.

An execution is one (generation, attempt epoch); the histories' lines carry both. What the last execution did
not have to do again was re-used, what it had to do again was re-run.
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
    executions: int
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
    executions = _executions(history)
    last = max(executions, default=(0, 0))
    return Evidence(
        task=task.id,
        state=task.state,
        rule=rule,
        generations=task.generation,
        holders=tuple(dict.fromkeys(_holders(history))),
        executions=len(executions),
        reused=(*_continued(history), *_kept(history, last)),
        rerun=tuple(_rerun(rule, len(executions) - 1)),
        found=tuple(dict.fromkeys(_found(history, unheard))),
        decided=tuple(_decided(history)),
    )


def _executions(history: Iterable[HistoryLine]) -> list[Execution]:
    """Return every execution that was ever heard of; of a generation those before the newest count too."""
    newest: dict[int, int] = {}
    for line in history:
        if line.attempt_epoch:
            newest[line.generation] = max(newest.get(line.generation, 0), line.attempt_epoch)
    return [(generation, epoch) for generation, last in newest.items() for epoch in range(1, last + 1)]


def _holders(history: Iterable[HistoryLine]) -> Iterable[str]:
    return (str(line.body["agent"]) for line in history if line.kind == "claimed" and "agent" in line.body)


def _continued(history: Iterable[HistoryLine]) -> Iterable[str]:
    """Say behind which checkpoint each death was continued; what was before it was not done again."""
    saved: object = None
    for line in history:
        if line.kind == "checkpoint" and line.answer == "accepted":
            saved = line.body.get("value")
        elif line.kind == "lost" and saved is not None:
            yield f"checkpoint: {_position(saved)}"


def _position(value: object) -> str:
    """Return a checkpoint's value in words; an unknown form is shown as it is."""
    walked = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    if "next_item" in walked:
        return f"{walked['next_item']} of {walked.get('items')} items"
    return str(cast("object", value))


def _kept(history: Iterable[HistoryLine], last: Execution) -> Iterable[str]:
    """Name the effects that an earlier execution had applied, so that the last one only read their result."""
    for line in history:
        if _is_applied(line) and _execution(line) < last:
            yield f"{line.body['name']} = {line.body.get('result')}"


def _rerun(rule: Recovery, deaths: int) -> Iterable[str]:
    if deaths <= 0:
        return
    times = "once" if deaths == 1 else f"{deaths} times"
    match rule:
        case Recovery.RECOMPUTE:
            yield f"all of it, {times}"
        case Recovery.RESUME:
            yield f"from its checkpoint, {times}"
        case Recovery.QUERY:
            yield f"the code around its effects, {times}"
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
