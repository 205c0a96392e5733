"""The endpoint table: every call of the protocol, once; server, client, OpenAPI page and tests read it."""

from typing import Final, Literal

from msgspec import Struct

from tenure.core.effect import Evidence
from tenure.core.registration import HeartbeatAnswer, RegisterRequest, Registration, WorkerView
from tenure.core.verdict import VerdictRequest
from tenure.core.view import TaskView
from tenure.wire.claims import (
    ClaimGrant,
    ClaimRequest,
    ClaimsAnswer,
    ClaimsRequest,
    CompleteRequest,
    RecoverRequest,
    ReleaseRequest,
    RenewAnswer,
    RenewRequest,
)
from tenure.wire.commands import AcksAnswer, AcksRequest
from tenure.wire.events import EffectsAnswer, EffectsRequest, EventsAnswer, EventsRequest
from tenure.wire.problems import Code
from tenure.wire.service import Health, RevokedAnswer, TokenAnswer, TokenRequest, TokensAnswer
from tenure.wire.tasks import (
    CancelRequest,
    HistoryLine,
    HistoryQuery,
    RetryRequest,
    SubmitAnswer,
    SubmitRequest,
    TasksAnswer,
    TasksQuery,
)
from tenure.wire.workers import DrainRequest, HeartbeatRequest, HeldAnswer, WorkersAnswer

PROTOCOL: Final = "1.0"
PROTOCOL_HEADER: Final = "Tenure-Protocol"
EPOCH_HEADER: Final = "Tenure-Epoch"
POSITION_HEADER: Final = "Tenure-Position"
CLAIM_HEADER: Final = "Tenure-Claim"

Method = Literal["GET", "POST", "PUT", "DELETE"]
Access = Literal["open", "read", "submit", "worker", "admin", "session"]


class Endpoint(Struct, frozen=True):
    """One call of the protocol.

    `access` is the role that it needs, `session` the token of the worker in the path, `open` nothing. A
    worker's call with the protocol header is read leniently, every other one strictly. `stream` answers are
    event streams.
    """

    name: str
    method: Method
    path: str
    access: Access
    says: str
    answer: object
    request: type[Struct] | None = None
    query: type[Struct] | None = None
    status: int = 200
    problems: tuple[Code, ...] = ()
    by_worker: bool = False
    body_optional: bool = False
    claim_header: bool = False
    stream: bool = False

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names in the path, in order."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    @property
    def all_problems(self) -> tuple[Code, ...]:
        """Return every code that this call may be answered with, besides success."""
        codes: list[Code] = ["busy", "unavailable"]
        if self.access != "open":
            codes.extend(("unauthenticated", "forbidden"))
        if self.request is not None:
            codes.extend(("malformed", "too_large"))
        if self.request is not None or self.query is not None or self.parameters:
            codes.append("invalid")
        return tuple(dict.fromkeys([*codes, *self.problems]))

    def fill(self, **parameters: str) -> str:
        """Return the path with its parameters; ids need no quoting, and nothing else is let through."""
        return self.path.format(**parameters)


TASKS: Final = (
    Endpoint(
        name="submit",
        method="POST",
        path="/v1/tasks",
        access="submit",
        says="Submit tasks, all or none; the same id or key with the same content names the same task.",
        request=SubmitRequest,
        answer=SubmitAnswer,
        status=201,
        problems=("key_conflict",),
    ),
    Endpoint(
        name="tasks",
        method="GET",
        path="/v1/tasks",
        access="read",
        says="List tasks, newest first.",
        query=TasksQuery,
        answer=TasksAnswer,
    ),
    Endpoint(
        name="task",
        method="GET",
        path="/v1/tasks/{task_id}",
        access="read",
        says="Show one task.",
        answer=TaskView,
        problems=("not_found",),
    ),
    Endpoint(
        name="history",
        method="GET",
        path="/v1/tasks/{task_id}/history",
        access="read",
        says="Show everything ever recorded of a task.",
        query=HistoryQuery,
        answer=list[HistoryLine],
        problems=("not_found",),
    ),
    Endpoint(
        name="follow",
        method="GET",
        path="/v1/tasks/{task_id}/stream",
        access="read",
        says="Follow a task: `task` events with the whole task, the first at once, until it has settled.",
        answer=TaskView,
        problems=("not_found",),
        stream=True,
    ),
    Endpoint(
        name="cancel",
        method="POST",
        path="/v1/tasks/{task_id}/cancel",
        access="submit",
        says="Cancel a task, or ask its holder to.",
        request=CancelRequest,
        body_optional=True,
        answer=TaskView,
        status=202,
        problems=("not_found", "stale_revision"),
    ),
    Endpoint(
        name="retry",
        method="POST",
        path="/v1/tasks/{task_id}/retry",
        access="submit",
        says="Open a failed or cancelled task again; applied effects are not repeated unless `afresh`.",
        request=RetryRequest,
        body_optional=True,
        answer=TaskView,
        problems=("not_found", "stale_revision", "terminal", "outcome_unknown", "taken"),
    ),
    Endpoint(
        name="verdict",
        method="POST",
        path="/v1/tasks/{task_id}/verdicts",
        access="admin",
        says="Decide a subject that is in doubt.",
        request=VerdictRequest,
        answer=TaskView,
        problems=("not_found", "stale_revision", "terminal", "blocked"),
    ),
)

