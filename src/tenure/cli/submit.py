"""`tenure submit`: one task from options, or many from a file."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec import Struct

from tenure.cli.exits import Exit
from tenure.cli.options import Connect, read_file, read_json, to_control_plane
from tenure.cli.output import Output, note
from tenure.cli.waiting import wait_for_all
from tenure.core.errors import Invalid
from tenure.core.task import TaskSpec
from tenure.settings import read_labels

if TYPE_CHECKING:
    from tenure.client.client import Client

BATCH_MAX = 500  # Bound: tasks in one call; a batch is accepted as a whole or not at all


class Said(Struct, frozen=True):
    """What was said to the verb, not checked yet."""

    capability: str | None = None
    input: str | None = None
    key: str | None = None
    priority: int = 0
    after: tuple[str, ...] = ()
    delay: float | None = None
    queue: str | None = None
    version: str | None = None
    labels: tuple[str, ...] = ()
    bulk: str | None = None
    wait: bool = False


@click.command()
@click.argument("capability", required=False)
@click.option("--input", metavar="JSON|@FILE|-", help="What it is called with.  [default: {}]")
@click.option("--key", metavar="TEXT", help="Names the task: the same key and content is the same task.")
@click.option("--priority", type=int, default=0, metavar="N", help="Higher runs first.  [default: 0]")
@click.option("--after", multiple=True, metavar="TASK", help="Wait until that task is done.")
@click.option("--delay", type=float, metavar="SECONDS", help="Start no earlier than so long from now.")
@click.option("--queue", metavar="QUEUE", help="Which workers may take it.  [default: default]")
@click.option("--version", metavar="TEXT", help="Only this version of the capability.")
@click.option("--label", "labels", multiple=True, metavar="K=V", help="For finding it again.")
@click.option("--bulk", metavar="FILE.jsonl", help="One task per line, each as the protocol's TaskSpec.")
@click.option("--wait", is_flag=True, help="Wait until it has ended, and print its result.")
@to_control_plane
def submit(out: Output, connect: Connect, **said: object) -> Exit:
    """Submit a task and print its id, or its result with --wait.

    With --wait the exit code is 0 when it is done, 1 when it failed or was cancelled, 5 when its outcome is
    unknown.

    --bulk reads a file, or standard input for -; CAPABILITY is then for the lines that name none. Give each
    line a "key", and repeating an interrupted call is harmless.
    """
    asked = msgspec.convert(said, Said)
    specs = _from_file(asked) if asked.bulk is not None else [_from_options(asked)]
    with connect() as client:
        ids = _submit(client, out, specs, quiet=asked.wait)
        return wait_for_all(client, out, ids) if asked.wait else Exit.DONE


def _submit(client: "Client", out: Output, specs: Sequence[TaskSpec], *, quiet: bool) -> list[str]:
    """Send the tasks in batches and print the id of each, once its batch is accepted."""
    ids: list[str] = []
    for start in range(0, len(specs), BATCH_MAX):
        for submitted in client.submit_many(specs[start : start + BATCH_MAX]):
            ids.append(submitted.id)
            if out.json and not quiet:
                out.line(submitted)
            elif not quiet:
                out.say(submitted.id)
            if not submitted.created:
                note(f"{submitted.id} was there already")
    return ids


def _from_options(asked: Said) -> TaskSpec:
    if asked.capability is None:
        raise click.UsageError("say which CAPABILITY, or give --bulk FILE.jsonl", click.get_current_context())
    return TaskSpec(
        capability=asked.capability,
        version=asked.version,
        input={} if asked.input is None else read_json(asked.input, "--input"),
        key=asked.key,
        queue=asked.queue or "default",
        priority=asked.priority,
        depends_on=list(asked.after),
        delay_s=asked.delay,
        labels=read_labels("--label", asked.labels),
    )


def _from_file(asked: Said) -> list[TaskSpec]:
    alone = Said(capability=asked.capability, bulk=asked.bulk, wait=asked.wait)
    if asked != alone:
        raise click.UsageError("with --bulk each line says everything itself", click.get_current_context())
    specs = list(_lines(read_file(asked.bulk or "", "--bulk"), asked.capability))
    if not specs:
        raise Invalid("the file has no lines", path="--bulk")
    return specs


def _lines(data: bytes, capability: str | None) -> Iterator[TaskSpec]:
    """Read each line's task; the one at fault is named by its number, and nothing has been sent then."""
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            stated = msgspec.json.decode(line, type=dict[str, object])
            if capability is not None:
                stated.setdefault("capability", capability)
            yield msgspec.convert(stated, TaskSpec)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Invalid(f"line {number}: {error}", path="--bulk") from None
