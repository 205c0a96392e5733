"""The board for pull workers: claims, takeovers, renewals and settlements by token.

Contracts: C010 to C021, C035 to C042.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct

from tenure.core.canonical import digest_text
from tenure.core.capability import Recovery
from tenure.core.claim import ClaimEnd, Standing
from tenure.core.claiming import Grantee, ended_lease, grant, refusal
from tenure.core.effect import Evidence
from tenure.core.errors import Forbidden, Invalid, LeaseLost, NotFound, Terminal
from tenure.core.event import Body, EventKind, FailedBody, ReasonBody, SucceededBody, UnknownBody
from tenure.core.ids import attempt_id, check_id
from tenure.core.instants import check_ttl
from tenure.core.settlement import settle
from tenure.core.task import ErrorInfo, Task, TaskState
from tenure.core.view import TaskView
from tenure.ports.board import Renewal, Wanted
from tenure.ports.facts import Fact
from tenure.ports.store import Transaction
from tenure.service.calm import is_calm_for
from tenure.service.changes import save
from tenure.service.dispatch import presented
from tenure.service.evidence import gather
from tenure.service.injected import TOKEN_OF_CLAIM, Injected
from tenure.service.principal import Principal
from tenure.service.sessions import read_progress
from tenure.service.views import view

CLAIMS_MAX = 100
PAGE = 200

Reason = Literal["failed", "handed_back", "cancelled", "unknown"]


class Offers(Struct, frozen=True, forbid_unknown_fields=True):
    """One capability that a pull worker can run."""

    name: str
    version: str
    recovery: Recovery | None = None


class ClaimMany(Struct, frozen=True):
    """What a pull worker asks for; absent queues mean all that the credential allows."""

    request_id: str
    agent: str
    queues: list[str] | None = None
    capabilities: list[Offers] | None = None
    labels: dict[str, str] = {}
    resources: dict[str, float] = {}
    limit: int = 1
    ttl_s: float | None = None


class GrantedClaim(Struct, frozen=True):
    """A claim as its bearer gets it; the token is shown here and never again."""

    task: TaskView
    attempt_id: str
    token: str
    generation: int
    until: datetime
    ttl_s: float
    evidence: Evidence | None


class RenewAnswer(Struct, frozen=True):
    """A moved lease."""

    until: datetime
    ttl_s: float
    cancel_requested: bool
    progress_refused: str | None = None


def claim(
    tx: Transaction, injected: Injected, who: Principal, task_id: str, agent: str, ttl_s: float | None
) -> GrantedClaim:
    """Grant one task to the caller: open, failed, or with an ended lease.

    Raises:
        Taken, Blocked, Terminal, OutcomeUnknown, NotFound: The five normal refusals. C014.
    """
    _check_agent(tx, who, agent)
    task = tx.board.load([task_id]).get(task_id)
    if task is None:
        raise NotFound(f"there is no task {task_id}")
    who.require_queue(task.queue)
    below = tx.selection.dependencies([task_id]).get(task_id, {})
    now = tx.now()
    holder = task.holder
    refused = refusal(
        task,
        tx.ledger.effects([task_id]).get(task_id, []),
        dependencies_done=all(state is TaskState.DONE for state in below.values()),
        calm=holder is None or is_calm_for(tx, now, holder.ttl_s),
        now=now,
    )
    if refused is not None:
        raise refused
    return _grant(tx, injected, agent, [(task, None)], ttl_s, None)[0]


def claim_many(tx: Transaction, injected: Injected, who: Principal, asked: ClaimMany) -> list[GrantedClaim]:
    """Grant open and due tasks to a pull worker; a repeated request id grants the same tasks again, newly."""
    _check_many(tx, who, asked)
    again = tx.upkeep.granted_for(asked.agent, asked.request_id)
    if again:
        return _grant(
            tx, injected, asked.agent, [(t, _rule(t)) for t in again], asked.ttl_s, asked.request_id
        )
    wanted = Wanted(
        queues=_queues(who, asked.queues),
        capabilities=None
        if asked.capabilities is None
        else [(o.name, o.version) for o in asked.capabilities],
        limit=asked.limit,
        labels=asked.labels,
        resources=asked.resources,
    )
    found = [(task, _offered_rule(asked, task)) for task in tx.selection.open_and_due(wanted)]
    return _grant(tx, injected, asked.agent, found, asked.ttl_s, asked.request_id)


def recover(tx: Transaction, injected: Injected, who: Principal, asked: ClaimMany) -> list[GrantedClaim]:
    """Take over ended leases as their rules allow, up to the limit; what may not be taken is settled.

    Contracts: C035 to C041.
    """
    _check_many(tx, who, asked)
    queues = _queues(who, asked.queues)
    now = tx.now()
    taken: list[tuple[Task, Recovery | None]] = []
    settled: list[Task] = []
    after: tuple[datetime, str] | None = None
    while len(taken) < asked.limit:
        page = tx.selection.ended_leases(after, PAGE)
        if not page:
            break
        ledgers = tx.ledger.effects([t.id for t in page])
        for task in page:
            holder = task.holder
            if holder is None:
                continue
            after = (holder.until, task.id)
            fit = queues is None or task.queue in queues
            if not fit or not is_calm_for(tx, now, holder.ttl_s) or not _can(asked, task):
                continue
            outcome = ended_lease(task, ledgers.get(task.id, []), now)
            if outcome is not None:
                settled.append(outcome)
            elif len(taken) < asked.limit:
                taken.append((task, _offered_rule(asked, task) or holder.rule))
    tx.facts.record([Fact(task_id=t.id, kind=str(t.state), at=now, body={"by": "recover"}) for t in settled])
    save(tx, injected, settled)
    return _grant(tx, injected, asked.agent, taken, asked.ttl_s, None)


def renew(
    tx: Transaction,
    task_id: str,
    token: str,
    ttl_s: float,
    progress: dict[str, object] | None,
    progress_number: int,
) -> RenewAnswer:
    """Move a lease's end to now + ttl for the newest token, or raise `LeaseLost`. C019 C021."""
    check_ttl("ttl_s", ttl_s)
    stated, refused = None, None
    if progress is not None:
        try:
            stated = read_progress(progress)
        except Invalid as error:
            refused = error.text
    moved = tx.board.renew(
        [Renewal(task_id, digest_text(token), ttl_s, stated, progress_number if stated else 0)]
    )
    if task_id not in moved:
        raise LeaseLost(f"the lease on task {task_id} is lost: a newer generation exists, or none ever did")
    found = moved[task_id]
    return RenewAnswer(found.until, ttl_s, found.cancel_requested, refused)


