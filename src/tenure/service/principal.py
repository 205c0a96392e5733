"""Who calls: a credential's role and queues, or a worker's session."""

from msgspec import Struct

from tenure.core.errors import Forbidden
from tenure.ports.credentials import Role

_MAY: dict[str, frozenset[str]] = {
    "read": frozenset({"read"}),
    "submit": frozenset({"read", "submit"}),
    "worker": frozenset({"read", "worker"}),
    "admin": frozenset({"read", "submit", "worker", "admin"}),
}


class Principal(Struct, frozen=True):
    """An authenticated caller; `queues` None means all, `worker_id` is set for a session."""

    name: str
    role: Role
    queues: tuple[str, ...] | None = None
    worker_id: str | None = None
    session: int | None = None

    def require(self, role: str) -> None:
        """Raise `Forbidden` unless this caller's role includes the given one."""
        if role not in _MAY[self.role]:
            raise Forbidden(f"the role {self.role} may not do this; it needs {role}")

    def require_queue(self, queue: str) -> None:
        """Raise `Forbidden` unless this caller may act on the queue."""
        if self.queues is not None and queue not in self.queues:
            raise Forbidden(f"this credential is not for queue {queue!r}")


LOCAL = Principal(name="local", role="admin")
"""Whoever holds the store itself."""
