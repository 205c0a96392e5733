"""What a Runtime is made of; each part is mandatory and found wanting before anything is called. C049."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, fields

from tenure.core.errors import InvalidConfig
from tenure.ports.clock import Clock
from tenure.ports.control_plane import CommandStream, ControlPlane
from tenure.ports.executor import CapabilityExecutor
from tenure.ports.faults import Faults
from tenure.ports.ids import Ids
from tenure.ports.local import ExecutorRow, LocalStore
from tenure.ports.observer import Observer

NoneLeft = Callable[[Sequence[ExecutorRow]], Awaitable[bool]]
"""Kills the executors of an earlier process that can still be identified, and says whether none is left.

True only by proof (C122); False where nothing can be proved, as after a move to another machine.
"""


@dataclass(frozen=True, slots=True)
class Parts:
    """Both sides of the supervisor and what is injected."""

    control_plane: ControlPlane
    commands: CommandStream
    store: LocalStore
    executor: CapabilityExecutor
    none_left: NoneLeft
    ids: Ids
    clock: Clock
    observer: Observer
    faults: Faults

    def check(self) -> None:
        """Raise `InvalidConfig` that names the part that is missing."""
        for part in fields(self):
            if getattr(self, part.name) is None:
                raise InvalidConfig("is missing; a runtime needs every one of its parts", path=part.name)
