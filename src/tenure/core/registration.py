"""Registrations: a worker's place in the registry, its sessions, and proof against copied state folders.

Contracts: C001 to C009.
"""

from datetime import datetime
from typing import Literal

from msgspec import Struct, field

from tenure.core.bounds import Count
from tenure.core.capability import Capability
from tenure.core.claim import LeaseAnswer
from tenure.core.instants import is_live


class RegisterRequest(Struct, frozen=True, omit_defaults=True):
    """What a worker states when it registers. `incarnation`, `predecessors`.

    `try_number` are one optional group (D23).
    """

    worker_id: str
    instance_id: str
    ttl_s: float
    node_id: str = ""
    incarnation: str | None = None
    predecessors: list[str] = []
    try_number: Count = field(default=1, name="try")
    queues: list[str] = field(default_factory=lambda: ["default"])
    labels: dict[str, str] = {}
    capabilities: list[Capability] = []
    slots: int = 1
    room: int = 0
    resources: dict[str, float] = {}


class Registration(Struct, frozen=True):
    """The answer to a registration; the token is shown here and never again."""

    worker_id: str
    token: str
    expires_at: datetime
    ttl_s: float
    heartbeat_s: float
    drained: bool = False
    drained_number: int = 0


class Session(Struct, frozen=True):
    """One registration as the store keeps it; rows stay while the worker id is in use (D24)."""

    worker_id: str
    number: int
    token_hash: str
    instance_id: str
    node_id: str
    ttl_s: float
    registered_at: datetime
    expires_at: datetime
    last_seen_at: datetime
    queues: list[str]
    labels: dict[str, str]
    capabilities: list[Capability]
    slots: int
    room: int
    resources: dict[str, float]
    incarnation: str | None = None
    try_number: int = 0
    usage: dict[str, float] = {}
    stream_epoch: int = 0
    connected: bool = False
    ended: Literal["displaced", "deregistered"] | None = None
    displaced_by: str | None = None

    def is_alive(self, now: datetime) -> bool:
        """Say whether the registration counts: not ended, and live by the one rule. C005 C009 C020."""
        return self.ended is None and is_live(now, self.expires_at)


class HeartbeatAnswer(Struct, frozen=True, omit_defaults=True):
    """What a heartbeat brings back: the registration's end and each lease's state."""

    expires_at: datetime
    ttl_s: float
    drained: bool = False
    drained_number: int = 0
    leases: list[LeaseAnswer] = []


class WorkerView(Struct, frozen=True):
    """A worker as lists show it; never with a token."""

    worker_id: str
    instance_id: str
    node_id: str
    labels: dict[str, str]
    capabilities: list[Capability]
    slots: int
    room: int
    usage: dict[str, float]
    drained: bool
    drained_number: int
    alive: bool
    connected: bool
    expires_at: datetime
    last_seen_at: datetime


def is_forked(request: RegisterRequest, known: str | None) -> bool:
    """Say whether the folder that registers is a copy of one that has lived on. C117.

    `known` is the last incarnation that the store accepted for the instance. It must be the new one (a
    repeated request) or stand in the list of unconfirmed or last confirmed predecessors. Without the optional
    group there is no check.
    """
    if request.incarnation is None or known is None:
        return False
    return known != request.incarnation and known not in request.predecessors
