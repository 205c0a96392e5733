"""Saves the ends of attempts in groups, and lets each go once it needs no more care."""

from functools import partial
from typing import NoReturn

from tenure.core.attempt import Attempt
from tenure.core.faultpoints import FaultPoint
from tenure.worker.books import Entry, Stage
from tenure.worker.endings import Ending, Outcome, Stamp, save_endings
from tenure.worker.groups import Inflow
from tenure.worker.sender import Sender
from tenure.worker.tools import Tools


class Settling:
    """The one way in which an attempt comes to its end here. C070, C071."""

    def __init__(self, tools: Tools, sender: Sender) -> None:
        """Wake this sender for each event that was saved."""
        self._tools = tools
        self._sender = sender
        self._inflow: Inflow[tuple[Entry, Ending]] = Inflow()

    def stamp(self) -> Stamp:
        """Draw the identity of an event."""
        return Stamp(self._tools.ids.new_id(), self._tools.parts.clock.wall())

    def settle(self, entry: Entry, outcome: Outcome | None) -> None:
        """Have an attempt's end saved; None: superseded without an event. A second end is nothing."""
        if entry.stage in (Stage.ENDING, Stage.ENDED):
            return
        entry.stage = Stage.ENDING
        ending = Ending(
            entry.id,
            entry.attempt.epoch,
            self.stamp(),
            outcome,
            entry.progress,
            entry.progress_number if entry.progress is not None else 0,
        )
        self._inflow.put([(entry, ending)])

    def told(self) -> None:
        """Note that an event was saved in another step."""
        self._sender.wake()

    def ended(self, entry: Entry, attempt: Attempt) -> None:
        """Note an end that was saved in another step, together with its event."""
        self._tools.reach(FaultPoint.FINAL_COMMITTED, entry.id)
        self._tools.books.ended(entry, attempt)
        self._tools.observer.tell("attempt.ended", attempt_id=entry.id, state=str(attempt.state))
        self._sender.wake()

    async def run(self) -> NoReturn:
        """Save group after group, for ever; on a full disk into the reserve, and as often as it takes."""
        while True:
            group = await self._inflow.take()
            endings = [ending for _, ending in group]
            attempts = await self._tools.saving.insist(partial(save_endings, endings=endings))
            for entry, _ in group:
                self.ended(entry, attempts[entry.id])
