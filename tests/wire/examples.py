"""A good request for every endpoint that takes one: what hostile input is made from."""

from datetime import UTC, datetime

import msgspec

from tenure.core.capability import Capability, Recovery
from tenure.core.claim import LeaseBeat
from tenure.core.command import Ack
from tenure.core.effect import WitnessRequest
from tenure.core.event import Event, EventKind
from tenure.core.instants import EPOCH
from tenure.core.registration import RegisterRequest
from tenure.core.task import ErrorInfo, TaskSpec
from tenure.core.verdict import Verdict, VerdictRequest
from tenure.wire.claims import (
    ClaimCapability,
    ClaimRequest,
    ClaimsRequest,
    CompleteRequest,
    RecoverRequest,
    ReleaseRequest,
    RenewRequest,
)
from tenure.wire.commands import AcksRequest
from tenure.wire.endpoints import ENDPOINTS, Endpoint
from tenure.wire.events import EffectsRequest, EventsRequest
from tenure.wire.service import TokenRequest
from tenure.wire.tasks import CancelRequest, RetryRequest, SubmitRequest
from tenure.wire.workers import DrainRequest, HeartbeatRequest
from tests.wire.served import Served, Worker

Json = dict[str, object]
TOKEN = "tnr_c_never-minted"
LATER = datetime(2100, 1, 1, tzinfo=UTC)
CAPABILITY = ClaimCapability("add", "1", Recovery.RECOMPUTE)

REQUESTS: dict[str, msgspec.Struct] = {
    "submit": SubmitRequest(
        [
            TaskSpec(
                capability="add",
                version="1",
                input={"a": 1, "b": [2.5, "x"]},
                id="t-example",
                key="k-example",
                priority=1,
                requires={"gpu": "*"},
                resources={"cpu_millis": 100},
                depends_on=["t-before"],
                not_before=LATER,
                timeout_s=5,
                silence_s=5,
                deadline=LATER,
                labels={"team": "a"},
            )
        ]
    ),
    "cancel": CancelRequest(revision=3),
    "retry": RetryRequest(afresh=True, revision=3),
    "verdict": VerdictRequest("charge", Verdict.HAPPENED, 3, result={"paid": True}, note="seen"),
    "claims": ClaimsRequest("r-1", "agent-1", [CAPABILITY], queues=["default"], limit=2, ttl_s=5),
    "recover": RecoverRequest("r-1", "agent-1", [CAPABILITY], queues=["default"], limit=2, ttl_s=5),
    "claim": ClaimRequest("agent-1", 5),
    "renew": RenewRequest(TOKEN, 5, {"percent": 50}, 3),
    "complete": CompleteRequest(TOKEN, {"sum": 3}),
    "release": ReleaseRequest(TOKEN, "failed", ErrorInfo("ValueError", "no")),
    "register": RegisterRequest(
        "w-example",
        "i-example",
        ttl_s=5,
        incarnation="n-1",
        predecessors=["n-0"],
        labels={"gpu": "a100"},
        capabilities=[Capability("add", "1", Recovery.RESUME, "twice")],
        room=0,
        resources={"cpu_millis": 1_000},
    ),
    "heartbeat": HeartbeatRequest(
        30, 0, {"cpu_millis": 1}, [LeaseBeat("t-example", TOKEN, 5, {"percent": 1}, 1)]
    ),
    "drain": DrainRequest(drained=True, note="rack is moved", revision=0),
    "acks": AcksRequest(0, [Ack("c-1", accepted=False, reason="capacity", detail="full")]),
    "effects": EffectsRequest(
        [WitnessRequest("t-example", TOKEN, 1, "charge", "t-example.1.charge", "0" * 64, {"cents": 5})]
    ),
    "events": EventsRequest(
        0,
        [Event("e-1", 1, "t-example", "t-example.1", 1, TOKEN, 1, EventKind.SUCCEEDED, EPOCH, {"result": 3})],
    ),
    "create_token": TokenRequest("read", "example", ["default"], 60),
}

WITH_BODY = [endpoint for endpoint in ENDPOINTS if endpoint.request is not None]
CLOSED = [endpoint for endpoint in ENDPOINTS if endpoint.access != "open"]


def example(endpoint: Endpoint) -> Json:
    """Return the good request with every field written out, as JSON."""
    request = REQUESTS[endpoint.name]
    return {
        field.encode_name: msgspec.to_builtins(getattr(request, field.name))
        for field in msgspec.structs.fields(request)
    }


def path_of(endpoint: Endpoint, worker: Worker) -> str:
    """Return the path for a task and a credential that are not there, and for the worker that is."""
    ids = {"task_id": "nope", "credential_id": "nope", "worker_id": worker.worker_id}
    return endpoint.fill(**{name: ids[name] for name in endpoint.parameters})


def token_of(endpoint: Endpoint, served: Served, worker: Worker) -> str:
    """Return a token that may make the call."""
    return worker.session if endpoint.access == "session" else served.token(endpoint.access)
