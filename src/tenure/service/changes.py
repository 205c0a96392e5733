"""Saving changed tasks together with everything that follows from the change."""

from collections.abc import Iterable

import msgspec

from tenure.core.command import CommandKind, CommandRow, CommandState
from tenure.core.task import Task, TaskState, TaskStep
from tenure.ports.facts import Fact
from tenure.ports.store import Transaction
from tenure.service.injected import Injected


def save(tx: Transaction, injected: Injected, tasks: Iterable[Task]) -> None:
    """Save tasks, open or cancel what depended on those that settled, and wake whoever waits.

    A claim that ended takes its unanswered start command with it: void in the same transaction (protocol.md).
    """
    wave = list({task.id: task for task in tasks}.values())
    while wave:  # Bound: each wave settles tasks that were blocked, and none becomes blocked again
        tx.board.save(wave)
        _void_starts(tx, [t for t in wave if t.state is not TaskState.CLAIMED])
        injected.tell(tx, *[f"task:{task.id}" for task in wave])
        if any(t.state is TaskState.OPEN for t in wave):
            injected.tell(tx, "board")
        wave = _unblocked(tx, [t for t in wave if t.state.is_settled])


def _void_starts(tx: Transaction, ended: list[Task]) -> None:
    pushed = [t.id for t in ended if t.claim is not None and t.claim.pushed]
    if not pushed:
        return
    rows = [r for r in tx.commands.of_tasks(pushed) if r.kind in (CommandKind.START, CommandKind.CANCEL)]
    tx.commands.save([void(row) for row in rows])


def void(row: CommandRow) -> CommandRow:
    """Return the command as void, its token erased (D26)."""
    return msgspec.structs.replace(row, state=CommandState.VOID, token=None)


def _unblocked(tx: Transaction, settled: list[Task]) -> list[Task]:
    """Return the tasks that open because all they depend on is done, or that asked to end. C016."""
    waiting = tx.selection.dependents([t.id for t in settled]) if settled else []
    if not waiting:
        return []
    states = tx.selection.dependencies([t.id for t in waiting])
    now = tx.now()
    moved: list[Task] = []
    for task in waiting:
        below = states.get(task.id, {}).values()
        if all(state is TaskState.DONE for state in below):
            moved.append(task.after(TaskStep.UNBLOCK, now))
        elif task.on_dependency_failure == "cancel" and any(state in _NOT_DONE for state in below):
            moved.append(task.after(TaskStep.CANCEL, now))
    tx.facts.record([Fact(task_id=t.id, kind=str(t.state), at=now, body={"by": "dependency"}) for t in moved])
    return moved


_NOT_DONE = frozenset({TaskState.FAILED, TaskState.CANCELLED})
