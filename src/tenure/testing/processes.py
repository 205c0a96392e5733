"""Starts, signals and ends real processes for tests and demonstrations, and leaves nothing running.

Standard output is read line by line, kept in a file, and searched for JSON lines, which is how a process
says that it is ready; standard error goes straight to a file. The set ends all its processes when it is
left, and a guard process does the same if this process is killed.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Self, cast

import psutil

from tenure.system.environment import inherited_environment
from tenure.testing.guard import MARK, kill_members

READY_S = 20.0
"""Bound on the time from a start to the line that says ready."""

EXIT_S = 20.0
"""Bound on the time in which a process that was told to end does so."""

DRAIN_S = 1.0
"""Bound on reading on after the end of a process, since a child of it may hold its output open."""

LOG_BYTES_SHOWN = 6000
"""How much of each log a message of failure carries, from the end."""

Document = dict[str, object]


class ProcessEnded(Exception):
    """The process ended while something was expected of it; the text carries its logs."""


class Managed:
    """One process that a set has started."""

    def __init__(
        self, name: str, argv: Sequence[str], folder: Path, environment: Mapping[str, str], cwd: Path | None
    ) -> None:
        """Start it; its output goes to `NAME.out` and `NAME.err` in the folder."""
        self.name = name
        self.argv = tuple(argv)
        self.out, self.err = folder / f"{name}.out", folder / f"{name}.err"
        self._changed = threading.Condition()
        self._documents: list[Document] = []
        self._ended = self._drained = False
        with self.err.open("ab") as err:
            self._popen = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=err,
                env=dict(environment),
                cwd=cwd,
                start_new_session=True,  # a Ctrl-C at the terminal is for the test, which then ends them
            )
        self._reader = threading.Thread(target=self._read, name=f"{name}-out", daemon=True)
        self._waiter = threading.Thread(target=self._wait, name=f"{name}-wait", daemon=True)
        self._reader.start()
        self._waiter.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._popen.pid

    @property
    def exit_code(self) -> int | None:
        """What it ended with, a signal as a negative number; None while it runs."""
        with self._changed:
            return self._popen.returncode if self._ended else None

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet; a stopped one runs."""
        return self.exit_code is None

    def wait_ready(self, timeout_s: float = READY_S) -> Document:
        """Return its first JSON line."""
        return self.wait_document(lambda _: True, timeout_s)

    def wait_document(self, matches: Callable[[Document], bool], timeout_s: float = READY_S) -> Document:
        """Return its first JSON line that matches.

        Raises:
            ProcessEnded: It ended and has said no such thing.
            TimeoutError: It has not said it in time.
        """

        def said() -> Document | None:
            return next(filter(matches, self._documents), None)

        with self._changed:
            self._changed.wait_for(lambda: said() is not None or self._is_silent(), timeout_s)
            document = said()
            if document is not None:
                return document
            silent = self._is_silent()
        if silent:
            raise ProcessEnded(f"{self.name} ended before it said what was waited for\n{self.logs()}")
        raise TimeoutError(f"{self.name} has not said in {timeout_s} s what was waited for\n{self.logs()}")

    def wait_exit(self, timeout_s: float = EXIT_S) -> int:
        """Return what it ends with.

        Raises:
            TimeoutError: It still runs after so long.
        """
        with self._changed:
            if self._changed.wait_for(lambda: self._ended, timeout_s):
                return cast("int", self._popen.returncode)
        raise TimeoutError(f"{self.name} still runs after {timeout_s} s\n{self.logs()}")

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; nothing happens if it has ended. The process, not its group, is meant."""
        with self._changed:
            if not self._ended:  # not reaped before this lock is ours, so the pid is still its own
                os.kill(self.pid, number)

    def kill(self) -> int:
        """`kill -9`, and return when it is dead."""
        self.send(signal.SIGKILL)
        return self.wait_exit()

    def terminate(self) -> None:
        """Ask it to end (SIGTERM)."""
        self.send(signal.SIGTERM)

    def pause(self) -> None:
        """Stop it (SIGSTOP), and return when it stands still."""
        self.send(signal.SIGSTOP)
        if sys.platform == "linux":
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def go_on(self) -> None:
        """Let a stopped one go on (SIGCONT)."""
        self.send(signal.SIGCONT)

    def children(self) -> list[psutil.Process]:
        """Return the living processes that it has started, and those that these have."""
        try:
            return psutil.Process(self.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def logs(self) -> str:
        """Return the ends of both its logs, headed by what it was and how it ended."""
        head = f"== {self.name} (pid {self.pid}, exit {self.exit_code}): {' '.join(self.argv)}"
        return "\n".join(
            [head, f"-- {self.out.name}", _tail(self.out), f"-- {self.err.name}", _tail(self.err)]
        )

    def release(self) -> None:
        """Join the threads once the process has ended and nobody holds its output any more."""
        self._waiter.join(EXIT_S)
        self._reader.join(EXIT_S)
        if (
            not self._reader.is_alive()
        ):  # Closing what somebody still reads would wait for that reading to end
            cast("IO[bytes]", self._popen.stdout).close()

    def _is_silent(self) -> bool:
        """Say whether nothing more is expected from it."""
        return self._ended and self._drained

    def _read(self) -> None:
        """Keep its output and look for JSON lines in it."""
        with self.out.open("ab", buffering=0) as kept:
            for line in cast("IO[bytes]", self._popen.stdout):
                kept.write(line)
                document = _document(line)
                if document is not None:
                    with self._changed:
                        self._documents.append(document)
                        self._changed.notify_all()

    def _wait(self) -> None:
        """Wait for its end without reaping, then reap under the lock that signals are sent under."""
        if sys.platform == "linux":
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        else:  # reaped at once, so that the pid is trusted for an instant longer than it should be
            self._popen.wait()
        with self._changed:
            self._popen.wait()
            self._ended = True
            self._changed.notify_all()
        self._reader.join(DRAIN_S)
        with self._changed:
            self._drained = True
            self._changed.notify_all()


class Processes:
    """A set of processes that end together; use as a context.

    Args:
        folder: Where the logs go.
        environment: Settings that every process of the set gets beside those inherited.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        """Start the guard; processes are started one by one."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._mark = secrets.token_hex(16)
        self._environment = {**inherited_environment(), **(environment or {}), MARK: self._mark}
        self._all: list[Managed] = []
        self._guard = subprocess.Popen(
            [sys.executable, "-I", str(Path(__file__).with_name("guard.py")), self._mark],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def start(
        self,
        name: str,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Managed:
        """Start a program; a second one under the same name gets a number (`worker.2`)."""
        starts = sum(1 for process in self._all if process.name.split(".")[0] == name)
        unique = name if not starts else f"{name}.{starts + 1}"
        process = Managed(unique, argv, self.folder, {**self._environment, **(environment or {})}, cwd)
        self._all.append(process)
        return process

    def start_module(
        self, name: str, module: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> Managed:
        """Start a module under this Python, as `python -m MODULE` does."""
        return self.start(name, [sys.executable, "-m", module, *arguments], environment=environment)

    @property
    def running(self) -> list[Managed]:
        """Those that have not ended."""
        return [process for process in self._all if process.is_running]

    def report(self) -> str:
        """Return all logs, for the message of a failure."""
        return "\n".join(process.logs() for process in self._all)

    def close(self) -> list[str]:
        """End everything and return what was found although nobody running had started it.

        That is what a process has left behind that had ended before: an executor that outlived its
        supervisor.
        """
        expected = {child.pid for process in self.running for child in process.children()}
        for process in self.running:
            process.send(signal.SIGKILL)
            process.wait_exit()
        left = kill_members(self._mark)
        for process in self._all:
            process.release()
        cast("IO[bytes]", self._guard.stdin).close()
        self._guard.wait(EXIT_S)
        return [f"{pid}: {command}" for pid, command in left.items() if pid not in expected]

    def __enter__(self) -> Self:
        """Use as a context that ends everything."""
        return self

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        """End everything; a failure is told with the logs."""
        self.close()
        if error is not None:
            error.add_note(self.report())


def _document(line: bytes) -> Document | None:
    """Return the JSON object of a line, if it is one."""
    if not line.startswith(b"{"):
        return None
    try:
        return cast("Document", json.loads(line))
    except ValueError:
        return None


def _tail(path: Path) -> str:
    """Return the end of a log."""
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - LOG_BYTES_SHOWN))
        return log.read().decode(errors="replace")
