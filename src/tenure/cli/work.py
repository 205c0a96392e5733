"""`tenure worker`: runs capabilities until a signal drains it."""

import os
import sys

import click
import msgspec

from tenure.cli.exits import Exit
from tenure.cli.options import for_programs
from tenure.cli.output import Output, clean, note, tell_if_heard
from tenure.settings import WorkerFlags, WorkerSettings, process_environment, wants_color, worker_settings


@click.command()
@click.option(
    "--app", required=True, metavar="MODULE:APP", help="What it can do; the current folder is importable."
)
@click.option("--url", metavar="URL", help="The control plane.")
@click.option(
    "--state", metavar="DIR", help="Its local store; keep it.  [default: TENURE_STATE or ./.tenure/ID]"
)
@click.option("--id", "worker_id", metavar="ID", help="Its name.  [default: HOST-MODULE]")
@click.option("--label", "labels", multiple=True, metavar="K=V", help="What it has; tasks may require it.")
@click.option(
    "--resource",
    "resources",
    multiple=True,
    metavar="NAME=N",
    help="A count that tasks may need, as in gpu=2.",
)
@click.option(
    "--queue", "queues", multiple=True, metavar="QUEUE", help="Whose tasks it takes.  [default: default]"
)
@click.option("--slots", type=int, metavar="N", help="Attempts at once.  [default: number of processors]")
@click.option(
    "--on-stop",
    default="wait",
    show_default=True,
    metavar="wait|cancel",
    help="What SIGTERM does to what runs: wait for its end, or cancel it.",
)
@click.option(
    "--grace",
    "grace_s",
    type=float,
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long SIGTERM waits for what runs before it is cancelled; inf: as long as it takes.",
)
@for_programs
def worker(out: Output, **said: object) -> Exit:
    """Run a worker; SIGTERM or Ctrl-C drains it, a second one cancels what still runs.

    Started again on its state folder it finds what it was doing, and goes on by each capability's rule.
    """
    environment = process_environment()
    color = wants_color(environment, is_terminal=sys.stderr.isatty())
    flags = msgspec.convert({**said, "json": out.json, "color": color}, WorkerFlags)
    settings = worker_settings(environment, flags)
    from tenure.wiring.worker import run_worker

    ended = run_worker(settings, lambda slots: tell_if_heard(lambda: _ready(out, settings, slots)))
    if ended.exit_code:
        note(f"tenure: {clean(ended.text)}")
    return Exit(ended.exit_code)


def _ready(out: Output, settings: WorkerSettings, slots: int) -> None:
    """Say that it is registered and takes work."""
    if out.json:
        out.line(
            {
                "ready": True,
                "worker_id": settings.worker_id,
                "pid": os.getpid(),
                "url": settings.client.url,
                "state": str(settings.state),
                "slots": slots,
            }
        )
        return
    out.say(f"tenure worker {settings.worker_id} is ready for {settings.app} at {settings.client.url}")
    out.say(f"  {slots} slots, state in {settings.state}")
