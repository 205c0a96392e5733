"""Waiting for tasks on a command line: progress on the way, results at the end, the outcome as exit code."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from tenure.cli.bars import View, beside_the_answer
from tenure.cli.exits import Exit
from tenure.cli.output import Output, clean, note
from tenure.core.errors import InvariantBroken
from tenure.core.view import TaskView

if TYPE_CHECKING:
    from tenure.client.client import Client

ENDED = frozenset({"done", "failed", "cancelled", "unknown"})


def wait_for_all(client: "Client", out: Output, ids: Sequence[str]) -> Exit:
    """Follow the tasks until each has ended, print their results, and return how it went as a whole.

    One after the other: those that ended meanwhile are over at once when their turn comes.
    """
    ended: list[TaskView] = []
    try:
        view = beside_the_answer()
        with view:
            for id_ in ids:
                ended.append(until_ended(client, id_, view))
                if len(ids) > 1:
                    view.drop(id_)
                    view.count(len(ended), len(ids))
    except KeyboardInterrupt:
        note(f"the work goes on without this command; look with `tenure watch {ids[len(ended)]}`")
        raise
    return worst([print_outcome(out, task) for task in ended])


def until_ended(client: "Client", task_id: str, view: View) -> TaskView:
    """Follow a task until it is settled or unknown, showing each change, and return it as it is then."""
    for task in client.follow(task_id):
        view.show(task)
        if task.state in ENDED:
            return task
    raise InvariantBroken(f"the stream of task {task_id} ended before the task did")


def print_outcome(out: Output, task: TaskView) -> Exit:
    """Print what came of a task: its result on standard output, anything else as a sentence beside it."""
    if out.json:
        out.line(task)
    elif task.state == "done":
        print(msgspec.json.encode(task.result).decode())
    else:
        note(outcome(task))
    return exit_of_task(task)


def outcome(task: TaskView) -> str:
    """Say in one sentence how a task ended that is not done, and what can be done about it."""
    name = f"{clean(task.capability)} {task.id}"
    match task.state:
        case "failed":
            error = task.error
            why = f"{error.type}: {error.message}" if error is not None else "no reason was given"
            return clean(f"{name} failed: {why}; see `tenure task {task.id}`")
        case "unknown":
            subjects = ", ".join(subject.subject for subject in task.unknown) or "the attempt"
            return clean(
                f"{name} is unknown: {subjects} may have happened, and nothing will repeat it; "
                f"see `tenure unknown {task.id}`"
            )
        case "cancelled":
            return f"{name} was cancelled; `tenure retry {task.id}` opens it again"
        case state:
            return f"{name} is {state}; wait with `tenure watch {task.id}`"


def exit_of_task(task: TaskView) -> Exit:
    """Return the exit code of a task's state; one that has not ended is no success either."""
    match task.state:
        case "done":
            return Exit.DONE
        case "unknown":
            return Exit.UNKNOWN
        case _:
            return Exit.FAILED


def worst(exits: Sequence[Exit]) -> Exit:
    """Return the gravest of several: unknown before failed before done."""
    return max(exits, default=Exit.DONE)
