"""One call on its way to the service: who asks, for what, and with what."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar, cast

from tenure.core.errors import Forbidden, Invalid
from tenure.core.ids import check_id
from tenure.service.plane import ControlPlaneService
from tenure.service.principal import Principal
from tenure.wire.endpoints import CLAIM_HEADER

R = TypeVar("R")


class Call(Generic[R]):
    """A call that was authenticated and read; `request` has the form that the endpoint table states."""

    __slots__ = ("_claim", "_who", "path", "query", "request", "service", "token")

    def __init__(
        self,
        service: ControlPlaneService,
        path: Mapping[str, str],
        who: Principal | None,
        token: str,
        claim: str | None,
    ) -> None:
        """Take what the request line and the headers say; the body follows."""
        self.service = service
        self.path = path
        self.token = token
        self.request = cast("R", None)
        self.query: object = None
        self._who = who
        self._claim = claim

    @property
    def who(self) -> Principal:
        """Who asks; open endpoints never look."""
        return cast("Principal", self._who)

    def id(self, name: str) -> str:
        """Return an id from the path, or raise `Invalid`."""
        return check_id(name, self.path[name])

    def own_worker(self) -> str:
        """Return the worker in the path, or raise `Forbidden` unless its own session asks."""
        worker_id = self.id("worker_id")
        if self.who.worker_id != worker_id:
            raise Forbidden(f"this call needs the session token of worker {worker_id}")
        return worker_id

    def claim_token(self) -> str:
        """Return the claim's token from its header, or raise `Invalid`."""
        if not self._claim:
            raise Invalid("is missing; send the claim's token in this header", path=CLAIM_HEADER)
        return self._claim


AnyCall = Call[Any]  # each handler states its own form; the table pairs them
Handler = Callable[[AnyCall], Awaitable[object]]
Chunks = AbstractAsyncContextManager[AsyncIterator[bytes]]
StreamHandler = Callable[[AnyCall], Chunks]
