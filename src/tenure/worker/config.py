"""What a Runtime is told about itself, checked before anything is called. C048."""

from typing import Final, Literal

from msgspec import Struct, field

from tenure.core.errors import Invalid, InvalidConfig
from tenure.core.ids import check_id
from tenure.core.instants import check_ttl

BACKLOG_SHORT: Final = 256  # Bound: starts that wait here while runs are short
SHORT_S: Final = 0.1
SLOTS_MAX: Final = 4_096 - BACKLOG_SHORT


class RuntimeConfig(Struct, frozen=True):
    """Identity, size and patience of one worker.

    `resources` says at least how many `cpu_millis` there are. A stop waits `grace_s` for running attempts
    (None: as long as they take), then cancels them; one that was told to stop is killed after
    `cancel_grace_s`. `flush_s` bounds how long the last events are waited for, `call_s` how long one call
    may take.
    """

    worker_id: str
    node_id: str
    resources: dict[str, float]
    slots: int = 1
    queues: list[str] = field(default_factory=lambda: ["default"])
    labels: dict[str, str] = field(default_factory=dict)
    ttl_s: float = 30.0
    on_stop: Literal["wait", "cancel"] = "wait"
    grace_s: float | None = 30.0
    cancel_grace_s: float = 10.0
    flush_s: float = 10.0
    call_s: float = 15.0

    def check(self) -> None:
        """Raise `InvalidConfig` naming the field; `reason` is `no_cpu` for a node without capacity. C048."""
        try:
            check_id("worker_id", self.worker_id)
            check_id("node_id", self.node_id)
            check_ttl("ttl_s", self.ttl_s)
        except Invalid as error:
            raise InvalidConfig(error.fault, path=error.path) from error
        if not self.resources.get("cpu_millis", 0) >= 1:
            raise InvalidConfig(
                "a node without one milli-CPU can run nothing; say how many it has",
                path="resources.cpu_millis",
                reason="no_cpu",
            )
        if not 1 <= self.slots <= SLOTS_MAX:
            raise InvalidConfig(f"{self.slots} is out of range; use 1 to {SLOTS_MAX}", path="slots")
        for name in ("grace_s", "cancel_grace_s", "flush_s", "call_s"):
            seconds: float | None = getattr(self, name)
            if seconds is not None and not 0 <= seconds < float("inf"):
                raise InvalidConfig(f"{seconds:g} s is no length", path=name)
