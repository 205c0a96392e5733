"""The application service with its loops and streams, over a real store and real time."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tenure.core.capability import Capability, Recovery
from tenure.core.command import Ack, Command
from tenure.core.errors import NotRegistered, Unauthenticated
from tenure.core.event import Event, EventKind
from tenure.core.registration import RegisterRequest
from tenure.core.task import TaskSpec
from tenure.ports.observer import Observer
from tenure.service.access import NewCredential
from tenure.service.plane import ControlPlaneService
from tenure.service.principal import LOCAL
from tenure.stores.sqlite.control.store import open_control_store
from tenure.system.clock import SystemClock
from tenure.system.faults import NoFaults
from tenure.system.ids import SystemIds

BOUND_S = 10.0
ASKED = RegisterRequest(
    worker_id="w1",
    instance_id="i1",
    ttl_s=30.0,
    capabilities=[Capability("work", "1", Recovery.RECOMPUTE)],
    slots=4,
    room=4,
)


class Silent:
    """Takes events and keeps them."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def tell(self, name: str, **fields: object) -> None:
        self.told.append(f"{name} {fields}")


@asynccontextmanager
async def a_service(folder: Path, observer: Observer | None = None) -> AsyncGenerator[ControlPlaneService]:
    """Run a service over a store in the folder."""
    clock, ids = SystemClock(), SystemIds()
    store = open_control_store(folder / "tenure.db", clock, ids)
    service = ControlPlaneService(store, ids, clock, observer or Silent(), NoFaults())
    try:
        async with service.running():
            yield service
    finally:
        store.close()


def finished(command: Command, clock: SystemClock) -> Event:
    """Return the report that ends the command's attempt."""
    assert command.task is not None
    return Event(
        event_id=f"e-{command.command_id}",
        sequence=1,
        task_id=command.task.id or "",
        attempt_id=command.attempt_id or "",
        generation=command.generation or 0,
        token=command.token or "",
        attempt_epoch=1,
        kind=EventKind.SUCCEEDED,
        at=clock.wall(),
        body={"result": 7},
    )


async def test_a_task_from_submission_to_its_result(tmp_path: Path) -> None:
    """C115, D21: the stream carries what dispatch granted; a follower sees each change."""
    async with a_service(tmp_path) as service:
        session = await service.register(LOCAL, ASKED)
        who = await service.authenticate(session.token)
        states: list[str] = []
        task_id = (await service.submit(LOCAL, [TaskSpec("work")]))[0].id

        async def follow() -> None:
            async for shown in service.follow(LOCAL, task_id):
                states.append(shown.state)  # noqa: PERF401 - read while it grows

        with anyio.fail_after(BOUND_S):
            async with service.open_stream("w1", session.token) as groups, anyio.create_task_group() as tasks:
                tasks.start_soon(follow)
                command = (await first(groups))[0]
                acks = await service.acknowledge("w1", session.token, 3, [Ack(command.command_id)])
                assert acks[0].standing == "go"
                await service.report(who, 4, [finished(command, SystemClock())])
        assert states[-1] == "done"
        assert (await service.task(LOCAL, task_id)).result == 7
        epoch, position = service.position()
        assert epoch >= 1
        assert position >= 4


async def first(groups: AsyncIterator[list[Command]]) -> list[Command]:
    """Return the first group that holds a command."""
    async for group in groups:
        if group:
            return group
    raise AssertionError("the stream ended")


async def test_a_newer_stream_ends_the_former_and_offers_everything_again(tmp_path: Path) -> None:
    """B13, C115: after any reconnect every unacknowledged command comes again."""
    async with a_service(tmp_path) as service:
        session = await service.register(LOCAL, ASKED)
        await service.submit(LOCAL, [TaskSpec("work")])
        with anyio.fail_after(BOUND_S):
            async with service.open_stream("w1", session.token) as former:
                one = (await first(former))[0]
                async with service.open_stream("w1", session.token) as newer:
                    again = (await first(newer))[0]
                    assert again.command_id == one.command_id
                    assert again.token == one.token
                    assert [g async for g in former] == []


async def test_a_cancel_reaches_the_worker_over_its_stream(tmp_path: Path) -> None:
    """C073: a saved command like any other."""
    async with a_service(tmp_path) as service:
        session = await service.register(LOCAL, ASKED)
        task_id = (await service.submit(LOCAL, [TaskSpec("work")]))[0].id
        with anyio.fail_after(BOUND_S):
            async with service.open_stream("w1", session.token) as groups:
                start = (await first(groups))[0]
                await service.acknowledge("w1", session.token, 3, [Ack(start.command_id)])
                await service.cancel(LOCAL, task_id)
                cancel = (await first(groups))[0]
                assert (cancel.kind, cancel.attempt_id) == ("cancel", start.attempt_id)


async def test_streams_end_when_the_service_stops(tmp_path: Path) -> None:
    """protocol.md: so does a stream whose server stops."""
    async with a_service(tmp_path) as service:
        session = await service.register(LOCAL, ASKED)
        with anyio.fail_after(BOUND_S):
            async with service.open_stream("w1", session.token) as groups:
                service.shutdown()
                assert [g async for g in groups if g] == []
        with pytest.raises(NotRegistered):
            async with service.open_stream("w1", session.token):
                pass


async def test_only_known_tokens_are_let_in(tmp_path: Path) -> None:
    """C118: by digest; revoked and unknown ones alike."""
    async with a_service(tmp_path) as service:
        await service.ensure_admin("tnr_k_admin-of-the-test")
        admin = await service.authenticate("tnr_k_admin-of-the-test")
        assert admin.role == "admin"
        shown = await service.create_token(admin, NewCredential("submit", "ci", ["a"]))
        assert (await service.authenticate(shown.token)).queues == ("a",)
        await service.revoke_token(admin, shown.credential.id)
        for token in (shown.token, "tnr_k_other", "tnr_s_other", ""):
            with pytest.raises(Unauthenticated):
                await service.authenticate(token)
        assert shown.token not in repr(await service.list_tokens(admin))
