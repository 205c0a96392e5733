"""Open command streams: one per session, fed by dispatch, told to end by a newer one or by shutdown.

Contracts: C115, D21.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

from msgspec import Struct

from tenure.core.command import Command
from tenure.service.waiting import Wakeup

LOOK_AGAIN_S = 10.0
OFFER_MAX = 512
OFFERED_MAX = (
    4_096  # Bound: ids kept as offered; beyond it a look finds which of them were answered meanwhile
)


class Opened(Struct, frozen=True):
    """A stream that was opened in the store: its session and epoch."""

    worker_id: str
    session: int
    stream_epoch: int


class Stream:
    """One worker's open stream: commands go out in groups.

    Every wake-up is a hint, and it looks by itself too.
    """

    def __init__(self, opened: Opened, offer: Callable[[Opened], Awaitable[list[Command] | None]]) -> None:
        """Take what was opened, and the call that returns all queued commands (None: the session ended)."""
        self.opened = opened
        self.wakeup = Wakeup()
        self._offer = offer
        self._pushed: list[Command] = []
        self._offered: set[str] = set()
        self._look = True
        self._ended = False

    def push(self, commands: Iterable[Command]) -> None:
        """Hand over commands that dispatch has just queued, without another look at the store."""
        self._pushed.extend(commands)
        self.wakeup.set()

    def look(self) -> None:
        """Look at the store for other commands; safe from any thread."""
        self._look = True
        self.wakeup.set()

    def end(self) -> None:
        """End the stream: a newer one opened, the session ended, or the server stops."""
        self._ended = True
        self.wakeup.set()

    async def groups(self) -> AsyncIterator[list[Command]]:
        """Yield groups of commands until the stream ends; an empty group is a sign of life."""
        while not self._ended:
            group = await self._next()
            if group is None:
                return
            yield group
            if not self._pushed and not self._look:
                heard = await self.wakeup.wait(LOOK_AGAIN_S)
                if not heard:
                    # Why look without a hint: a notice is only a hint, and may have been lost.
                    self._look = True

    async def _next(self) -> list[Command] | None:
        group: list[Command] = []
        if self._look or len(self._offered) > OFFERED_MAX:
            self._look = False
            queued = await self._offer(self.opened)
            if queued is None:
                return None
            self._offered &= {c.command_id for c in queued}
            group = [c for c in queued if c.command_id not in self._offered]
        pushed, self._pushed = self._pushed, []
        self._offered.update(c.command_id for c in group)
        group.extend(c for c in pushed if c.command_id not in self._offered)
        self._offered.update(c.command_id for c in group)
        return group


class Streams:
    """The open streams of this process, by worker."""

    def __init__(self) -> None:
        """Begin with none."""
        self._open: dict[str, Stream] = {}

    def add(self, stream: Stream) -> None:
        """Open a stream; the worker's former one ends."""
        former = self._open.get(stream.opened.worker_id)
        if former is not None:
            former.end()
        self._open[stream.opened.worker_id] = stream

    def remove(self, stream: Stream) -> bool:
        """Forget a stream that ended; false if a newer one took its place."""
        if self._open.get(stream.opened.worker_id) is not stream:
            return False
        del self._open[stream.opened.worker_id]
        return True

    def connected(self) -> list[str]:
        """Return the workers with an open stream here."""
        return list(self._open)

    def push(self, commands: dict[str, list[Command]]) -> None:
        """Hand freshly queued commands to their workers' streams; without one they wait in the store."""
        for worker_id, group in commands.items():
            stream = self._open.get(worker_id)
            if stream is not None:
                stream.push(group)

    def end_all(self) -> None:
        """End every stream: the server stops."""
        for stream in tuple(self._open.values()):
            stream.end()
