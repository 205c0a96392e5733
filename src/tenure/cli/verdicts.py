"""`tenure unknown` and `tenure reconcile`: what waits for a person, and the person's word."""

import click
from msgspec import Struct, convert

from tenure.cli.exits import Exit
from tenure.cli.options import Connect, read_json, to_control_plane
from tenure.cli.output import Output, cell, note
from tenure.cli.waiting import outcome
from tenure.core.task import TaskState
from tenure.core.verdict import Verdict, VerdictRequest
from tenure.core.view import SubjectView, TaskView

LIMIT = 1_000


class WaitingSubject(Struct, frozen=True):
    """One thing that waits for a verdict, as programs get it."""

    task_id: str
    capability: str
    revision: int
    subject: SubjectView


@click.command()
@click.argument("id", required=False)
@to_control_plane
def unknown(out: Output, connect: Connect, id: str | None) -> Exit:
    """List what waits for a verdict, with its evidence; with an ID, that task's."""
    with connect() as client:
        tasks = [client.task(id)] if id is not None else list(client.unknown(limit=LIMIT))
    waiting = [
        WaitingSubject(task.id, task.capability, task.revision, subject)
        for task in tasks
        for subject in task.unknown
    ]
    if out.json:
        out.document(waiting)
        return Exit.DONE
    for item in waiting:
        _show(out, item)
    if not waiting:
        out.say("nothing waits for a verdict")
    return Exit.DONE


def _show(out: Output, item: WaitingSubject) -> None:
    """Print a subject with everything that is known of it, and how to decide it."""
    subject = item.subject
    out.say(f"{item.capability} {item.task_id}: did {cell(subject.subject)!r} happen?")
    known = [
        ("  params", subject.params),
        ("  request id", subject.request_id),
        ("  begun at", subject.witnessed_at),
        ("  holder", _holder(subject)),
        *((f"  {name.replace('_', ' ')}", value) for name, value in subject.evidence.items()),
    ]
    for name, value in known:
        if value not in (None, "", [], {}):
            out.say(f"{name}: {cell(value)}")
    out.say(f"  tenure reconcile {item.task_id} {subject.subject} --happened JSON | --did-not-happen | …")
    out.say("")


def _holder(subject: SubjectView) -> str | None:
    if subject.agent is None:
        return None
    acts = "it may still act" if subject.may_still_act else "it can no longer act"
    return f"{subject.agent}, generation {subject.generation}; {acts}"


class Decided(Struct, frozen=True):
    """What was said to `reconcile`, not checked yet."""

    happened: str | None
    did_not_happen: bool
    still_unknown: bool
    abandon: bool
    note: str
    anyway: bool


@click.command()
@click.argument("id")
@click.argument("subject")
@click.option("--happened", metavar="JSON|@FILE|-", help="It happened, with this result.")
@click.option("--did-not-happen", is_flag=True, help="It did not happen; it may be done again.")
@click.option("--still-unknown", is_flag=True, help="Somebody looked and could not tell; nothing changes.")
@click.option("--abandon", is_flag=True, help="Give it up; the task fails.")
@click.option("--note", default="", metavar="TEXT", help="Why; kept with the verdict.")
@click.option("--anyway", is_flag=True, help="Although the holder may still act.")
@to_control_plane
def reconcile(out: Output, connect: Connect, id: str, subject: str, **said: object) -> Exit:
    """Give a verdict on SUBJECT, an effect's name or `attempt`, of the task ID.

    The holder's last sign of life is shown first. While it may still act, --did-not-happen needs --anyway.
    """
    decided = convert(said, Decided)
    verdict, result = _verdict(decided)
    with connect() as client:
        task = client.task(id)
        _last_sign(task, subject)
        given = VerdictRequest(
            subject=subject,
            verdict=verdict,
            revision=task.revision,
            result=result,
            note=decided.note,
            anyway=decided.anyway,
        )
        changed = client.verdict(id, given)
    _told(out, changed, subject, verdict)
    return Exit.DONE


def _verdict(decided: Decided) -> tuple[Verdict, object]:
    """Return the one verdict that was given, and its result."""
    given = {
        Verdict.HAPPENED: decided.happened is not None,
        Verdict.DID_NOT_HAPPEN: decided.did_not_happen,
        Verdict.STILL_UNKNOWN: decided.still_unknown,
        Verdict.ABANDON: decided.abandon,
    }
    chosen = [verdict for verdict, was_given in given.items() if was_given]
    if len(chosen) != 1:
        raise click.UsageError(
            "give one of --happened JSON, --did-not-happen, --still-unknown and --abandon",
            click.get_current_context(),
        )
    if decided.happened is None:
        return chosen[0], None
    return chosen[0], read_json(decided.happened, "--happened")


def _last_sign(task: TaskView, name: str) -> None:
    """Say when the holder was last heard of, before anything is decided."""
    subject = next((subject for subject in task.unknown if subject.subject == name), None)
    if subject is None:
        return  # The control plane says whether it was decided before or was never in doubt
    until = subject.evidence.get("lease_until")
    note(f"last sign of life of the holder: {_holder(subject) or 'none'}; its lease: until {cell(until)}")


def _told(out: Output, task: TaskView, subject: str, verdict: Verdict) -> None:
    if out.json:
        out.document(task)
    elif task.state == TaskState.UNKNOWN:
        out.say(f"{verdict} is kept for {subject}; {outcome(task)}")
    else:
        out.say(f"{verdict} is kept for {subject}; task {task.id} is {task.state}")
