"""Starts `child` as a second process, listens to it, and kills it."""

import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.unit.stores.sqlite.notes import WAIT_S

ROOT = Path(__file__).parents[4]


class Child:
    def __init__(self, process: subprocess.Popen[str], said: IO[str], told: IO[str]) -> None:
        self.process = process
        self.said = said
        self._told = told

    def hear(self) -> str:
        return self.said.readline().strip()

    def tell(self) -> None:
        self._told.write("go on\n")
        self._told.flush()

    def kill(self) -> list[str]:
        """Kill it as the kernel would, and return what it had still said."""
        self.process.kill()
        assert self.process.wait(WAIT_S) == -signal.SIGKILL
        return self.said.read().splitlines()


@contextmanager
def child(verb: str, path: Path, number: int = 0) -> Generator[Child]:
    command = [sys.executable, "-m", "tests.unit.stores.sqlite.child", verb, str(path), str(number)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Child(process, process.stdout, process.stdin)
        finally:
            process.kill()
