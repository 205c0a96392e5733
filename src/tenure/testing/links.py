"""One connection through the proxy: two pumps that look at each message as it passes."""

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field

from tenure.testing.eventstream import EventStream
from tenure.testing.http1 import Body, Head, Part, replies, requests
from tenure.testing.traffic import Exchange, Harm, Log, Rule, Side

READ_BYTES = 65536


class CutShort(Exception):
    """The connection is to be cut here."""


@dataclass
class Mood:
    """How the proxy treats everything at the moment; changed on the loop's thread only."""

    target: tuple[str, int]
    log: Log
    thawed: dict[Side, asyncio.Event] = field(
        default_factory=lambda: {side: asyncio.Event() for side in Side}
    )
    dribbled: set[Side] = field(default_factory=set[Side])
    ending: bytes | None = None
    events_max: int | None = None
    rules: list[Rule] = field(default_factory=list[Rule])

    def rule_for(self, exchange: Exchange) -> Rule | None:
        """Return the first rule that takes the exchange."""
        return next((rule for rule in self.rules if rule.takes(exchange)), None)


class Link:
    """A client's connection and the one to the server that belongs to it."""

    def __init__(
        self, number: int, mood: Mood, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Take an accepted connection; nothing is read yet."""
        self._number, self._mood = number, mood
        self._client, self._to_client = reader, writer
        self._to_server: asyncio.StreamWriter | None = None
        self._open: deque[tuple[Exchange, Rule | None]] = deque()
        self._stream: EventStream | None = None
        self._rechunk = False

    async def run(self) -> None:
        """Pass traffic until one side ends or the link is cut."""
        try:
            if not self._mood.thawed[Side.UP].is_set():
                # A connection that began in a black hole never reaches the server: its packets are lost.
                await self._mood.thawed[Side.UP].wait()
                return
            server, self._to_server = await asyncio.open_connection(*self._mood.target)
            await self._pump_both(server)
        except (OSError, CutShort):
            return  # refused by the server, reset by either side, or meant
        finally:
            self.cut()

    def cut(self) -> None:
        """End both connections at once; what was not passed on yet never will be."""
        for writer in (self._to_client, self._to_server):
            if writer is not None:
                writer.transport.abort()

    async def _pump_both(self, server: asyncio.StreamReader) -> None:
        """Run both pumps until the first one ends."""
        pumps = [asyncio.create_task(self._pump_up()), asyncio.create_task(self._pump_down(server))]
        try:
            done, _ = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in done:
                pump.result()
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _pump_up(self) -> None:
        framing = requests()
        assert self._to_server is not None  # noqa: S101 - opened before the pumps start
        while data := await self._client.read(READ_BYTES):
            for part in framing.feed(data):
                if isinstance(part, Head):
                    self._request(part)
                await self._write(Side.UP, self._to_server, part.raw)
        await self._close(self._to_server)

    async def _pump_down(self, server: asyncio.StreamReader) -> None:
        framing = replies(lambda: self._open[0][0].method if self._open else "")
        while data := await server.read(READ_BYTES):
            for part in framing.feed(data):
                if isinstance(part, Head):
                    await self._reply(part)
                await self._write(Side.DOWN, self._to_client, self._edited(part))
                if self._stream is not None and self._stream.events == self._mood.events_max:
                    await self._close(self._to_client)
                    raise CutShort
        await self._close(self._to_client)

    def _request(self, head: Head) -> None:
        """Note a request and what is to happen to it."""
        exchange = Exchange(self._number, head.method, head.target)
        rule = self._mood.rule_for(exchange)
        self._mood.log.add(exchange)
        if rule is not None and rule.harm is Harm.LOSE_REQUEST:
            rule.done(exchange)
            raise CutShort
        self._open.append((exchange, rule))

    async def _reply(self, head: Head) -> None:
        """Match a reply with its request and do to it what was to happen."""
        if head.status < 200 or not self._open:
            return  # an interim answer
        exchange, rule = self._open.popleft()
        self._mood.log.replied(exchange, head.status)
        self._stream = (
            EventStream() if head.headers.get("content-type", "").startswith("text/event-stream") else None
        )
        self._rechunk = head.chunked
        if rule is not None and rule.harm is Harm.LOSE_REPLY:
            rule.done(exchange)
            raise CutShort
        if rule is not None:
            await asyncio.sleep(rule.delay_s)
            rule.done(exchange)

    def _edited(self, part: Part) -> bytes:
        """Return the bytes that go on; event streams are framed anew, as editing changes their length."""
        if self._stream is None or not isinstance(part, Body):
            return part.raw
        payload = self._stream.take(part.payload, ending=self._mood.ending, events_max=self._mood.events_max)
        if not payload or not self._rechunk:
            return payload
        return b"%x\r\n%b\r\n" % (len(payload), payload)

    async def _write(self, side: Side, writer: asyncio.StreamWriter, raw: bytes) -> None:
        """Send on, once the way is open, in one piece or byte by byte."""
        if not raw:
            return
        pieces = [raw[i : i + 1] for i in range(len(raw))] if side in self._mood.dribbled else [raw]
        for piece in pieces:
            await self._mood.thawed[side].wait()
            writer.write(piece)
            await writer.drain()
            if len(pieces) > 1:
                await asyncio.sleep(0)  # the loop sends each byte in a write of its own

    async def _close(self, writer: asyncio.StreamWriter) -> None:
        """End a connection after what was written."""
        with suppress(OSError):
            writer.close()
            await writer.wait_closed()
