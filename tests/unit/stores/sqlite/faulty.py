"""A file layer for SQLite that counts writes and syncs and fails the n-th of them, once or from then on."""

# pyright: reportUnknownMemberType=false
# Reason: apsw's types name a `Buffer` that Python has from 3.12 on.

from collections import Counter
from collections.abc import Callable
from itertools import count

import apsw

_NUMBERS = count()


class FaultyFiles(apsw.VFS):
    """Passes everything through until `fail_at` is reached; `acts` counts what was asked, by kind."""

    def __init__(self, *, sticky: bool = False, error: Callable[[str], Exception] = apsw.IOError) -> None:
        self.name = f"faulty-{next(_NUMBERS)}"
        self.acts: Counter[str] = Counter()
        self.fail_at: int | None = None
        self.has_failed = False
        self.reads_fail = False
        self._sticky = sticky
        self._error = error
        super().__init__(self.name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "FaultyFile":
        return FaultyFile(self, name, flags)

    def arm(self, acts_from_now: int) -> None:
        self.fail_at = self.acts.total() + acts_from_now

    def reach(self, act: str) -> None:
        position = self.acts.total()
        self.acts[act] += 1
        if self.fail_at is None or position < self.fail_at:
            return
        if position == self.fail_at or self._sticky:
            self.has_failed = True
            raise self._error(f"{act} number {position}")


class FaultyFile(apsw.VFSFile):
    def __init__(self, files: FaultyFiles, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._files = files
        super().__init__("", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        if self._files.reads_fail:
            raise apsw.IOError("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._files.reach("write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._files.reach("sync")
        super().xSync(flags)
