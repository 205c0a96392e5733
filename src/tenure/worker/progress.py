"""Progress: the newest wins, is written at most every half second, travels with heartbeats. C075, C076."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NoReturn

import msgspec

from tenure.core.checkpoint import Progress, advance, check_progress
from tenure.core.errors import DiskFull, Invalid
from tenure.ports.local import LocalTransaction
from tenure.worker.books import Entry, Stage
from tenure.worker.groups import Inflow
from tenure.worker.ledger import Writing
from tenure.worker.tools import Tools

EVERY_S: Final = 0.5


class Progressing:
    """Takes progress and writes it, many attempts at once."""

    def __init__(self, tools: Tools, progressed: Callable[[], None]) -> None:
        """Nothing is written before `run` runs; `progressed` is told when there is news for the others."""
        self._tools = tools
        self._progressed = progressed
        self._changed: dict[str, Entry] = {}
        self._due: Inflow[None] = Inflow()
        self._is_armed = False

    def take(self, entry: Entry, progress: Progress) -> None:
        """Take the newest progress of an execution; never waits. One that cannot be is dropped and told."""
        try:
            check_progress(progress)
        except Invalid as error:
            self._tools.observer.tell("progress.refused", attempt_id=entry.id, error=error.text)
            return
        entry.progress = advance(entry.progress, progress)
        entry.progress_count += 1
        self._changed[entry.id] = entry
        if not self._is_armed:
            self._is_armed = True
            self._progressed()
            self._tools.alarms.after(EVERY_S, partial(self._due.put, (None,)))

    async def run(self) -> NoReturn:
        """Write what has changed each time that it is due, for ever."""
        while True:
            await self._due.take()
            self._is_armed = False
            await self.flush()

    async def flush(self) -> None:
        """Write what has changed; on a full disk it waits for the next time."""
        changed, self._changed = self._changed, {}
        running = [entry for entry in changed.values() if entry.stage is Stage.RUNNING]
        if not running:
            return
        try:
            await self._tools.saving.write(partial(save_progress, written=[writing(e) for e in running]))
        except DiskFull:
            return  # It is told, and nothing continues from progress
        for entry in running:
            entry.progress_saved = max(entry.progress_saved, entry.progress_count)


def writing(entry: Entry) -> Writing:
    """Return who writes for an execution now, with its progress where that is newer than what is saved."""
    is_newer = entry.progress is not None and entry.progress_count > entry.progress_saved
    return Writing(
        entry.id,
        entry.attempt.epoch,
        entry.progress if is_newer else None,
        entry.progress_number if is_newer else 0,
    )


def save_progress(tx: LocalTransaction, written: Sequence[Writing]) -> None:
    """Save the newest progress of executions that are still the newest of their attempts."""
    attempts = tx.attempts.load([who.attempt_id for who in written])
    tx.attempts.save(
        [
            msgspec.structs.replace(attempt, progress=who.progress, progress_number=who.progress_number)
            for who in written
            if who.progress is not None
            and (attempt := attempts.get(who.attempt_id)) is not None
            and attempt.epoch == who.epoch
        ]
    )