CLAIMS: Final = (
    Endpoint(
        name="claims",
        method="POST",
        path="/v1/claims",
        access="worker",
        says="Claim open and due tasks, waiting for some if there are none.",
        request=ClaimsRequest,
        answer=ClaimsAnswer,
        by_worker=True,
    ),
    Endpoint(
        name="recover",
        method="POST",
        path="/v1/recover",
        access="worker",
        says="Take over tasks whose leases have ended, as their rules allow.",
        request=RecoverRequest,
        answer=ClaimsAnswer,
        by_worker=True,
    ),
    Endpoint(
        name="claim",
        method="POST",
        path="/v1/tasks/{task_id}/claim",
        access="worker",
        says="Claim one task.",
        request=ClaimRequest,
        answer=ClaimGrant,
        problems=("not_found", "taken", "blocked", "terminal", "outcome_unknown"),
        by_worker=True,
    ),
    Endpoint(
        name="renew",
        method="POST",
        path="/v1/tasks/{task_id}/renew",
        access="worker",
        says="Move a lease's end.",
        request=RenewRequest,
        answer=RenewAnswer,
        problems=("lease_lost",),
        by_worker=True,
    ),
    Endpoint(
        name="complete",
        method="POST",
        path="/v1/tasks/{task_id}/complete",
        access="worker",
        says="End a claim as done; the first result stays.",
        request=CompleteRequest,
        answer=TaskView,
        problems=("lease_lost",),
        by_worker=True,
    ),
    Endpoint(
        name="release",
        method="POST",
        path="/v1/tasks/{task_id}/release",
        access="worker",
        says="Give a claim back with its reason.",
        request=ReleaseRequest,
        answer=TaskView,
        problems=("lease_lost", "terminal"),
        by_worker=True,
    ),
    Endpoint(
        name="ledger",
        method="GET",
        path="/v1/tasks/{task_id}/ledger",
        access="worker",
        says="Show all evidence of a task to the bearer of its newest claim.",
        answer=Evidence,
        problems=("lease_lost",),
        by_worker=True,
        claim_header=True,
    ),
)

WORKERS: Final = (
    Endpoint(
        name="register",
        method="POST",
        path="/v1/workers",
        access="worker",
        says="Begin a session; it replaces the one before.",
        request=RegisterRequest,
        answer=Registration,
        status=201,
        problems=("forked", "not_registered"),
        by_worker=True,
    ),
    Endpoint(
        name="heartbeat",
        method="POST",
        path="/v1/workers/{worker_id}/heartbeat",
        access="session",
        says="Keep a registration and the leases named; if it is refused, none was renewed.",
        request=HeartbeatRequest,
        answer=HeartbeatAnswer,
        problems=("not_registered",),
        by_worker=True,
    ),
    Endpoint(
        name="deregister",
        method="DELETE",
        path="/v1/workers/{worker_id}",
        access="session",
        says="End a session; starts that were not acknowledged are handed back.",
        answer=HeldAnswer,
        problems=("not_registered",),
        by_worker=True,
    ),
    Endpoint(
        name="workers",
        method="GET",
        path="/v1/workers",
        access="read",
        says="List workers as the store judges them now.",
        answer=WorkersAnswer,
    ),
    Endpoint(
        name="drain",
        method="POST",
        path="/v1/workers/{worker_id}/drain",
        access="admin",
        says="Mark a worker drained, or undo it.",
        request=DrainRequest,
        answer=WorkerView,
        problems=("not_found", "stale_revision"),
    ),
    Endpoint(
        name="commands",
        method="GET",
        path="/v1/workers/{worker_id}/commands",
        access="session",
        says="Open the session's one stream of commands; all that are not acknowledged are offered again.",
        answer=None,
        problems=("not_registered",),
        by_worker=True,
        stream=True,
    ),
    Endpoint(
        name="acks",
        method="POST",
        path="/v1/workers/{worker_id}/acks",
        access="session",
        says="Acknowledge commands; repeatable for ever, answered from the present.",
        request=AcksRequest,
        answer=AcksAnswer,
        problems=("not_registered",),
        by_worker=True,
    ),
)

REPORTS: Final = (
    Endpoint(
        name="effects",
        method="POST",
        path="/v1/effects",
        access="worker",
        says="Ask whether effects may begin.",
        request=EffectsRequest,
        answer=EffectsAnswer,
        by_worker=True,
    ),
    Endpoint(
        name="events",
        method="POST",
        path="/v1/events",
        access="worker",
        says="Report facts; each answer means that the fact is durable.",
        request=EventsRequest,
        answer=EventsAnswer,
        by_worker=True,
    ),
)

SERVICE: Final = (
    Endpoint(
        name="create_token",
        method="POST",
        path="/v1/tokens",
        access="admin",
        says="Make a credential; its token is shown once.",
        request=TokenRequest,
        answer=TokenAnswer,
        status=201,
    ),
    Endpoint(
        name="tokens",
        method="GET",
        path="/v1/tokens",
        access="admin",
        says="List credentials, without tokens.",
        answer=TokensAnswer,
    ),
    Endpoint(
        name="revoke_token",
        method="DELETE",
        path="/v1/tokens/{credential_id}",
        access="admin",
        says="Revoke a credential now.",
        answer=RevokedAnswer,
        problems=("not_found",),
    ),
    Endpoint(
        name="healthz",
        method="GET",
        path="/healthz",
        access="open",
        says="The process answers.",
        answer=Health,
    ),
    Endpoint(
        name="readyz",
        method="GET",
        path="/readyz",
        access="open",
        says="The store answers and its schema is current.",
        answer=Health,
    ),
    Endpoint(
        name="openapi",
        method="GET",
        path="/openapi.json",
        access="open",
        says="This description.",
        answer=dict[str, object],
    ),
)

# The calls of a busy worker first: a router looks from the top.
ENDPOINTS: Final = (*REPORTS, *WORKERS, *TASKS, *CLAIMS, *SERVICE)
BY_NAME: Final = {endpoint.name: endpoint for endpoint in ENDPOINTS}
