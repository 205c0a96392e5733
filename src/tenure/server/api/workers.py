"""Workers: registering, heartbeats, leaving, acknowledging, and the drained mark."""

from tenure.core.errors import Forbidden
from tenure.core.registration import HeartbeatAnswer, RegisterRequest, Registration, WorkerView
from tenure.server.call import Call, Handler
from tenure.wire.commands import AcksAnswer, AcksRequest
from tenure.wire.workers import DrainRequest, HeartbeatRequest, HeldAnswer, WorkersAnswer


async def register(call: Call[RegisterRequest]) -> Registration:
    """Begin a session."""
    if call.who.worker_id is not None:
        raise Forbidden("a session cannot register; use the worker's credential")
    return await call.service.register(call.who, call.request)


async def heartbeat(call: Call[HeartbeatRequest]) -> HeartbeatAnswer:
    """Keep a registration and the leases named."""
    asked = call.request
    return await call.service.heartbeat(
        call.own_worker(), call.token, asked.ttl_s, asked.room, asked.usage, asked.leases
    )


async def deregister(call: Call[None]) -> HeldAnswer:
    """End a session."""
    return HeldAnswer(await call.service.deregister(call.own_worker(), call.token))


async def workers(call: Call[None]) -> WorkersAnswer:
    """List workers."""
    return WorkersAnswer(await call.service.workers(call.who))


async def drain(call: Call[DrainRequest]) -> WorkerView:
    """Mark a worker drained, or undo it."""
    asked = call.request
    return await call.service.drain(
        call.who, call.id("worker_id"), drained=asked.drained, note=asked.note, revision=asked.revision
    )


async def acks(call: Call[AcksRequest]) -> AcksAnswer:
    """Acknowledge commands."""
    answers = await call.service.acknowledge(
        call.own_worker(), call.token, call.request.room, call.request.acks
    )
    return AcksAnswer(answers)


HANDLERS: dict[str, Handler] = {
    "register": register,
    "heartbeat": heartbeat,
    "deregister": deregister,
    "workers": workers,
    "drain": drain,
    "acks": acks,
}
