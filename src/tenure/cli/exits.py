"""Exit codes, and what of an error is said to people: one line that says what to do."""

import sys
from collections.abc import Callable
from enum import IntEnum
from typing import Final

from tenure.core.errors import (
    DeliveryFailed,
    Forbidden,
    Forked,
    Invalid,
    InvariantBroken,
    KeyConflict,
    NotFound,
    OutcomeUnknown,
    Refused,
    StoreUnavailable,
    TenureError,
    TooLarge,
    Unauthenticated,
    Unavailable,
)


class Exit(IntEnum):
    """How a verb ends."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    NOT_AUTHORISED = 4
    UNKNOWN = 5
    INTERRUPTED = 130


_BY_CLASS: Final[tuple[tuple[type[TenureError], Exit], ...]] = (
    # The first that fits decides, so a class stands before those above it in the tree.
    (Invalid, Exit.USAGE),
    (NotFound, Exit.USAGE),
    (KeyConflict, Exit.USAGE),
    (TooLarge, Exit.USAGE),
    (Forked, Exit.USAGE),
    (Unauthenticated, Exit.NOT_AUTHORISED),
    (Forbidden, Exit.NOT_AUTHORISED),
    (StoreUnavailable, Exit.FAILED),  # This machine's own disk or store, not the way to a control plane
    (DeliveryFailed, Exit.UNREACHABLE),
    (Unavailable, Exit.UNREACHABLE),
    (OutcomeUnknown, Exit.UNKNOWN),
)


def exit_of(error: TenureError) -> Exit:
    """Return the exit code of an error; asked and refused is a failure of what was asked."""
    return next((code for cls, code in _BY_CLASS if isinstance(error, cls)), Exit.FAILED)


def sentence(error: BaseException) -> str:
    """Return an error as one line; a bug says how to see more of it."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, InvariantBroken):
        return f"this is a bug in Tenure: {text}; keep the store and the state folder, and report it"
    return text


def hint(error: BaseException) -> str | None:
    """Return a second line where it adds the way out."""
    if isinstance(error, Unauthenticated):
        return "set TENURE_TOKEN to a credential that the server knows, or work in the folder of its store"
    if isinstance(error, DeliveryFailed) and error.__cause__ is not None and error.reason is None:
        return "start one with `tenure server`, or set TENURE_URL to where it is"
    return None


def say_error(error: BaseException) -> None:
    """Print the line of an error, and its hint, to standard error."""
    print(f"tenure: {sentence(error)}", file=sys.stderr)
    more = hint(error)
    if more is not None:
        print(f"hint: {more}", file=sys.stderr)


def one_of_many(act: Callable[[], Exit]) -> Exit:
    """Do it; a refusal is said and ends this one only, while what ends them all goes on upwards."""
    try:
        return act()
    except (Refused, OutcomeUnknown) as error:
        if isinstance(error, Unauthenticated):
            raise
        say_error(error)
        return exit_of(error)
