"""Calls to the control plane as a session makes them: bounded in time, verdicts on the session heard.

Three things can come of a call that was not answered as asked: nobody answered (`DeliveryFailed`, keep and
try again), the session is over (`SessionOver`), or the request itself is refused (any other `TenureError`).
"""

from collections.abc import Awaitable
from typing import TypeVar

from tenure.core.errors import (
    DeliveryFailed,
    Forbidden,
    NotRegistered,
    OutcomeUnknown,
    TenureError,
    Unauthenticated,
    Unavailable,
)
from tenure.worker.alarms import Alarms
from tenure.worker.session import Session

T = TypeVar("T")


class SessionOver(Exception):
    """The answer was that this session has ended; everything is kept for the next one."""

    def __init__(self, cause: TenureError) -> None:
        """Carry what was answered."""
        super().__init__(cause.text)
        self.cause = cause


async def ask(alarms: Alarms, session: Session, call: Awaitable[T], bound_s: float, what: str) -> T:
    """Await a call of a session, and end the session if the answer says so.

    Raises:
        DeliveryFailed: Nobody answered, or the other side could not; repeating the call is safe.
        SessionOver: The session has ended.
        TenureError: The request as a whole is refused.
    """
    try:
        with alarms.bound(bound_s, what):
            return await call
    except (NotRegistered, Unauthenticated, Forbidden) as verdict:
        session.end(verdict)
        raise SessionOver(verdict) from verdict
    except DeliveryFailed:
        raise
    except (Unavailable, OutcomeUnknown) as error:
        # The other side's store, as a control plane in this process shows it: the same calls may be repeated.
        raise DeliveryFailed(error.text) from error