def complete(tx: Transaction, injected: Injected, task_id: str, token: str, result: object) -> TaskView:
    """End a claim as done; the same token again gets the same answer, and the first result stays.

    Contracts: C017 C018.
    """
    task, standing = _bearer(tx, task_id, token)
    claim = task.claim
    if claim is not None and claim.ended is ClaimEnd.SUCCEEDED:
        return view(tx, task)
    body = SucceededBody(result)
    return _settle(tx, injected, task, EventKind.SUCCEEDED, body, standing)


def release(
    tx: Transaction,
    injected: Injected,
    task_id: str,
    token: str,
    reason: Reason,
    error: ErrorInfo | None,
    subjects: Sequence[str],
) -> TaskView:
    """Give a claim back with its reason (D4); after a completion it is refused and never reopens. C018."""
    task, standing = _bearer(tx, task_id, token)
    if task.state is TaskState.DONE:
        raise Terminal(f"task {task_id} is done")
    kind = EventKind(reason)
    body: Body
    match kind:
        case EventKind.FAILED:
            body = FailedBody(error or ErrorInfo(type="failed", message="released as failed"))
        case EventKind.UNKNOWN:
            body = UnknownBody(list(subjects))
        case _:
            body = ReasonBody()
    return _settle(tx, injected, task, kind, body, standing)


