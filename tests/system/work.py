"""Capabilities for the stories, well-behaved ones and rogues: `tests.system.work:app`.

Those that come in four are registered once for each rule, as `NAME-RULE`, with the same code, so that a story
can tell what the rule alone makes of the same misfortune.
"""

import ctypes
import mmap
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from tenure import ABSENT, Absent, App, Attempt, Recovery
from tests.crash.world import World

app = App("stories")

WINDOW = "everything since the last checkpoint may be done twice"
MEMORY_BYTES = 192 * 2**20


def each_rule(name: str) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Register the same code under each rule."""

    def register(function: Callable[..., object]) -> Callable[..., object]:
        for rule in Recovery:
            window = WINDOW if rule is Recovery.RESUME else ""

            def again(attempt: Attempt, folder: str) -> object:
                return function(attempt, Path(folder))

            app.capability(f"{name}-{rule}", recovery=rule, window=window)(again)
        return function

    return register


def wait_for(attempt: Attempt, file: Path) -> None:
    """Wait until a file is there; a cancel ends the wait."""
    attempt.poll(file.exists, lambda found: found, every=0.05)


@app.capability("echo", recovery=Recovery.RECOMPUTE)
def echo(attempt: Attempt, said: str = "") -> str:
    """Return what it is given."""
    return said


@app.capability("last", recovery=Recovery.RECOMPUTE)
def last(attempt: Attempt, folder: str, seconds: float) -> str:
    """Take some time, and end by itself."""
    World(Path(folder)).note("began", attempt.task_id)
    time.sleep(seconds)  # work: takes time
    return "done"


@app.capability("hold-interpreter", recovery=Recovery.RECOMPUTE)
def hold_interpreter(attempt: Attempt, folder: str, seconds: int) -> str:
    """Call into C without letting the interpreter's lock go, as a bad extension does."""
    World(Path(folder)).note("began", attempt.task_id)
    ctypes.PyDLL(None).sleep(seconds)
    return "done"


@each_rule("segfault")
def segfault(attempt: Attempt, folder: Path) -> str:
    """Read address 0, once."""
    return _die_once(attempt, folder, lambda: ctypes.string_at(0))


@each_rule("eat-memory")
def eat_memory(attempt: Attempt, folder: Path) -> str:
    """Take memory until killed, once; the kernel's part is played by the same signal from the same place."""

    def eat() -> None:
        eaten = mmap.mmap(-1, MEMORY_BYTES)
        for start in range(0, MEMORY_BYTES, mmap.PAGESIZE):
            eaten[start] = 1
        os.kill(os.getpid(), signal.SIGKILL)

    return _die_once(attempt, folder, eat)


def _die_once(attempt: Attempt, folder: Path, die: Callable[[], object]) -> str:
    world = World(folder)
    if attempt.resumed_from is None:
        attempt.checkpoint("reached")
    world.note("ran", f"{attempt.task_id}:{attempt.resumed_from}")
    if world.count("died", attempt.task_id) == 0:
        world.note("died", attempt.task_id)
        die()
    return "survived"


@each_rule("wait")
def wait(attempt: Attempt, folder: Path) -> str:
    """Wait for the word `go`, then act once where it can be asked what became of it."""
    world = World(folder)
    world.note("began", f"{attempt.task_id}:{attempt.generation}")
    wait_for(attempt, folder / f"go-{attempt.generation}")

    def find(request_id: str) -> str | Absent:
        return world.find(request_id) or ABSENT

    receipt = attempt.effect("act", {}, apply=world.act, find=find)
    world.note("ended", f"{attempt.task_id}:{attempt.generation}")
    return receipt


@app.capability("pause", recovery=Recovery.RECOMPUTE)
def pause(attempt: Attempt, folder: str) -> str:
    """Wait for the word `go`, and end without having saved anything on the way."""
    World(Path(folder)).note("began", attempt.task_id)
    wait_for(attempt, Path(folder) / "go")
    return "done"


@each_rule("deaf")
def deaf(attempt: Attempt, folder: Path) -> str:
    """Ignore every wish to stop, and never end."""
    World(folder).note("began", f"{attempt.task_id}:{attempt.generation}")
    while True:
        time.sleep(0.1)  # work: hangs for ever


@app.capability("brief", recovery=Recovery.RECOMPUTE)
def brief(attempt: Attempt, folder: str, seconds: float) -> str:
    """End very soon, unless it is cancelled before."""
    World(Path(folder)).note("began", attempt.task_id)
    attempt.raise_if_cancelled()
    time.sleep(seconds)  # work: takes time
    attempt.raise_if_cancelled()
    return "done"


@app.capability("burn", recovery=Recovery.RECOMPUTE)
def burn(attempt: Attempt, folder: str, seconds: float) -> str:
    """Keep a processor busy."""
    World(Path(folder)).note("began", attempt.task_id)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
    return "done"
