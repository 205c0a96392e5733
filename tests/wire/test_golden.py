"""Messages written out as they travel: a change of any of these is a change of the protocol."""

import json
from datetime import UTC, datetime

import pytest

from tenure.core.capability import Capability, Recovery
from tenure.core.claim import LeaseAnswer, LeaseBeat
from tenure.core.command import Ack, AckAnswer, Command, CommandKind
from tenure.core.effect import (
    AttemptLine,
    CheckpointLine,
    Evidence,
    LedgerLine,
    WitnessAnswer,
    WitnessRequest,
    WitnessStanding,
)
from tenure.core.errors import Invalid, NotRegistered
from tenure.core.event import Answer, Event, EventAnswer, EventKind
from tenure.core.registration import HeartbeatAnswer, RegisterRequest, Registration
from tenure.core.task import TaskSpec
from tenure.wire.claims import RenewAnswer
from tenure.wire.codec import decode_answer, encode
from tenure.wire.commands import AcksAnswer, AcksRequest
from tenure.wire.events import EffectsAnswer, EffectsRequest, EventsAnswer, EventsRequest
from tenure.wire.problems import to_problem
from tenure.wire.workers import HeartbeatRequest

AT = datetime(2026, 11, 30, 12, 0, 0, 250_000, tzinfo=UTC)
BACKOFF = '"backoff":{"initial_s":1.0,"factor":2.0,"max_s":300.0}'

