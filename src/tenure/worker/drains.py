"""A person's drained mark: saved, numbered, and in force until it is undone. C111, C112."""

from functools import partial

from tenure.ports.local import InstanceRow, LocalTransaction
from tenure.worker.admission import marked
from tenure.worker.groups import Inflow
from tenure.worker.stops import Stops
from tenure.worker.tools import Tools


class Drains:
    """Keeps the mark in step with the control plane's; the higher number wins."""

    def __init__(self, tools: Tools, stops: Stops) -> None:
        """Hand back by these stops what has not started."""
        self._tools = tools
        self._stops = stops
        self._heard: Inflow[tuple[bool, int]] = Inflow()

    def hear(self, *, drained: bool, number: int) -> None:
        """Take note of a mark that came with an answer; it is saved before it is acted on."""
        if number > self._tools.books.drained_number:
            self._heard.put([(drained, number)])

    def marked(self, identity: InstanceRow) -> None:
        """Act on a mark that is saved."""
        books = self._tools.books
        if identity.drained_number <= books.drained_number:
            return
        books.is_drained, books.drained_number = identity.drained, identity.drained_number
        self._tools.observer.tell("worker.drained" if identity.drained else "worker.undrained")
        if identity.drained:
            self.hand_back()

    def hand_back(self) -> None:
        """Hand back what has not started; what has goes on to its end."""
        self._stops.hand_back("the worker is drained", started_too=False)

    async def run(self) -> None:
        """Save the marks that were heard of, for ever."""
        while True:
            drained, number = (await self._heard.take())[-1]
            operation = partial(save_mark, drained=drained, number=number)
            identity = await self._tools.saving.insist(operation)
            if identity is not None:
                self.marked(identity)


def save_mark(tx: LocalTransaction, *, drained: bool, number: int) -> InstanceRow | None:
    """Save a mark unless a newer one is known; return the identity as it is now."""
    before = tx.identity.read()
    if before is None:
        return None
    after = marked(before, drained=drained, number=number)
    if after != before:
        tx.identity.write(after)
    return after
