"""`tenure watch`: live progress of one task, or of all that run."""

import threading
from typing import TYPE_CHECKING, NoReturn

import click

from tenure.cli.bars import View, as_the_answer
from tenure.cli.exits import Exit
from tenure.cli.options import Connect, to_control_plane
from tenure.cli.output import Output, note
from tenure.cli.waiting import exit_of_task, outcome, until_ended
from tenure.core.errors import NotFound
from tenure.core.task import TaskState
from tenure.core.view import TaskView

if TYPE_CHECKING:
    from tenure.client.client import Client

LOOK_S = 0.5
SHOWN_MAX = 40  # Bound: bars on one screen; of a larger fleet the others come into view as these end


@click.command()
@click.argument("id", required=False)
@to_control_plane
def watch(out: Output, connect: Connect, id: str | None) -> Exit:
    """Show live progress: of one task until it has ended, or of all that run until Ctrl-C.

    With an ID the exit code is 0 when it is done, 1 when it failed or was cancelled, 5 when it is unknown.
    """
    view = as_the_answer(out)
    with connect() as client:
        if id is None:
            with view:
                _watch_fleet(client, view)
        with view:
            task = until_ended(client, id, view)
    if task.state != "done":
        note(outcome(task))
    return exit_of_task(task)


def _watch_fleet(client: "Client", view: View) -> NoReturn:
    """Look again and again at what runs; what has ended is shown once more and then dropped."""
    shown: dict[str, TaskView] = {}
    pause = threading.Event()
    while True:
        running = {task.id: task for task in client.tasks(state=TaskState.CLAIMED, limit=SHOWN_MAX)}
        for id_ in shown:
            if id_ not in running:
                _last_look(client, view, id_)
        for task in running.values():
            view.show(task)
        shown = running
        pause.wait(LOOK_S)


def _last_look(client: "Client", view: View, task_id: str) -> None:
    try:
        view.leave(client.task(task_id))
    except NotFound:  # Pruned meanwhile
        view.drop(task_id)
