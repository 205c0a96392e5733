"""The group of all verbs, and the border where every error becomes one line and an exit code."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final, NamedTuple

import click

from tenure.cli.exits import Exit, exit_of, say_error, sentence
from tenure.core.errors import TenureError
from tenure.settings import process_environment

COMPLETE: Final = "_TENURE_COMPLETE"


class Verb(NamedTuple):
    """Where a verb is, and its line in the list; the module is imported only when the verb is called."""

    module: str
    says: str


VERBS: Final[dict[str, Verb]] = {
    "server": Verb("serve", "run a control plane on ./tenure.db"),
    "worker": Verb("work", "run a worker: tenure worker --app MODULE:APP"),
    "submit": Verb("submit", "submit a task, or many from a file"),
    "tasks": Verb("tasks", "list tasks, newest first"),
    "task": Verb("tasks", "show one task with its whole history"),
    "watch": Verb("watch", "live progress of one task, or of all that run"),
    "result": Verb("tasks", "print a task's result"),
    "cancel": Verb("tasks", "cancel tasks"),
    "retry": Verb("tasks", "open failed or cancelled tasks again"),
    "unknown": Verb("verdicts", "what waits for a verdict, with its evidence"),
    "reconcile": Verb("verdicts", "give a verdict on something unknown"),
    "workers": Verb("fleet", "list workers"),
    "drain": Verb("fleet", "let a worker take nothing new, or undo that"),
    "token": Verb("tokens", "create, list and revoke credentials"),
    "demo": Verb("demo", "the whole story: real work, killed again and again, then its evidence"),
}

EPILOG: Final = """
Verbs that speak to a control plane read TENURE_URL and TENURE_TOKEN. When neither is set they use the server
of the current folder: `tenure server` leaves its address in tenure.db.url and a private credential in
tenure.db.token.

Exit codes: 0 done, 1 the task or check failed, 2 wrong usage or input, 3 the control plane cannot be
reached, 4 not authorised, 5 the outcome is unknown, 130 interrupted.
"""


class LazyGroup(click.Group):
    """A group that knows its verbs by name and line, and imports one only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the verbs in the order in which a newcomer meets them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb's module and return its command."""
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        return getattr(import_module(f"tenure.cli.{verb.module}"), cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs without importing any."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, verb.says) for name, verb in VERBS.items()])


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"tenure {version('tenure')}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    no_args_is_help=True,
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version."
)
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks.")
def tenure() -> None:
    """Run a durable worker runtime: nothing accepted is lost, and nothing is silently done twice."""


def run(args: Sequence[str]) -> int:
    """Run one command line and return its exit code; every error ends here."""
    try:
        with tenure.make_context("tenure", list(args)) as context:
            code: int | None = tenure.invoke(context)
        return _flushed(int(code or Exit.DONE))
    except click.exceptions.Exit as end:
        return end.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _fail(Exit.INTERRUPTED, "interrupted")
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return Exit.DONE
    except click.ClickException as error:
        return _fail(Exit.USAGE, _usage(error))
    except BrokenPipeError:
        return _flushed(Exit.DONE)
    except TenureError as error:
        if "--debug" in args:
            raise
        say_error(error)
        return exit_of(error)
    except Exception as error:
        if "--debug" in args:
            raise
        return _fail(Exit.FAILED, f"{type(error).__name__}: {sentence(error)}; --debug shows where")


def _fail(code: Exit, text: str) -> int:
    print(f"tenure: {text}", file=sys.stderr)
    return code


def _usage(error: click.ClickException) -> str:
    """Return what is wrong with a command line as one sentence that names the help to read."""
    text = " ".join(error.format_message().split()).removesuffix(".")
    text = text[:1].lower() + text[1:]
    command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "tenure"
    return f"{text}; see `{command} --help`"


def _flushed(code: int) -> int:
    """Return the code after the last output; a reader that has had enough, as `head` has, is no error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stdout = None  # The interpreter's last flush finds nothing to complain about
    return code


def main() -> None:
    """Run the command line of this process, or answer the shell that wants to complete one."""
    instruction = process_environment().get(COMPLETE)
    if instruction:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(tenure, {}, "tenure", COMPLETE, instruction))
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
