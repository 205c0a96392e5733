"""docs/cli.md: every verb with its own help, as the command line prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tenure.cli.main import EPILOG, tenure
from tools.pages.markdown import table

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 100
INTRO = "# Command line\n\n`tenure VERB --help` prints the same.\n"


def commands(group: click.Group, context: click.Context, path: str) -> Iterator[tuple[str, click.Context]]:
    """Walk all verbs, those inside a verb too."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            raise LookupError(f"{path} lists {name!r} and does not have it")
        inner = click.Context(command, info_name=name, parent=context, terminal_width=WIDTH)
        yield f"{path} {name}", inner
        if isinstance(command, click.Group):
            yield from commands(command, inner, f"{path} {name}")


def section(path: str, context: click.Context) -> str:
    """Print one verb's help."""
    return f"\n## {path}\n\n```text\n{context.command.get_help(context).rstrip()}\n```\n"


def page() -> str:
    """Make the page."""
    root = click.Context(tenure, info_name="tenure", terminal_width=WIDTH)
    found = list(commands(tenure, root, "tenure"))
    overview = table(
        ("verb", "does"), [(f"`{path}`", inner.command.get_short_help_str(WIDTH)) for path, inner in found]
    )
    return f"{INTRO}{EPILOG}\n{overview}" + "".join(section(path, inner) for path, inner in found)
