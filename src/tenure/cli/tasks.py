"""`tenure tasks`, `task`, `result`, `cancel` and `retry`."""

import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from tenure.cli.bars import state_words, words
from tenure.cli.exits import Exit, one_of_many
from tenure.cli.history import print_history
from tenure.cli.options import Connect, to_control_plane
from tenure.cli.output import Output, ago, note, pairs
from tenure.cli.waiting import exit_of_task, outcome, worst
from tenure.core.errors import Invalid
from tenure.core.task import TaskState
from tenure.core.view import TaskView
from tenure.settings import read_labels
from tenure.system.clock import SystemClock

if TYPE_CHECKING:
    from tenure.client.client import Client

LIMIT = 50
LIMIT_MAX = 100_000  # Bound: lines of one list; more is a matter for the API's pages


@click.command()
@click.option(
    "--state", type=click.Choice([str(state) for state in TaskState]), help="Only those in this state."
)
@click.option("--capability", metavar="NAME", help="Only those of this capability.")
@click.option("--queue", metavar="QUEUE", help="Only those of this queue.")
@click.option("--label", "labels", multiple=True, metavar="K=V", help="Only those with this label.")
@click.option("--limit", type=click.IntRange(1, LIMIT_MAX), default=LIMIT, show_default=True, metavar="N")
@to_control_plane
def tasks(
    out: Output,
    connect: Connect,
    state: str | None,
    capability: str | None,
    queue: str | None,
    labels: tuple[str, ...],
    limit: int,
) -> Exit:
    """List tasks, newest first."""
    if len(labels) > 1:
        raise click.UsageError("one --label at a time", click.get_current_context())
    label = next(iter(read_labels("--label", labels).items()), None)
    with connect() as client:
        found = client.tasks(
            state=TaskState(state) if state else None,
            capability=capability,
            queue=queue,
            label=label,
            limit=limit,
        )
        shown = list(found)
    if out.json:
        out.document(shown)
    else:
        now = SystemClock().wall()
        heads = ["id", "state", "capability", "queue", "progress", "holder", "updated"]
        out.table(heads, [_row(task, now if out.is_terminal else None) for task in shown], nothing="no tasks")
    return Exit.DONE


def _row(task: TaskView, now: datetime | None) -> Sequence[object]:
    """Return a task's row: for a person with its age, for a pipe with the instant."""
    progress = words(task) if task.state == "claimed" and task.progress is not None else ""
    holder = task.claim.agent if task.claim is not None else None
    queue = "" if now is not None and task.queue == "default" else task.queue
    updated = task.updated_at if now is None else ago(task.updated_at, now)
    return [task.id, state_words(task), task.capability, queue, progress, holder, updated]


@click.command()
@click.argument("id")
@to_control_plane
def task(out: Output, connect: Connect, id: str) -> Exit:
    """Show one task with its whole history."""
    with connect() as client:
        shown = client.task(id)
        history = list(client.history(id))
    if out.json:
        out.document({"task": shown, "history": history})
        return Exit.DONE
    out.fields(_facts(shown))
    print_history(out, history)
    return Exit.DONE


def _facts(task: TaskView) -> list[tuple[str, object]]:
    error = f"{task.error.type}: {task.error.message}" if task.error is not None else None
    holder = None
    if task.claim is not None:
        holder = f"{task.claim.agent}, generation {task.claim.generation}"
    return [
        ("id", task.id),
        ("state", state_words(task)),
        ("capability", f"{task.capability} {task.version or ''}".strip()),
        ("key", task.key),
        ("queue", task.queue),
        ("labels", pairs(task.labels)),
        ("depends on", task.depends_on),
        ("input", task.input),
        ("holder", holder),
        ("lease until", task.claim.until if task.claim is not None else None),
        ("progress", words(task) if task.progress is not None else None),
        ("result", task.result),
        ("error", error),
        ("unknown", [subject.subject for subject in task.unknown]),
        ("run", task.run),
        ("generation", task.generation),
        ("failed tries", f"{task.attempts} of {task.max_attempts}"),
        ("losses", f"{task.losses} of {task.max_losses}"),
        ("interruptions", task.interruptions or None),
        ("created", task.created_at),
        ("started", task.started_at),
        ("finished", task.finished_at),
    ]


@click.command()
@click.argument("id")
@to_control_plane
def result(out: Output, connect: Connect, id: str) -> Exit:
    """Print a task's result document; the exit code says whether there is one.

    1 when it failed, was cancelled or has not ended, and 5 when its outcome is unknown.
    """
    with connect() as client:
        shown = client.task(id)
    if shown.state == "done":
        out.document(shown.result)
    else:
        note(outcome(shown))
    return exit_of_task(shown)


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@to_control_plane
def cancel(out: Output, connect: Connect, ids: tuple[str, ...]) -> Exit:
    """Cancel tasks; one that runs is told to stop, and cancelled once it has."""
    return _each(out, connect, ids, lambda client, id_: client.cancel(id_), _cancelled)


def _cancelled(task: TaskView) -> tuple[str, Exit]:
    if task.state == "cancelled":
        return "cancelled", Exit.DONE
    if task.state == "done":
        return "was done before", Exit.FAILED
    return f"{task.state}, asked to stop", Exit.DONE


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--afresh", is_flag=True, help="Begin a new run, which repeats what the old one had applied.")
@click.option("--yes", is_flag=True, help="Do not ask before repeating.")
@to_control_plane
def retry(out: Output, connect: Connect, ids: tuple[str, ...], afresh: bool, yes: bool) -> Exit:
    """Open failed or cancelled tasks again; effects that were applied are not repeated, unless --afresh."""

    def again(client: "Client", id_: str) -> TaskView:
        if afresh:
            _ask(client, id_, yes=yes)
        return client.retry(id_, afresh=afresh)

    return _each(out, connect, ids, again, lambda task: (state_words(task), Exit.DONE))


def _ask(client: "Client", task_id: str, *, yes: bool) -> None:
    """Say what a new run would repeat, and go on only with consent."""
    from tenure.cli.history import applied

    names = applied(client.history(task_id))
    if not names:
        return
    repeats = f"a new run of {task_id} repeats what was applied: {', '.join(names)}"
    if not yes and not sys.stdin.isatty():
        raise Invalid(f"{repeats}; say --yes if that is wanted", path="--afresh")
    note(repeats)
    if not yes:
        click.confirm("repeat it", abort=True, err=True)


def _each(
    out: Output,
    connect: Connect,
    ids: Sequence[str],
    act: Callable[["Client", str], TaskView],
    say: Callable[[TaskView], tuple[str, Exit]],
) -> Exit:
    """Do one thing to each task; one that is refused does not keep the others from it."""

    def one(client: "Client", id_: str) -> Exit:
        changed = act(client, id_)
        text, code = say(changed)
        if out.json:
            out.line(changed)
        else:
            out.say(f"{id_} {text}")
        return code

    with connect() as client:
        return worst([one_of_many(lambda id_=id_: one(client, id_)) for id_ in ids])
