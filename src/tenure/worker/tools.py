"""What all parts of a running worker share."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tenure.core.execution import ManifestEntry
from tenure.core.faultpoints import FaultPoint
from tenure.core.task import TaskSpec
from tenure.ports.ids import Ids
from tenure.ports.observer import Observer
from tenure.worker.alarms import Alarms
from tenure.worker.books import Books, Entry, Stage
from tenure.worker.config import RuntimeConfig
from tenure.worker.parts import Parts
from tenure.worker.saving import Saving


@dataclass(slots=True)
class Tools:
    """The parts, what is known about this worker, and what it holds."""

    parts: Parts
    config: RuntimeConfig
    alarms: Alarms
    saving: Saving
    books: Books
    manifest: Sequence[ManifestEntry] = field(default_factory=tuple[ManifestEntry, ...])
    is_proved: bool = False
    """Whether no executor of an earlier process is left for certain (C122)."""
    store_epoch: int = 1
    instance_id: str = ""

    @property
    def ids(self) -> Ids:
        """The source of ids and jitter."""
        return self.parts.ids

    @property
    def observer(self) -> Observer:
        """Who is told what happens."""
        return self.parts.observer

    def reach(self, point: FaultPoint, subject: str = "") -> None:
        """Tell that a point is reached."""
        self.parts.faults.reach(point, subject)

    def renewed(self, entry: Entry, deadline: float) -> None:
        """Take a later end of a lease, and tell the code's side of it (D14)."""
        if entry.is_lost or (entry.deadline is not None and deadline <= entry.deadline):
            return
        entry.deadline = deadline
        if entry.stage is Stage.RUNNING:
            self.parts.executor.lease_moved(entry.id, deadline)

    def declared(self, spec: TaskSpec, manifest_digest: str = "") -> ManifestEntry | None:
        """Return what this worker declares for a task; of several versions, the one that ran before."""
        found = [
            entry
            for entry in self.manifest
            if entry.name == spec.capability and spec.version in (None, entry.version)
        ]
        same = [entry for entry in found if entry.digest == manifest_digest]
        return next(iter([*same, *found]), None)
