"""The world outside of Tenure: a ledger of acts that outlives every process, and tells what really happened.

Each act is one line, in one write, on the disk before anybody is told. So the count of acts is known from
outside, whatever died on the way.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict, cast

LEDGER = "acts.jsonl"
LOSE = "lose-reply"


class Act(TypedDict):
    """One line of the ledger."""

    kind: str
    name: str
    pid: int


class World:
    """One folder; safe to use from many processes at once."""

    def __init__(self, folder: Path) -> None:
        """Look at a folder, which must be there."""
        self._folder = folder

    def note(self, kind: str, name: str) -> None:
        """Write a line and flush it."""
        line = json.dumps(Act(kind=kind, name=name, pid=os.getpid())).encode() + b"\n"
        fd = os.open(self._folder / LEDGER, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(fd, line)  # one call, so that lines of several processes do not mix
            os.fsync(fd)
        finally:
            os.close(fd)

    def act(self, request_id: str) -> str:
        """Act once more under this request id, and return the receipt; its reply may be lost on the way."""
        self.note("act", request_id)
        if self._loses():
            raise ConnectionResetError("the reply was lost")
        return receipt_of(request_id)

    def find(self, request_id: str) -> str | None:
        """Return the receipt of a request id, or None if it was never acted upon."""
        return receipt_of(request_id) if self.count("act", request_id) else None

    def lose_next_reply(self) -> None:
        """Have the next act happen and its reply get lost."""
        (self._folder / LOSE).touch()

    def lines(self, kind: str) -> Iterator[Act]:
        """Yield the lines of a kind, in order; a last one that was cut short was never answered."""
        try:
            content = (self._folder / LEDGER).read_bytes()
        except FileNotFoundError:
            return
        for line in content.split(b"\n")[:-1]:
            act = cast("Act", json.loads(line))
            if act["kind"] == kind:
                yield act

    def count(self, kind: str, name: str) -> int:
        """Say how often something was done."""
        return sum(1 for line in self.lines(kind) if line["name"] == name)

    def _loses(self) -> bool:
        try:
            (self._folder / LOSE).unlink()
        except FileNotFoundError:
            return False
        return True


def receipt_of(request_id: str) -> str:
    """Return what the world calls the act of a request id."""
    return f"receipt-{request_id}"
