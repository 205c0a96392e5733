"""What this process holds: every attempt in its care, and how much more it can take.

Filled from the local store at the start and kept in step with it; nothing here is ever asked about what
happened before. C068.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from tenure.core.attempt import Attempt
from tenure.core.checkpoint import Progress
from tenure.core.execution import ManifestEntry
from tenure.worker.alarms import Alarm
from tenure.worker.config import BACKLOG_SHORT, SHORT_S, RuntimeConfig

FAULTS_MAX = 3  # Bound: host faults in a row after which no work is taken (B37)


class Stage(Enum):
    """How far this process is with an attempt."""

    WAITING = "waiting"  # For the answer to its acknowledgement
    READY = "ready"  # For a slot, and for a lease that is certainly held
    STARTING = "starting"  # For the commit that says running
    RUNNING = "running"
    ENDING = "ending"  # For the commit of its end
    ENDED = "ended"  # For the answer to its final event


class Why(Enum):
    """Why an execution was told to stop."""

    CANCELLED = "cancelled"
    LOST = "lost"
    STOPPING = "stopping"
    TIMEOUT = "timeout"
    SILENT = "silent"
    FENCED = "fenced"


@dataclass(slots=True, eq=False)
class Entry:
    """One attempt in the care of this process; `attempt` is as it was last saved.

    `deadline` is the local one of its lease on the boot-time clock (D14), None while nothing is known of it.
    """

    attempt: Attempt
    stage: Stage
    declared: ManifestEntry | None = None
    deadline: float | None = None
    why: Why | None = None
    is_lost: bool = False
    is_cancel_heard: bool = False
    is_alone: bool = False
    host_fault: str = ""
    kills: int = 0
    started: float = 0.0
    last_sign: float = 0.0
    progress: Progress | None = None
    progress_count: int = 0
    progress_told: int = 0
    progress_saved: int = 0
    alarms: list[Alarm] = field(default_factory=list[Alarm])
    parked: set[Callable[[], object]] = field(default_factory=set[Callable[[], object]])
    """Lets go whoever waits for an answer on behalf of this execution."""

    @property
    def id(self) -> str:
        """The attempt's id."""
        return self.attempt.id

    @property
    def is_leased(self) -> bool:
        """Whether heartbeats name its lease: from `go` until the answer to its final event is saved (D15)."""
        if self.is_lost:
            return False
        return self.stage is not Stage.WAITING

    @property
    def progress_number(self) -> int:
        """The number of the newest progress; it grows over executions without being saved each time."""
        return self.attempt.epoch * 1_000_000 + self.progress_count


class Books:
    """The attempts in this process's care, and its room."""

    def __init__(self, config: RuntimeConfig) -> None:
        """Begin empty."""
        self._config = config
        self._entries: dict[str, Entry] = {}
        self._open: set[str] = set()
        self._newest: dict[str, Entry] = {}
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._recent_s = SHORT_S
        self._promised = self.capacity
        self._faults = 0
        self.live: dict[str, Entry] = {}
        """Executions that are not shown dead, by task: one per task here (C121)."""
        self.is_drained = False
        self.drained_number = 0
        self.is_stopping = False
        self.is_full = False

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self._entries.values()))

    def get(self, attempt_id: str) -> Entry | None:
        """Return the entry of an attempt, or None if it is not in care (any more)."""
        return self._entries.get(attempt_id)

    def add(self, entry: Entry) -> Entry | None:
        """Take an attempt into care, and return the older one of its task, whose lease is lost by that."""
        other = self._newest.get(entry.attempt.task_id)
        self._entries[entry.id] = entry
        if other is None or other.attempt.generation < entry.attempt.generation:
            self._newest[entry.attempt.task_id] = entry
            older = other
        else:
            older = entry
        if not entry.attempt.state.is_final:
            self._open.add(entry.id)
            self._quiet.clear()
        return older

    def ended(self, entry: Entry, attempt: Attempt) -> None:
        """Note that an attempt's end is saved: it takes no room any more."""
        entry.attempt = attempt
        entry.stage = Stage.ENDED
        self._open.discard(entry.id)
        if not self._open:
            self._quiet.set()
        if not attempt.lease_kept:
            self.drop(entry.id)

    def drop(self, attempt_id: str) -> None:
        """Let an attempt go: its end has been answered."""
        entry = self._entries.pop(attempt_id, None)
        if entry is not None and self._newest.get(entry.attempt.task_id) is entry:
            del self._newest[entry.attempt.task_id]

    async def quiet(self) -> None:
        """Wait until every attempt has ended here."""
        await self._quiet.wait()

    @property
    def is_shut(self) -> bool:
        """Whether pending attempts are handed back rather than started."""
        return self.is_drained or self.is_stopping

    @property
    def capacity(self) -> int:
        """How many attempts may be unfinished here: slots and a backlog, larger while runs are short."""
        slots = self._config.slots
        return slots + (max(slots, BACKLOG_SHORT) if self._recent_s < SHORT_S else slots)

    @property
    def capacity_promised(self) -> int:
        """How many may be unfinished here at most: a start may rest on a larger room stated earlier."""
        return self._promised

    @property
    def room(self) -> int:
        """How many more starts this worker takes now (D21)."""
        if self.is_shut or self.is_full or self.is_sick:
            return 0
        return max(0, self.capacity - len(self._open))

    def usage(self) -> dict[str, float]:
        """Return what unfinished attempts take, for people and for dispatch."""
        taken: dict[str, float] = {"slots": float(len(self.live))}
        for id_ in self._open:
            for name, amount in self._entries[id_].attempt.spec.resources.items():
                taken[name] = taken.get(name, 0.0) + amount
        return taken

    def leased(self) -> Iterable[Entry]:
        """Return the entries that heartbeats name, one per task."""
        return [entry for entry in self._newest.values() if entry.is_leased]

    def ran(self, seconds: float) -> None:
        """Take the length of a run into account; only recent ones matter."""
        self._recent_s += (seconds - self._recent_s) / 16
        self._promised = max(self._promised, self.capacity)

    @property
    def is_sick(self) -> bool:
        """Whether the host itself failed too often in a row to be given work (B37)."""
        return self._faults >= FAULTS_MAX

    def host_failed(self) -> bool:
        """Count a fault of this host; say whether it is the one after which no work is taken."""
        self._faults += 1
        return self._faults == FAULTS_MAX

    def host_works(self) -> None:
        """Note that an execution ran: the host is well."""
        self._faults = 0

    def try_host_again(self) -> None:
        """Take work again; the next fault in a row ends that at once."""
        self._faults = min(self._faults, FAULTS_MAX - 1)
