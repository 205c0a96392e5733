"""Main of an executor process: `python -m tenure.app.child LINE LOCK SUPERVISOR APP FAULTS CLOCK`.

It binds itself to its supervisor, imports the author's module, says what that declares, and executes what
comes down the line until the line closes. A supervisor starts it; nobody else does. What faults and clock are
is named by the composition root, since this layer knows neither.
"""

import socket
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final, cast

from tenure.app.app import App
from tenure.app.fate import bind_to_supervisor
from tenure.app.link import Link
from tenure.app.running import Surroundings
from tenure.app.serving import Serving, call_plain
from tenure.core.errors import InvalidConfig
from tenure.ports.clock import Clock
from tenure.ports.faults import Faults
from tenure.wire.executor import Declared, Unimportable

ROLE: Final = "executor"
"""What fault points see of this process."""

_OURS: Final = str(Path(__file__).parent)


def main(arguments: list[str]) -> None:
    """Be an executor until the line closes."""
    line, lock, supervisor = map(int, arguments[:3])
    named_app, faults, clock = arguments[3:6]
    if not bind_to_supervisor(supervisor, (line, lock)):
        return
    own_clock = cast("Callable[[], Clock]", _named(clock))()
    own_faults = cast("Callable[[str], Faults]", _named(faults))(ROLE)
    link = Link(socket.socket(fileno=line), own_clock)
    serving = Serving(link, Surroundings(link, own_clock, own_faults))
    # From here on the process ends with its line, also in the middle of a slow import.
    link.listen(serving.take, serving.closed)
    try:
        app = load_app(named_app)
        manifest = app.manifest()
    except BaseException as error:  # noqa: BLE001 - the border to user code: a module may even exit (C060)
        link.send(Unimportable(_reason(error)))
        return
    serving.offer(app.capabilities)
    link.send(Declared(manifest))
    serve(serving)


def serve(serving: Serving) -> None:
    """Execute until the line closes: each by itself, until the first that says `shared`."""
    while (execution := serving.next()) is not None:
        declared, running = execution
        if running.work.isolation == "shared" or declared.is_async:
            break
        serving.ended(running, call_plain(declared, running))
    else:
        return
    from tenure.app.loop import serve_on_loop  # noqa: PLC0415 - asyncio is loaded where it is needed

    serve_on_loop(serving, execution)


def load_app(named: str) -> App:
    """Import `MODULE:APP` and return the app.

    Raises:
        InvalidConfig: The module has no such app. Whatever else the module itself raises is passed on.
    """
    module, _, name = named.partition(":")
    found: object = import_module(module)
    for part in name.split("."):
        if not hasattr(found, part):
            raise InvalidConfig(f"module {module!r} has no {name!r}; name its App, as in {module}:app")
        found = getattr(found, part)
    if not isinstance(found, App):
        raise InvalidConfig(f"{named!r} is a {type(found).__name__} and no App")
    return found


def _named(named: str) -> object:
    module, _, name = named.partition(":")
    return getattr(import_module(module), name)


def _reason(error: BaseException) -> str:
    """Return the last line of the traceback, with the place in the author's code where it happened."""
    said = traceback.format_exception_only(error)[-1].strip()
    if isinstance(error, InvalidConfig):
        said = str(error)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((_OURS, "<frozen importlib"))
        and "importlib" not in Path(frame.filename).parts
    ]
    return f"{frames[-1].filename}:{frames[-1].lineno}: {said}" if frames else said


if __name__ == "__main__":
    main(sys.argv[1:])
