"""`tenure workers` and `tenure drain`."""

from datetime import datetime

import click

from tenure.cli.exits import Exit
from tenure.cli.options import Connect, to_control_plane
from tenure.cli.output import Output, ago, pairs
from tenure.core.registration import WorkerView
from tenure.system.clock import SystemClock


@click.command()
@to_control_plane
def workers(out: Output, connect: Connect) -> Exit:
    """List workers as the store judges them now."""
    with connect() as client:
        found = client.workers()
    if out.json:
        out.document(found)
        return Exit.DONE
    heads = ["id", "state", "slots", "room", "capabilities", "labels", "last seen"]
    now = SystemClock().wall() if out.is_terminal else None
    out.table(heads, [_row(worker, now) for worker in found], nothing="no workers")
    return Exit.DONE


def _row(worker: WorkerView, now: datetime | None) -> list[object]:
    capabilities = " ".join(f"{capability.name}/{capability.version}" for capability in worker.capabilities)
    return [
        worker.worker_id,
        state(worker),
        worker.slots,
        worker.room,
        capabilities,
        pairs(worker.labels),
        worker.last_seen_at if now is None else ago(worker.last_seen_at, now),
    ]


def state(worker: WorkerView) -> str:
    """Return a worker's state in words."""
    here = "connected" if worker.connected else "alive"
    alive = here if worker.alive else "gone"
    return f"{alive}, drained" if worker.drained else alive


@click.command()
@click.argument("worker")
@click.option("--undo", is_flag=True, help="Let it take work again.")
@click.option("--note", default="", metavar="TEXT", help="Why; kept with the mark.")
@to_control_plane
def drain(out: Output, connect: Connect, worker: str, undo: bool, note: str) -> Exit:
    """Let a worker take nothing new and end what has started, until it is undone."""
    with connect() as client:
        changed = client.drain(worker, drained=not undo, note=note)
    if out.json:
        out.document(changed)
    else:
        out.say(f"{worker} {'is drained: it takes nothing new' if changed.drained else 'takes work again'}")
    return Exit.DONE
