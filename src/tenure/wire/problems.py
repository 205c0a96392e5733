"""Problem documents: every error's code and status, and both ways between them and the error tree.

The table is the protocol's. A server makes a document from an error; a client makes the same error from it
again, or `DeliveryFailed` where the request itself was not judged and may be repeated.
"""

from http import HTTPStatus
from typing import Literal

import msgspec
from msgspec import Struct

from tenure.core import errors
from tenure.core.errors import Retry, TenureError

PROBLEM_TYPE = "application/problem+json"

Code = Literal[
    "malformed",
    "invalid",
    "unauthenticated",
    "forbidden",
    "not_found",
    "method_not_allowed",
    "taken",
    "blocked",
    "terminal",
    "lease_lost",
    "not_registered",
    "forked",
    "key_conflict",
    "outcome_unknown",
    "stale_revision",
    "too_large",
    "busy",
    "unavailable",
    "internal",
]

STATUS: dict[Code, int] = {
    "malformed": 400,
    "invalid": 422,
    "unauthenticated": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "taken": 409,
    "blocked": 409,
    "terminal": 409,
    "lease_lost": 409,
    "not_registered": 409,
    "forked": 409,
    "key_conflict": 409,
    "outcome_unknown": 409,
    "stale_revision": 409,
    "too_large": 413,
    "busy": 429,
    "unavailable": 503,
    "internal": 500,
}

CLASSES: dict[str, type[TenureError]] = {
    cls.code: cls
    for cls in (
        errors.NotFound,
        errors.MethodNotAllowed,
        errors.Taken,
        errors.Blocked,
        errors.Terminal,
        errors.LeaseLost,
        errors.Forked,
        errors.KeyConflict,
        errors.StaleRevision,
        errors.Unauthenticated,
        errors.Forbidden,
        errors.TooLarge,
    )
}

NOT_JUDGED = frozenset({408, 425, 429})
"""Statuses that say nothing about the request, beside all of 500 and more: keep it and ask again."""


class Fault(Struct, frozen=True):
    """One field at fault."""

    path: str
    text: str


class Problem(Struct, frozen=True, omit_defaults=True):
    """A problem document; `code` is stable, `detail` is one sentence for people."""

    title: str
    status: int
    detail: str
    code: str
    retry: Retry
    reason: str | None = None
    displaced_by: str | None = None
    subjects: list[str] = []
    errors: list[Fault] = []


def to_problem(error: TenureError) -> Problem:
    """Return the document for an error; one whose code is not the protocol's is an internal one."""
    code = error.code if error.code in STATUS else "internal"
    status = STATUS[code]
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        return INTERNAL
    return Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=error.text,
        code=code,
        retry=error.retry,
        reason=error.reason,
        displaced_by=error.displaced_by if isinstance(error, errors.NotRegistered) else None,
        subjects=list(error.subjects) if isinstance(error, errors.OutcomeUnknown) else [],
        errors=[Fault(error.path, error.fault)] if isinstance(error, errors.Invalid) and error.path else [],
    )


INTERNAL = Problem(
    title=HTTPStatus.INTERNAL_SERVER_ERROR.phrase,
    status=500,
    detail="the server met a condition that it has no answer for; what happened stands in its log",
    code="internal",
    retry="later",
)
"""What is said of a bug: nothing of its inside."""


def to_error(status: int, media_type: str, body: bytes, retry_after_s: float | None = None) -> TenureError:
    """Return the error that an answer other than success stands for.

    Only a readable problem document is a judgement of ours. Anything else may come from a proxy, and the
    request is kept and repeated; except for 413, which stays what it is however often the same bytes are
    sent.
    """
    problem = _read(media_type, body)
    if status in NOT_JUDGED or status >= HTTPStatus.INTERNAL_SERVER_ERROR or problem is None:
        if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return errors.TooLarge("the body is larger than what is let through on the way")
        said = problem.detail if problem is not None else f"an answer that is not Tenure's, status {status}"
        return errors.DeliveryFailed(said, retry_after_s=retry_after_s)
    return _known(problem)


def _read(media_type: str, body: bytes) -> Problem | None:
    if media_type.partition(";")[0].strip().lower() != PROBLEM_TYPE:
        return None
    try:
        return msgspec.json.decode(body, type=Problem)
    except msgspec.DecodeError:
        return None


def _known(problem: Problem) -> TenureError:
    match problem.code:
        case "invalid" | "malformed":
            cls = errors.Invalid if problem.code == "invalid" else errors.Malformed
            if problem.errors:
                return cls(problem.errors[0].text, path=problem.errors[0].path, reason=problem.reason)
            return cls(problem.detail, reason=problem.reason)
        case "not_registered":
            return errors.NotRegistered(
                problem.detail, reason=problem.reason or "expired", displaced_by=problem.displaced_by
            )
        case "outcome_unknown":
            return errors.OutcomeUnknown(problem.detail, subjects=tuple(problem.subjects) or ("attempt",))
        case code:
            # A code that a newer server knows and this client does not is still a refusal.
            return CLASSES.get(code, errors.Refused)(problem.detail, reason=problem.reason)
