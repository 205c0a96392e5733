"""`tenure demo`: the main story on real processes, told live, and then judged by its evidence."""

import secrets
import tempfile
from contextlib import ExitStack
from pathlib import Path

import click

from tenure.cli.exits import Exit
from tenure.cli.options import for_programs
from tenure.cli.output import Output
from tenure.core.errors import Invalid


@click.command()
@click.option("--seed", type=click.IntRange(0, 2**32), metavar="N", help="Repeats the chance of that run.")
@click.option("--keep", metavar="DIR", help="An empty or new folder for everything, logs too, which is kept.")
@for_programs
def demo(out: Output, seed: int | None, keep: str | None) -> Exit:
    """Run real work on workers that are killed again and again, then show the evidence.

    Works on the sources of the Python installation that it runs on; needs no network and leaves nothing
    running. The exit code is 1 if any of its checks does not hold.
    """
    from tenure.cli.screens import print_outcome, screen_for
    from tenure.demo.story.story import tell_story
    from tenure.testing.processes import Processes

    with ExitStack() as leaving:
        folder = _folder(keep) if keep is not None else _temporary(leaving)
        (folder / "story").mkdir()
        processes = leaving.enter_context(Processes(folder / "logs"))
        outcome = tell_story(
            folder / "story",
            secrets.randbelow(10_000) if seed is None else seed,
            screen_for(out),
            processes=processes,
        )
    print_outcome(out, outcome)
    return Exit.DONE if outcome.ok else Exit.FAILED


def _folder(keep: str) -> Path:
    """Return the named folder, made if need be, or raise `Invalid` if something is in it."""
    folder = Path(keep).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_empty = next(folder.iterdir(), None) is None
    except OSError as error:
        raise Invalid(f"{keep!r} cannot be used: {error.strerror}", path="--keep") from error
    if not is_empty:
        raise Invalid(f"{keep!r} is not empty; name a new folder", path="--keep")
    return folder


def _temporary(leaving: ExitStack) -> Path:
    return Path(leaving.enter_context(tempfile.TemporaryDirectory(prefix="tenure-demo-")))