def _settle(
    tx: Transaction, injected: Injected, task: Task, kind: EventKind, body: Body, standing: Standing
) -> TaskView:
    now = tx.now()
    ledger = tx.ledger.effects([task.id]).get(task.id, [])
    outcome = settle(task, ledger, kind, body, standing, 1, now, injected.ids.jitter())
    if not outcome.accepted:
        raise LeaseLost(f"the claim on task {task.id} has ended; nothing was changed")
    if outcome.detail != "repeated":
        tx.facts.record([Fact(task_id=task.id, kind=str(kind), at=now, generation=task.generation)])
        save(tx, injected, [outcome.task])
    return view(tx, outcome.task)


def _bearer(tx: Transaction, task_id: str, token: str) -> tuple[Task, Standing]:
    standing = tx.board.proofs([presented(task_id, token)])[presented(task_id, token)].standing
    task = tx.board.load([task_id]).get(task_id)
    if task is None or standing is not Standing.NEWEST:
        raise LeaseLost(f"the lease on task {task_id} is lost: a newer generation exists, or none ever did")
    return task, standing


def _grant(
    tx: Transaction,
    injected: Injected,
    agent: str,
    tasks: Sequence[tuple[Task, Recovery | None]],
    ttl_s: float | None,
    request_id: str | None,
) -> list[GrantedClaim]:
    now = tx.now()
    tokens = {task.id: injected.ids.new_token(TOKEN_OF_CLAIM) for task, _ in tasks}
    granted = [
        grant(
            task,
            Grantee(
                agent=agent,
                token_hash=digest_text(tokens[task.id]),
                ttl_s=ttl_s or task.lease_ttl_s,
                rule=rule,
                request_id=request_id,
            ),
            now,
        )
        for task, rule in tasks
    ]
    save(tx, injected, granted)
    tx.facts.record(
        [
            Fact(task_id=t.id, kind="claimed", at=now, generation=t.generation, body={"agent": agent})
            for t in granted
        ]
    )
    evidence = gather(tx, granted, {})
    return [
        GrantedClaim(
            task=view(tx, task),
            attempt_id=attempt_id(task.id, task.generation),
            token=tokens[task.id],
            generation=task.generation,
            until=task.claim.until,
            ttl_s=task.claim.ttl_s,
            evidence=evidence.get(task.id),
        )
        for task in granted
        if task.claim is not None
    ]


def _check_agent(tx: Transaction, who: Principal, agent: str) -> None:
    who.require("worker")
    check_id("agent", agent)
    if who.worker_id != agent and tx.registry.latest([agent]):
        raise Forbidden(f"{agent} is a registered worker; only its own session may claim under that name")


def _check_many(tx: Transaction, who: Principal, asked: ClaimMany) -> None:
    _check_agent(tx, who, asked.agent)
    check_id("request_id", asked.request_id)
    if not 1 <= asked.limit <= CLAIMS_MAX:
        raise Invalid(f"use 1 to {CLAIMS_MAX}", path="limit")
    if asked.ttl_s is not None:
        check_ttl("ttl_s", asked.ttl_s)


def _queues(who: Principal, queues: list[str] | None) -> list[str] | None:
    for queue in queues or ():
        who.require_queue(queue)
    return queues if queues is not None else (list(who.queues) if who.queues is not None else None)


def _can(asked: ClaimMany, task: Task) -> bool:
    return asked.capabilities is None or any(_serves(o, task) for o in asked.capabilities)


def _serves(offer: Offers, task: Task) -> bool:
    return offer.name == task.capability and task.version in (None, offer.version)


def _offered_rule(asked: ClaimMany, task: Task) -> Recovery | None:
    return next((o.recovery for o in asked.capabilities or () if _serves(o, task)), None)


def _rule(task: Task) -> Recovery | None:
    return task.claim.rule if task.claim is not None else None
