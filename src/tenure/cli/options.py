"""Options that many verbs share, and the readers of their values."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from tenure.cli.output import Output
from tenure.core.errors import Invalid
from tenure.settings import client_settings, process_environment

if TYPE_CHECKING:
    from tenure.client.client import Client

F = TypeVar("F", bound=Callable[..., object])

STDIN = "-"
INPUT_BYTES_MAX = 64 * 1024 * 1024  # Bound: what is read from a file or a pipe before the server says its own


def for_programs(verb: F) -> F:
    """Add `--json` and `--debug`."""
    debug = click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks.")
    json = click.option("--json", "out", is_flag=True, callback=_output, help="Print JSON.")
    return json(debug(verb))


def to_control_plane(verb: F) -> F:
    """Add `--url` beside `--json` and `--debug`; the verb gets `connect`, which opens the client."""
    url = click.option("--url", "connect", metavar="URL", callback=_connect, help="The control plane.")
    return url(for_programs(verb))


Connect = Callable[[], "AbstractContextManager[Client]"]


def _output(_: click.Context, __: click.Parameter, json: bool) -> Output:
    return Output(json=json)


def _connect(_: click.Context, __: click.Parameter, url: str | None) -> Connect:
    settings = client_settings(process_environment(), url)

    def connect() -> "AbstractContextManager[Client]":
        from tenure.client.client import Client

        return Client(settings.url, settings.token)

    return connect


def read_json(text: str, key: str) -> object:
    """Read JSON given as text, as `@FILE`, or as `-` for standard input; names the option at fault."""
    import msgspec

    try:
        return msgspec.json.decode(read_source(text, key))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        shown = text if len(text) <= 60 else f"{text[:60]}…"
        raise Invalid(f"{shown} is no JSON: {error}; quote texts: '\"a\"'", path=key) from None


def read_source(text: str, key: str) -> bytes:
    """Return the bytes of a text, of `@FILE`, or of standard input for `-`."""
    if text == STDIN:
        return _bounded(sys.stdin.buffer.read(INPUT_BYTES_MAX + 1), key)
    if text.startswith("@"):
        return read_file(text[1:], key)
    return text.encode()


def read_file(name: str, key: str) -> bytes:
    """Return a file's bytes, or raise `Invalid` that names the option and the reason."""
    if name == STDIN:
        return read_source(name, key)
    try:
        with Path(name).open("rb") as file:
            return _bounded(file.read(INPUT_BYTES_MAX + 1), key)
    except OSError as error:
        raise Invalid(f"{name!r} cannot be read: {error.strerror or error}", path=key) from error


def _bounded(data: bytes, key: str) -> bytes:
    if len(data) > INPUT_BYTES_MAX:
        raise Invalid(
            f"more than {INPUT_BYTES_MAX // 2**20} MiB; put it elsewhere and send where it is", path=key
        )
    return data
