"""The worker's port over HTTP against the real service: every call, its refusals, bad parts of batches."""

from collections.abc import AsyncGenerator

import msgspec
import pytest

from tenure.client.command_stream import HttpCommandStream
from tenure.client.control_plane import HttpControlPlane
from tenure.client.exchange import Position
from tenure.core.capability import Capability, Recovery
from tenure.core.claim import LeaseBeat
from tenure.core.command import Ack, Command
from tenure.core.effect import WitnessRequest, WitnessStanding
from tenure.core.errors import (
    Forbidden,
    Forked,
    Invalid,
    NotRegistered,
    TooLarge,
    Unauthenticated,
)
from tenure.core.event import Answer, Event, EventAnswer, EventKind
from tenure.core.instants import EPOCH
from tenure.core.registration import RegisterRequest
from tenure.core.task import TaskSpec
from tenure.wire.events import EventsAnswer
from tests.wire.served import Served, Silent, Worker

BIG = 12345678901234567890123456789


@pytest.fixture
async def plane(served: Served) -> AsyncGenerator[HttpControlPlane]:
    plane = HttpControlPlane(served.url, served.token("worker"))
    yield plane
    await plane.aclose()


def asking(worker_id: str, **more: object) -> RegisterRequest:
    request = RegisterRequest(
        worker_id=worker_id,
        instance_id=f"instance-of-{worker_id}",
        ttl_s=30,
        capabilities=[Capability("add", "1", Recovery.RECOMPUTE)],
        room=1,
    )
    return msgspec.structs.replace(request, **more)


async def started(
    served: Served, plane: HttpControlPlane, worker_id: str, **spec: object
) -> tuple[Worker, Command]:
    """Register a worker, give it a task, and acknowledge the start."""
    registration = await plane.register(asking(worker_id, queues=[worker_id]))
    worker = Worker(worker_id, registration.token, registration)
    served.submit(msgspec.structs.replace(TaskSpec("add", queue=worker_id), **spec))
    stream = HttpCommandStream(served.url, Silent())
    try:
        async with stream.open(worker_id, registration.token) as groups:
            command = (await anext(groups))[0]
    finally:
        await stream.aclose()
    [answer] = await plane.acknowledge(worker_id, worker.session, 0, [Ack(command.command_id)])
    assert answer.standing == "go"
    assert answer.ttl_s > 0
    return worker, command


def event(command: Command, kind: EventKind, body: dict[str, object], number: int = 1) -> Event:
    assert command.task is not None
    return Event(
        event_id=f"{command.attempt_id}-{kind}-{number}",
        sequence=number,
        task_id=command.task.id or "",
        attempt_id=command.attempt_id or "",
        generation=command.generation or 0,
        token=command.token or "",
        attempt_epoch=1,
        kind=kind,
        at=EPOCH,
        body=body,
    )


async def test_a_task_goes_from_start_to_done(served: Served, plane: HttpControlPlane) -> None:
    """C081: each answer means durable; integers beyond 64 bits stay what they are."""
    worker, command = await started(served, plane, "w-whole", input={"n": BIG, "text": "🧪"})
    task = command.task
    assert task is not None
    assert task.id is not None
    assert task.input == {"n": BIG, "text": "🧪"}
    lease = LeaseBeat(task.id, command.token or "", 30, {"percent": 40, "stage": "scale"}, 1)
    beat = await plane.heartbeat(worker.worker_id, worker.session, 30, 0, {}, [lease])
    assert [answer.state for answer in beat.leases] == ["held"]
    ask = WitnessRequest(task.id, command.token or "", 1, "charge", f"{task.id}.1.charge", "0" * 64)
    [witness] = await plane.witness(worker.session, [ask])
    assert witness.standing is WitnessStanding.GO
    outcome: dict[str, object] = {"name": "charge", "request_id": ask.request_id, "state": "applied"}
    events = [
        event(command, EventKind.EFFECT, outcome, 1),
        event(command, EventKind.SUCCEEDED, {"result": {"n": BIG}}, 2),
    ]
    answers = await plane.report(worker.session, 1, events)
    assert [answer.answer for answer in answers] == [Answer.ACCEPTED, Answer.ACCEPTED]
    again = await plane.report(worker.session, 1, events)
    assert [answer.answer for answer in again] == [Answer.DUPLICATE, Answer.DUPLICATE]
    shown = served.ask("GET", f"/v1/tasks/{task.id}")
    assert msgspec.json.decode(shown.content)["result"] == {"n": BIG}
    assert (command.token or "") not in shown.text
    assert await plane.deregister(worker.worker_id, worker.session) == []
    assert plane.position > Position()


async def test_a_bad_progress_is_said_and_the_lease_renewed(served: Served, plane: HttpControlPlane) -> None:
    worker, command = await started(served, plane, "w-progress")
    assert command.task is not None
    lease = LeaseBeat(command.task.id or "", command.token or "", 30, {"percent": 400}, 1)
    beat = await plane.heartbeat(worker.worker_id, worker.session, 30, 0, {}, [lease])
    assert beat.leases[0].state == "held"
    assert "percent" in (beat.leases[0].progress_refused or "")


