"""Commands in over HTTP: the `CommandStream` port over server-sent events. C115, B13, B14."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from tenure.client.http import AsyncHttp, Newest
from tenure.core.command import Command
from tenure.core.errors import DeliveryFailed, TooLarge
from tenure.ports.observer import Observer
from tenure.wire.codec import decode_answer
from tenure.wire.commands import BYE_EVENT, COMMAND_EVENT
from tenure.wire.endpoints import BY_NAME
from tenure.wire.limits import SILENCE_S
from tenure.wire.sse import StreamEvent, StreamParser


class HttpCommandStream:
    """Opens a session's stream of commands; all that are unanswered come again on each connection."""

    def __init__(
        self, url: str, observer: Observer, *, newest: Newest | None = None, silence_s: float = SILENCE_S
    ) -> None:
        """Take the address; nothing is connected yet."""
        self._http = AsyncHttp(url, newest)
        self._observer = observer
        self._silence_s = silence_s

    @asynccontextmanager
    async def open(self, worker_id: str, session: str) -> AsyncGenerator[AsyncIterator[list[Command]], None]:
        """Open the session's one stream; commands that came together are given together."""
        async with self._http.stream(
            BY_NAME["commands"], token=session, silence_s=self._silence_s, worker_id=worker_id
        ) as pieces:
            yield self._groups(pieces)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _groups(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[list[Command]]:
        parser = StreamParser()
        async for piece in pieces:
            try:
                events = parser.feed(piece)
            except TooLarge as error:
                raise DeliveryFailed(f"the stream of commands cannot be read: {error}") from error
            group = [c for event in events if (c := self._command(event)) is not None]
            if group:
                yield group
            if any(event.event == BYE_EVENT for event in events):
                return
        raise DeliveryFailed("the stream of commands broke off")

    def _command(self, event: StreamEvent) -> Command | None:
        """Return the command of an event; one of a kind unknown here is told, and left unanswered."""
        if event.event != COMMAND_EVENT:
            return None
        try:
            return decode_answer(event.data, Command)
        except (msgspec.DecodeError, RecursionError) as error:
            self._observer.tell("command.unreadable", sequence=event.id, error=str(error))
            return None