GOLDEN: dict[str, tuple[object, str]] = {
    "command": (
        Command(
            command_id="t.1",
            instance_id="i",
            kind=CommandKind.START,
            digest="d",
            sequence=7,
            task=TaskSpec("add", version="1", input={"a": 1}, id="t"),
            attempt_id="t.1",
            generation=1,
            token="tnr_c_x",
            losses=1,
            evidence=Evidence(
                checkpoint=CheckpointLine({"offset": 5}, 3, portable=False, node_id="n"),
                effects=[LedgerLine("charge", "effect", "applied", {"id": 1}, "t.1.charge", 1)],
                attempts=[AttemptLine(1, "w", "i", "lost")],
            ),
        ),
        '{"command_id":"t.1","instance_id":"i","kind":"start","digest":"d","sequence":7,"task":{"capability":"add",'
        '"version":"1","input":{"a":1},"id":"t",' + BACKOFF + '},"attempt_id":"t.1","generation":1,'
        '"token":"tnr_c_x","losses":1,"evidence":{"checkpoint":{"value":{"offset":5},"sequence":3,"portable":false,'
        '"node_id":"n"},"effects":[{"name":"charge","kind":"effect","state":"applied","result":{"id":1},'
        '"request_id":"t.1.charge","generation":1}],"attempts":[{"generation":1,"agent":"w","instance_id":"i",'
        '"ended":"lost"}]}}',
    ),
    "acks": (
        AcksRequest(2, [Ack("t.1"), Ack("t.2", accepted=False, reason="capacity", detail="full")]),
        (
            '{"room":2,"acks":[{"command_id":"t.1"},'
            '{"command_id":"t.2","accepted":false,"reason":"capacity","detail":"full"}]}'
        ),
    ),
    "acks answered": (
        AcksAnswer([AckAnswer("t.1", "go", 30.0), AckAnswer("t.2", "void")]),
        '{"acks":[{"command_id":"t.1","standing":"go","ttl_s":30.0},{"command_id":"t.2","standing":"void"}]}',
    ),
    "effects": (
        EffectsRequest(
            [
                WitnessRequest(
                    "t", "tnr_c_x", 1, "charge", "t.1.charge", "d", {"cents": 5}, ("find",), "absent"
                )
            ]
        ),
        (
            '{"effects":[{"task_id":"t","token":"tnr_c_x","attempt_epoch":1,"name":"charge","request_id":"t.1.charge",'
            '"digest":"d","params":{"cents":5},"settled_by":["find"],"after":"absent"}]}'
        ),
    ),
    "effects answered": (
        EffectsAnswer(
            [WitnessAnswer("t", "charge", WitnessStanding.IN_DOUBT, 30.0, None, AT, "w", 1, "may_still_act")]
        ),
        (
            '{"effects":[{"task_id":"t","name":"charge","standing":"in_doubt","ttl_s":30.0,'
            '"since":"2026-11-30T12:00:00.250000Z","agent":"w","generation":1,"predecessor":"may_still_act"}]}'
        ),
    ),
    "events": (
        EventsRequest(
            1, [Event("e", 2, "t", "t.1", 1, "tnr_c_x", 1, EventKind.SUCCEEDED, AT, {"result": [1, None]})]
        ),
        (
            '{"room":1,"events":[{"event_id":"e","sequence":2,"task_id":"t","attempt_id":"t.1","generation":1,'
            '"token":"tnr_c_x","attempt_epoch":1,"kind":"succeeded","at":"2026-11-30T12:00:00.250000Z",'
            '"body":{"result":[1,null]}}]}'
        ),
    ),
    "events answered": (
        EventsAnswer([EventAnswer("e", Answer.ACCEPTED), EventAnswer("f", Answer.STALE, "pruned")]),
        '{"answers":[{"event_id":"e","answer":"accepted"},{"event_id":"f","answer":"stale","detail":"pruned"}]}',
    ),
    "register": (
        RegisterRequest(
            "w",
            "i",
            30.0,
            "n",
            "c2",
            ["c1"],
            2,
            capabilities=[Capability("add", "1", Recovery.RESUME, "the last file twice")],
            slots=4,
            room=8,
        ),
        (
            '{"worker_id":"w","instance_id":"i","ttl_s":30.0,"node_id":"n","incarnation":"c2","predecessors":["c1"],"try":2,'
            '"queues":["default"],"capabilities":[{"name":"add","version":"1","recovery":"resume",'
            '"window":"the last file twice","input_schema":null}],"slots":4,"room":8}'
        ),
    ),
    "registered": (
        Registration("w", "tnr_s_x", AT, 30.0, 10.0),
        (
            '{"worker_id":"w","token":"tnr_s_x","expires_at":"2026-11-30T12:00:00.250000Z","ttl_s":30.0,"heartbeat_s":10.0,'
            '"drained":false,"drained_number":0}'
        ),
    ),
    "heartbeat": (
        HeartbeatRequest(
            30.0, 3, {"cpu_millis": 500.0}, [LeaseBeat("t", "tnr_c_x", 30.0, {"percent": 40}, 2)]
        ),
        (
            '{"ttl_s":30.0,"room":3,"usage":{"cpu_millis":500.0},"leases":[{"task_id":"t","token":"tnr_c_x","ttl_s":30.0,'
            '"progress":{"percent":40},"progress_number":2}]}'
        ),
    ),
    "heartbeat answered": (
        HeartbeatAnswer(
            AT,
            30.0,
            drained=True,
            drained_number=2,
            leases=[LeaseAnswer("t", "held", 30.0), LeaseAnswer("u", "lost")],
        ),
        (
            '{"expires_at":"2026-11-30T12:00:00.250000Z","ttl_s":30.0,"drained":true,"drained_number":2,'
            '"leases":[{"task_id":"t","state":"held","ttl_s":30.0},{"task_id":"u","state":"lost"}]}'
        ),
    ),
    "renewed": (
        RenewAnswer(AT, 30.0),
        '{"until":"2026-11-30T12:00:00.250000Z","ttl_s":30.0,"cancel_requested":false,"progress_refused":null}',
    ),
    "a field at fault": (
        to_problem(Invalid("there is no task x", path="tasks[3].depends_on[0]")),
        (
            '{"title":"Unprocessable Entity","status":422,'
            '"detail":"tasks[3].depends_on[0]: there is no task x",'
            '"code":"invalid","retry":"never",'
            '"errors":[{"path":"tasks[3].depends_on[0]","text":"there is no task x"}]}'
        ),
    ),
    "displaced": (
        to_problem(NotRegistered("the session was displaced", reason="displaced", displaced_by="i2")),
        (
            '{"title":"Conflict","status":409,"detail":"the session was displaced","code":"not_registered",'
            '"retry":"never","reason":"displaced","displaced_by":"i2"}'
        ),
    ),
}


@pytest.mark.parametrize(("message", "text"), GOLDEN.values(), ids=GOLDEN.keys())
def test_a_message_looks_like_this(message: object, text: str) -> None:
    assert json.loads(encode(message)) == json.loads(text)
    assert decode_answer(text.encode(), type(message)) == message
