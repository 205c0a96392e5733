"""`tenure server`: a control plane until a signal ends it."""

import os
import sys

import click

from tenure.cli.exits import Exit
from tenure.cli.options import for_programs
from tenure.cli.output import Output, tell_if_heard
from tenure.settings import (
    DEFAULT_LISTEN,
    DEFAULT_STORE,
    ServerSettings,
    process_environment,
    server_settings,
    wants_color,
)


@click.command()
@click.option(
    "--store", default=DEFAULT_STORE, show_default=True, metavar="URL", help="Where everything is kept."
)
@click.option(
    "--listen",
    default=DEFAULT_LISTEN,
    show_default=True,
    metavar="HOST:PORT",
    help="Where to answer; port 0 is any free one.",
)
@click.option(
    "--token-file", metavar="FILE", help="Where the first credential is kept.  [default: beside the store]"
)
@click.option("--insecure", is_flag=True, help="Answer other machines although there is no TLS.")
@for_programs
def server(out: Output, store: str, listen: str, token_file: str | None, insecure: bool) -> Exit:
    """Run a control plane; SIGTERM or Ctrl-C ends it at once, and nothing is lost.

    The first start makes an admin credential: TENURE_ADMIN_TOKEN if it is set, else one that is generated
    into a private file beside the store. Command lines in the store's folder find it and the address by
    themselves.
    """
    environment = process_environment()
    settings = server_settings(
        environment,
        store=store,
        listen=listen,
        token_file=token_file,
        insecure=insecure,
        json=out.json,
        color=wants_color(environment, is_terminal=sys.stderr.isatty()),
    )
    from tenure.wiring.server import run_server

    run_server(settings, lambda url: tell_if_heard(lambda: _ready(out, settings, url)))
    return Exit.DONE


def _ready(out: Output, settings: ServerSettings, url: str) -> None:
    """Say that calls are answered now."""
    token_file = None if settings.admin_token else str(settings.token_path)
    if out.json:
        out.line(
            {
                "ready": True,
                "url": url,
                "pid": os.getpid(),
                "store": str(settings.store_path),
                "token_file": token_file,
            }
        )
        return
    credential = token_file or "TENURE_ADMIN_TOKEN"
    out.say(f"tenure server answers at {url}")
    out.say(f"  store {settings.store_path}, admin credential in {credential}")