async def test_one_bad_event_never_spoils_its_batch(served: Served, plane: HttpControlPlane) -> None:
    """Each event that cannot be read is answered in its place; only one without an id spoils the call."""
    worker, command = await started(served, plane, "w-batch")
    good = msgspec.to_builtins(event(command, EventKind.STEP, {"name": "a", "result": 1}, 1))
    other = msgspec.to_builtins(event(command, EventKind.SUCCEEDED, {"result": 2}, 2))
    bad = [
        {**good, "event_id": "bad-kind", "kind": "nonsense"},
        {**good, "event_id": "bad-number", "sequence": -1},
        {**good, "event_id": "bad-huge", "sequence": 2**60},
        {**good, "event_id": "bad-instant", "at": "2026-01-01T00:00:00"},
        {**good, "event_id": "bad-text", "body": {"name": "\x00"}},
        {"event_id": "bad-rest"},
    ]
    batch = [bad[0], good, *bad[1:], other]
    body = {"room": 0, "events": batch}
    answer = served.post("/v1/events", body, worker.session, **{"tenure-protocol": "1.0"})
    assert answer.status_code == 200, answer.text
    answers = msgspec.json.decode(answer.content, type=EventsAnswer).answers
    assert [a.event_id for a in answers] == [str(e["event_id"]) for e in batch]
    accepted = {str(good["event_id"]), str(other["event_id"])}
    assert {a.event_id for a in answers if a.answer is Answer.ACCEPTED} == accepted
    assert all(a.detail for a in answers if a.answer is Answer.INVALID)
    nameless = served.post("/v1/events", {"room": 0, "events": [good, {"kind": "step"}]}, worker.session)
    assert nameless.status_code == 422
    assert nameless.json()["errors"][0]["path"] == "events[1].event_id"


async def test_a_newer_worker_is_read_leniently_and_a_nameless_one_strictly(served: Served) -> None:
    """The header says that fields unknown here are the protocol's next ones."""
    worker = served.register("w-newer")
    body = {"room": 0, "acks": [{"command_id": "c", "mood": "good"}], "weather": "fine"}
    path = "/v1/workers/w-newer/acks"
    lenient = served.post(path, body, worker.session, **{"tenure-protocol": "1.7"})
    assert lenient.status_code == 200, lenient.text
    assert lenient.headers["tenure-protocol"] == "1.0"
    strict = served.post(path, body, worker.session)
    assert strict.status_code == 422
    other = served.post(path, body, worker.session, **{"tenure-protocol": "2.0"})
    assert other.json()["errors"][0]["path"] == "Tenure-Protocol"
    registration = {**msgspec.to_builtins(asking("w-newer")), "colour": "red"}
    registration["capabilities"] = [{"name": "add", "version": "1", "recovery": "query", "cost": 3}]
    token = served.token("worker")
    assert served.post("/v1/workers", registration, token, **{"tenure-protocol": "1.1"}).status_code == 201


async def test_refusals_arrive_as_the_errors_that_they_are(served: Served, plane: HttpControlPlane) -> None:
    worker = served.register("w-refused")
    newer = served.register("w-refused")
    with pytest.raises(NotRegistered) as displaced:
        await plane.heartbeat(worker.worker_id, worker.session, 30, 0, {}, [])
    assert displaced.value.reason == "displaced"
    assert displaced.value.displaced_by == "instance-of-w-refused"
    with pytest.raises(Invalid) as invalid:
        await plane.heartbeat(newer.worker_id, newer.session, 0, 0, {}, [])
    assert invalid.value.path == "ttl_s"
    with pytest.raises(Forbidden):
        await plane.heartbeat("w-somebody", newer.session, 30, 0, {}, [])
    with pytest.raises(Unauthenticated):
        await plane.acknowledge(newer.worker_id, "tnr_s_never", 0, [])
    with pytest.raises(Invalid, match="101 effects"):
        await plane.witness(newer.session, [WitnessRequest("t", "tnr_c_x", 1, "e", "t.1.e", "0" * 64)] * 101)
    with pytest.raises(TooLarge):
        await plane.acknowledge(newer.worker_id, newer.session, 0, [Ack("c", detail="x" * 5_000_000)])
    await plane.register(asking("w-forked", incarnation="n-1"))
    with pytest.raises(Forked):
        await plane.register(asking("w-forked", incarnation="n-2", predecessors=["n-0"]))


async def test_a_session_that_has_ended_still_delivers_what_it_owes(
    served: Served, plane: HttpControlPlane
) -> None:
    """What belongs to a claim is fenced by its token, so an outbox outlives its session."""
    worker, command = await started(served, plane, "w-owing")
    served.register("w-owing")
    [answer] = await plane.report(worker.session, 0, [event(command, EventKind.SUCCEEDED, {"result": 1})])
    assert answer == EventAnswer(answer.event_id, Answer.ACCEPTED)


async def test_a_credential_delivers_too(served: Served, plane: HttpControlPlane) -> None:
    _, command = await started(served, plane, "w-credential")
    events = [event(command, EventKind.SUCCEEDED, {"result": 1})]
    [answer] = await plane.report(served.token("worker"), 0, events)
    assert answer.answer is Answer.ACCEPTED
    with pytest.raises(Forbidden):
        await plane.report(served.token("submit"), 0, events)


async def test_a_session_cannot_register(served: Served) -> None:
    worker = served.register("w-child")
    answer = served.post("/v1/workers", asking("w-other"), worker.session)
    assert answer.json()["code"] == "forbidden"
