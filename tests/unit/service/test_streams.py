"""Open command streams: what goes out, once, and what is remembered of it."""

import pytest

from tenure.core.command import Command, CommandKind
from tenure.service.streams import OFFERED_MAX, Opened, Stream

pytestmark = pytest.mark.anyio

OPENED = Opened("w1", 1, 1)


def command(number: int) -> Command:
    return Command(f"c{number}", "i1", CommandKind.START, "d", sequence=number)


class Queue:
    """What the store holds as queued; an answered command is taken out."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.looks = 0

    async def offer(self, _opened: Opened) -> list[Command]:
        self.looks += 1
        return list(self.commands)


async def test_what_was_pushed_goes_out_once() -> None:
    """C115: a look that finds a pushed command again does not send it twice."""
    queue = Queue()
    stream = Stream(OPENED, queue.offer)
    groups = stream.groups()
    assert await anext(groups) == []
    queue.commands = [command(1), command(2)]
    stream.push([command(1)])
    assert await anext(groups) == [command(1)]
    stream.look()
    assert await anext(groups) == [command(2)]
    stream.push([command(2)])
    assert await anext(groups) == []


async def test_a_busy_stream_forgets_what_was_answered() -> None:
    """A stream that never rests stays small: 60,000 commands had cost it 15 MiB and ever more time."""
    queue = Queue()
    stream = Stream(OPENED, queue.offer)
    groups = stream.groups()
    assert await anext(groups) == []
    sent = 0
    for start in range(0, 4 * OFFERED_MAX, 64):
        stream.push([command(number) for number in range(start, start + 64)])
        sent += len(await anext(groups))
    assert sent == 4 * OFFERED_MAX
    assert 3 <= queue.looks <= 6
    assert len(stream._offered) <= OFFERED_MAX + 64
