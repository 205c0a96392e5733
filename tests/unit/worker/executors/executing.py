"""Capabilities that behave and misbehave inside a real executor."""

import asyncio
import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

import tenure
from tenure import ABSENT, Absent, App, AsyncAttempt, Attempt, Recovery

app = App("executing")

FLOOD_BYTES = 40 * 1024 * 1024


@app.capability("pid", recovery=Recovery.RECOMPUTE)
def pid(attempt: Attempt) -> int:
    return os.getpid()


@app.capability("shared-pid", recovery=Recovery.RECOMPUTE)
async def shared_pid(attempt: AsyncAttempt) -> int:
    return os.getpid()


@app.capability("echo", recovery=Recovery.RECOMPUTE, isolation="shared")
def echo(attempt: Attempt, value: object = None) -> object:
    return value


@app.capability("main-thread", recovery=Recovery.RECOMPUTE)
def main_thread(attempt: Attempt) -> bool:
    return threading.current_thread() is threading.main_thread()


@app.capability("gil", recovery=Recovery.RECOMPUTE)
def hold_the_interpreter(attempt: Attempt, seconds: int) -> str:
    """Hold the interpreter's lock in one C call: no other thread of this process runs meanwhile."""
    ctypes.PyDLL(None).usleep(seconds * 1_000_000)
    return "held"


@app.capability("segfault", recovery=Recovery.RECOMPUTE)
async def segfault(attempt: AsyncAttempt) -> None:
    ctypes.string_at(0)


@app.capability("signal", recovery=Recovery.RECOMPUTE)
def signal_itself(attempt: Attempt, number: int) -> None:
    os.kill(os.getpid(), number)
    threading.Event().wait(20)


@app.capability("leave", recovery=Recovery.RECOMPUTE)
def leave(attempt: Attempt, code: int) -> None:
    os._exit(code)


@app.capability("exit", recovery=Recovery.RECOMPUTE, isolation="shared")
async def exit_in_a_task(attempt: AsyncAttempt) -> str:
    async def leave() -> None:
        raise SystemExit(3)

    task = asyncio.create_task(leave())
    await asyncio.wait({task})
    return "still here"


@app.capability("wait", recovery=Recovery.RECOMPUTE)
def wait(attempt: Attempt, started: str) -> str:
    """Say that it runs, then notice a cancel where it asks for one."""
    say(started)
    attempt.poll(lambda: attempt.stopping, until=bool, every=0.01)
    attempt.raise_if_cancelled()
    return "stopping"


@app.capability("sleep", recovery=Recovery.RECOMPUTE)
async def sleep(attempt: AsyncAttempt, started: str) -> None:
    say(started)
    await asyncio.Event().wait()


@app.capability("deaf", recovery=Recovery.RECOMPUTE)
def deaf(attempt: Attempt, started: str) -> None:
    """Ignore every cancel."""
    say(started)
    threading.Event().wait(60)


@app.capability("progress", recovery=Recovery.RECOMPUTE)
def flood_progress(attempt: Attempt, times: int) -> None:
    for number in range(times):
        attempt.progress(number, total=times)


@app.capability("print", recovery=Recovery.RECOMPUTE)
def flood_output(attempt: Attempt) -> None:
    """Print what no terminal wants: bytes that are no text, and a line without an end."""
    sys.stdout.buffer.write(b"\xff\x00 not text\n")
    for _ in range(FLOOD_BYTES // 65_536):
        sys.stdout.buffer.write(b"x" * 65_536)
    sys.stdout.buffer.flush()


@app.capability("ask", recovery=Recovery.RECOMPUTE)
async def flood_questions(attempt: AsyncAttempt, count: int) -> int:
    await asyncio.gather(*(attempt.step(f"s{number}", int) for number in range(count)))
    return count


@app.capability("act", recovery=Recovery.QUERY)
def act(attempt: Attempt, folder: str, find: bool = False) -> str:
    """Create a file per request id; `find` looks for it."""

    def apply(request_id: str) -> str:
        (Path(folder) / request_id).write_text("applied")
        return request_id

    def look(request_id: str) -> str | Absent:
        return request_id if (Path(folder) / request_id).exists() else ABSENT

    return attempt.effect("act", {"folder": folder}, apply, look if find else None, returns=str)


@app.capability("act-async", recovery=Recovery.QUERY)
async def act_slowly(attempt: AsyncAttempt, started: str, go_on: str) -> str:
    """Act until a file appears; a cancel has to wait for it."""

    async def apply(request_id: str) -> str:
        say(started)
        while True:
            if await asyncio.to_thread(Path(go_on).exists):
                return request_id
            await asyncio.sleep(0.01)  # work: what is acted on takes its time

    return await attempt.effect("act", {}, apply)


@app.capability("report", recovery=Recovery.RESUME, window="none")
def report(attempt: Attempt) -> dict[str, object]:
    attempt.progress(1, total=2)
    attempt.checkpoint({"from": attempt.resumed_from})
    attempt.ensure_lease(5)
    attempt.step("read", lambda: [1, 2])
    attempt.progress(2, total=2)
    return {"losses": attempt.losses, "generation": attempt.generation, "epoch": attempt.store_epoch}


@app.capability("large", recovery=Recovery.RECOMPUTE)
def large(attempt: Attempt, size: int) -> str:
    return "x" * size


@app.capability("numbers", recovery=Recovery.RECOMPUTE)
def numbers(attempt: Attempt, value: int) -> int:
    return value * value


@app.capability("fail", recovery=Recovery.RECOMPUTE)
def fail(attempt: Attempt) -> None:
    raise tenure.Failed("no such thing", retry=False)


@app.capability("descriptors", recovery=Recovery.RECOMPUTE)
def descriptors(attempt: Attempt) -> dict[str, list[str]]:
    """Tell what this process holds, what a child that it starts holds, and what a fork of it holds."""
    listing = "from tests.unit.worker.executors.executing import held; print(*held(), sep='\\n')"
    argv = [sys.executable, "-c", listing]
    child = subprocess.run(argv, check=True, capture_output=True, text=True, close_fds=False)
    ours, theirs = os.pipe()
    forked = os.fork()
    if forked == 0:
        os.write(theirs, "\n".join(held()).encode())
        os._exit(0)
    os.waitpid(forked, 0)
    return {
        "own": held(),
        "child": child.stdout.splitlines(),
        "fork": os.read(ours, 65_536).decode().splitlines(),
    }


def held() -> list[str]:
    """List what the descriptors of this process point at."""
    found: list[str] = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(descriptor.readlink()))
        except OSError:
            continue  # the listing's own
    return found


def say(started: str) -> None:
    """Say by a file that the code runs, and in which process."""
    Path(started).write_text(str(os.getpid()))


@app.capability("offspring", recovery=Recovery.RECOMPUTE)
def offspring(attempt: Attempt, started: str) -> None:
    """Start a program, then die and leave it behind."""
    program = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait(60)"])
    Path(started).write_text(str(program.pid))
    os._exit(1)
