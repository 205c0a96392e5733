"""What a capability's function says of itself to whoever submits it."""

from collections.abc import Mapping
from typing import Final, Protocol, runtime_checkable

from tenure.core.errors import Invalid

MARK: Final = "__tenure__"
"""The attribute of a decorated function that holds its declaration."""


class Signed(Protocol):
    """A capability's function as its input and its result."""

    def write(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Return the JSON input for arguments by name, or raise `Invalid` naming the one at fault."""
        ...

    def read_result(self, value: object) -> object:
        """Return a JSON result as the function's return type."""
        ...


@runtime_checkable
class Declared(Protocol):
    """A capability's declaration, as far as a submission needs it."""

    name: str
    version: str

    @property
    def signature(self) -> Signed:
        """What it takes and returns."""
        ...


def declaration(function: object) -> Declared:
    """Return what a function declares, or raise `Invalid` if it is no capability."""
    found: object = getattr(function, MARK, None)
    if not isinstance(found, Declared):
        name = getattr(function, "__name__", repr(function))
        raise Invalid(f"{name} is no capability; decorate it with @app.capability, or give its name")
    return found
