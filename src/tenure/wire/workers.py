"""Workers' presence: heartbeats, leaving, lists, and the drained mark. Registering is `core.registration`."""

from msgspec import Struct

from tenure.core.bounds import Count
from tenure.core.claim import LeaseBeat
from tenure.core.registration import WorkerView


class HeartbeatRequest(Struct, frozen=True, omit_defaults=True):
    """A worker's sign of life, its room, what it uses, and the leases that their keepers name."""

    ttl_s: float
    room: Count = 0
    usage: dict[str, float] = {}
    leases: list[LeaseBeat] = []


class HeldAnswer(Struct, frozen=True):
    """The tasks that a worker which has left still holds."""

    held: list[str]


class WorkersAnswer(Struct, frozen=True):
    """All workers as the store judges them now."""

    workers: list[WorkerView]


class DrainRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A person's mark on a worker; `revision` is the `drained_number` that the decision was based on."""

    drained: bool
    note: str = ""
    revision: Count | None = None
