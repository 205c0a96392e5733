"""The stream of commands over a real server, a real socket, and a network that spoils it; B13, B14, C115."""

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import anyio
import pytest

from tenure.client.command_stream import HttpCommandStream
from tenure.client.control_plane import HttpControlPlane
from tenure.core.command import Ack, Command
from tenure.core.errors import DeliveryFailed, Forbidden, NotRegistered, Unauthenticated
from tenure.core.task import TaskSpec
from tenure.testing.proxy import Proxy
from tests.wire.served import Served, Silent, Worker

TEXT = "渲染场景 🎬🧪\r\n\r\ndata: x – \u2028"
BOUND_S = 20.0


@asynccontextmanager
async def opened(
    url: str, worker_id: str, session: str, silence_s: float = BOUND_S
) -> AsyncGenerator[AsyncIterator[list[Command]]]:
    """Open a stream and leave no connection behind."""
    stream = HttpCommandStream(url, Silent(), silence_s=silence_s)
    try:
        async with stream.open(worker_id, session) as groups:
            yield groups
    finally:
        await stream.aclose()


async def take(groups: AsyncIterator[list[Command]], count: int) -> list[Command]:
    """Return the first so many commands, with a bound."""
    found: list[Command] = []
    with anyio.fail_after(BOUND_S):
        while len(found) < count:
            found.extend(await anext(groups))
    return found


async def until_cut(url: str, worker: Worker) -> list[Command]:
    """Return what one connection brings before it breaks."""
    found: list[Command] = []
    try:
        async with opened(url, worker.worker_id, worker.session) as groups:
            async for group in groups:
                found.extend(group)
    except DeliveryFailed:
        return found
    raise AssertionError("the stream was not cut")


async def test_commands_arrive_byte_identical_through_a_network_of_single_bytes(fresh: Served) -> None:
    """B14: a proxy writes one byte at a time and ends lines in CRLF."""
    fresh.submit(*[TaskSpec("add", id=f"t-{n}", input={"text": TEXT, "n": n}) for n in range(20)])
    worker = fresh.register(room=20)
    with Proxy(fresh.url) as proxy:
        proxy.dribble()
        proxy.rewrite_lines(b"\r\n")
        async with opened(proxy.url, worker.worker_id, worker.session) as groups:
            commands = await take(groups, 20)
    assert sorted(c.task.id or "" for c in commands if c.task) == sorted(f"t-{n}" for n in range(20))
    inputs = [cast("dict[str, object]", command.task.input) for command in commands if command.task]
    assert all(given["text"] == TEXT for given in inputs)
    assert all(c.computed_digest() == c.digest for c in commands)


async def test_what_is_not_acknowledged_comes_again_on_each_connection(fresh: Served) -> None:
    """B13, C115: the proxy cuts the stream after every event, and nothing is lost."""
    fresh.submit(*[TaskSpec("add", id=f"t-{n}") for n in range(10)])
    worker = fresh.register(room=10)
    plane = HttpControlPlane(fresh.url, fresh.token("worker"))
    seen: dict[str, int] = {}
    with Proxy(fresh.url) as proxy:
        proxy.cut_streams(after_events=1)
        with anyio.fail_after(BOUND_S):
            while len(seen) < 10:
                for command in await until_cut(proxy.url, worker):
                    seen[command.command_id] = seen.get(command.command_id, 0) + 1
                if len(seen) < 10:
                    answers = await plane.acknowledge(
                        worker.worker_id, worker.session, 10, [Ack(id_) for id_ in seen]
                    )
                    assert all(answer.standing == "go" for answer in answers)
    await plane.aclose()
    assert sum(seen.values()) == 10, "an acknowledged command was offered again"


async def test_a_newer_stream_of_the_session_ends_the_older_one(fresh: Served) -> None:
    """C117: one stream per session; the former is told goodbye."""
    worker = fresh.register()
    async with (
        opened(fresh.url, worker.worker_id, worker.session) as older,
        opened(fresh.url, worker.worker_id, worker.session),
    ):
        with anyio.fail_after(BOUND_S), pytest.raises(StopAsyncIteration):
            await anext(older)


async def test_a_stream_ends_with_its_session(fresh: Served) -> None:
    """C117: a displaced session's stream ends, and opening one again says why."""
    worker = fresh.register()
    async with opened(fresh.url, worker.worker_id, worker.session) as groups:
        fresh.register()
        with anyio.fail_after(BOUND_S), pytest.raises(StopAsyncIteration):
            await anext(groups)
    with pytest.raises(NotRegistered) as refusal:
        async with opened(fresh.url, worker.worker_id, worker.session):
            pass
    assert refusal.value.reason == "displaced"


@pytest.mark.parametrize("token", ["nonsense", "tnr_s_nonsense"])
async def test_a_stream_needs_a_session(served: Served, token: str) -> None:
    worker = served.register("w-alone")
    with pytest.raises(Unauthenticated):
        async with opened(served.url, worker.worker_id, token):
            pass
    for path, bearer in (("w-other", worker.session), (worker.worker_id, served.token("admin"))):
        with pytest.raises(Forbidden):
            async with opened(served.url, path, bearer):
                pass


async def test_the_server_leaves_quickly_and_says_goodbye(fresh: Served) -> None:
    """Open streams do not keep a server that is told to leave."""
    worker = fresh.register()
    async with opened(fresh.url, worker.worker_id, worker.session) as groups:
        began = time.monotonic()
        fresh.server.stop()
        with anyio.fail_after(BOUND_S), pytest.raises(StopAsyncIteration):
            await anext(groups)
    assert time.monotonic() - began < 1


async def test_a_silent_stream_is_taken_for_dead(fresh: Served) -> None:
    """B13: a network that swallows everything is noticed."""
    worker = fresh.register()
    with Proxy(fresh.url) as proxy:
        async with opened(proxy.url, worker.worker_id, worker.session, silence_s=0.5) as groups:
            proxy.black_hole()
            with anyio.fail_after(BOUND_S), pytest.raises(DeliveryFailed, match="did not answer in time"):
                await anext(groups)


async def test_a_stream_that_breaks_off_is_a_failed_delivery(fresh: Served) -> None:
    worker = fresh.register()
    with Proxy(fresh.url) as proxy:
        async with opened(proxy.url, worker.worker_id, worker.session) as groups:
            proxy.cut()
            with anyio.fail_after(BOUND_S), pytest.raises(DeliveryFailed):
                await anext(groups)
        proxy.refuse()
        with pytest.raises(DeliveryFailed, match="cannot be reached"):
            async with opened(proxy.url, worker.worker_id, worker.session):
                pass
