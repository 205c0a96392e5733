"""Capabilities: a named, versioned kind of work with its declared recovery rule."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Literal

from msgspec import Struct


class Recovery(StrEnum):
    """What may happen to a capability's code between effects after a crash; there is no default (D22).

    RECOMPUTE runs again from the same input. RESUME continues from its checkpoint, within its stated window.
    QUERY acts only through effects and asks what became of each. MANUAL leaves the decision to a person.
    """

    RECOMPUTE = "recompute"
    RESUME = "resume"
    QUERY = "query"
    MANUAL = "manual"

    @property
    def may_reenter(self) -> bool:
        """Say whether the code may run again by itself after a crash."""
        return self is not Recovery.MANUAL


Isolation = Literal["process", "shared"]


class Capability(Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a worker's manifest, as it registers it."""

    name: str
    version: str
    recovery: Recovery
    window: str = ""
    input_schema: dict[str, object] | None = None


class Offer(Struct, frozen=True):
    """What a worker can run now: the facts that dispatch matches tasks against."""

    capabilities: tuple[Capability, ...]
    queues: tuple[str, ...]
    labels: Mapping[str, str]
    resources: Mapping[str, float]

    def find(self, name: str, version: str | None) -> Capability | None:
        """Return the declared capability of that name and version (None: any), or None."""
        return match_capability(self.capabilities, name, version)


def match_capability(declared: Iterable[Capability], name: str, version: str | None) -> Capability | None:
    """Return the first declared capability that serves name and version (None: any version)."""
    for capability in declared:
        if capability.name == name and version in (None, capability.version):
            return capability
    return None


def meets(requires: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Say whether labels satisfy requirements; `*` asks only that the label is present."""
    return all(key in labels and value in ("*", labels[key]) for key, value in requires.items())


def fits(resources: Mapping[str, float], free: Mapping[str, float]) -> bool:
    """Say whether each named amount is still free; a resource that the worker does not name is not there."""
    return all(free.get(name, 0) >= amount for name, amount in resources.items())
