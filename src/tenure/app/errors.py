"""What a capability raises, and the one value that says "it is not there"."""

from typing import Final, final

from tenure.core.errors import CapabilityFailed, TenureError


class Failed(CapabilityFailed):
    """A failed try, said on purpose; `retry=False` skips the remaining tries."""

    def __init__(self, text: str, *, retry: bool = True) -> None:
        """Say in one sentence what failed."""
        super().__init__(text, again=retry)


class NotApplied(TenureError):
    """Raised by the `apply` of an effect: certainly nothing happened outside."""

    code = "not_applied"


@final
class Absent:
    """The type of `ABSENT`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()
"""What the `find` of an effect returns when it is certain that the effect is not there; None is no answer."""
