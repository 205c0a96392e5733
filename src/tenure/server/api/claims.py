"""The board for pull workers: claiming, renewing, settling."""

from tenure.core.effect import Evidence
from tenure.core.errors import Invalid
from tenure.core.view import TaskView
from tenure.server.call import Call, Handler
from tenure.service.claims import ClaimMany, GrantedClaim, Offers
from tenure.service.claims import RenewAnswer as Renewed
from tenure.wire.claims import (
    ClaimRequest,
    ClaimsRequest,
    CompleteRequest,
    RecoverRequest,
    ReleaseRequest,
    RenewRequest,
)
from tenure.wire.limits import WAIT_S_MAX

LEASE_TTL_S = 30.0
"""How far a renewal that states no length moves a lease."""


async def claims(call: Call[ClaimsRequest]) -> dict[str, object]:
    """Claim open and due tasks, waiting for some if there are none."""
    asked = call.request
    if not 0 <= asked.wait_s <= WAIT_S_MAX:
        raise Invalid(f"use 0 to {WAIT_S_MAX:g}", path="wait_s")
    granted, waited = await call.service.claim_wait(call.who, _wanted(asked), asked.wait_s)
    return {"claims": granted, "waited_s": waited}


async def recover(call: Call[RecoverRequest]) -> dict[str, object]:
    """Take over tasks whose leases have ended."""
    granted = await call.service.recover(call.who, _wanted(call.request))
    return {"claims": granted, "waited_s": 0.0}


def _wanted(asked: ClaimsRequest | RecoverRequest) -> ClaimMany:
    able = asked.capabilities
    return ClaimMany(
        request_id=asked.request_id,
        agent=asked.agent,
        queues=asked.queues,
        capabilities=None if able is None else [Offers(c.name, c.version, c.recovery) for c in able],
        labels=asked.labels,
        resources=asked.resources,
        limit=asked.limit,
        ttl_s=asked.ttl_s,
    )


async def claim(call: Call[ClaimRequest]) -> GrantedClaim:
    """Claim one task."""
    return await call.service.claim(call.who, call.id("task_id"), call.request.agent, call.request.ttl_s)


async def renew(call: Call[RenewRequest]) -> Renewed:
    """Move a lease's end."""
    asked = call.request
    return await call.service.renew(
        call.who,
        call.id("task_id"),
        asked.token,
        LEASE_TTL_S if asked.ttl_s is None else asked.ttl_s,
        asked.progress,
        asked.progress_number,
    )


async def complete(call: Call[CompleteRequest]) -> TaskView:
    """End a claim as done."""
    return await call.service.complete(call.who, call.id("task_id"), call.request.token, call.request.result)


async def release(call: Call[ReleaseRequest]) -> TaskView:
    """Give a claim back with its reason."""
    asked = call.request
    return await call.service.release(
        call.who, call.id("task_id"), asked.token, asked.reason, asked.error, asked.subjects
    )


async def ledger(call: Call[None]) -> Evidence:
    """Show all evidence of a task to the bearer of its newest claim."""
    return await call.service.ledger(call.who, call.id("task_id"), call.claim_token())


HANDLERS: dict[str, Handler] = {
    "claims": claims,
    "recover": recover,
    "claim": claim,
    "renew": renew,
    "complete": complete,
    "release": release,
    "ledger": ledger,
}
