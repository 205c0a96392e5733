"""docs/errors.md: every error class with its code, what it means and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenure.core.errors import TenureError
from tools.pages.markdown import first_paragraph, table

if TYPE_CHECKING:
    from collections.abc import Iterator

INTRO = """# Errors

Code decides by class or by `code`, never by an error's text. `code` is what the protocol's problem documents
carry; `retry` says what sending the same request again may bring: `never` the same answer, `later` perhaps
another one, `reauth` another one after a fresh credential. Indentation shows which class is a kind of which.

"""

CURES: dict[str, str] = {
    "TenureError": "Catch it to catch everything that Tenure raises on purpose.",
    "Invalid": "Change the named field as the text says; nothing was stored.",
    "InvalidConfig": "Change the named setting; nothing was started.",
    "Malformed": "Send JSON in UTF-8 with the media type `application/json`; nothing was stored.",
    "Refused": "Read the text: the answer stands until something else changes.",
    "NotFound": "Compare the id; a pruned task is no longer there either.",
    "Taken": "Leave the task to its holder, or ask again when its lease has ended.",
    "Blocked": "Wait for what `reason` names.",
    "Terminal": "Read the result; only an explicit retry opens the task again.",
    "KeyConflict": "Use another key for other content, or send the first content again.",
    "StaleRevision": "Read the present state and decide again.",
    "Forked": "Use the folder that lived on, or start with an empty one.",
    "LeaseLost": "Stop before the next effect; whoever holds the newer generation goes on.",
    "NotRegistered": "Register again, unless `reason` is `displaced`: another instance has the name now.",
    "EffectMismatch": "Give the changed effect another name, or the old params.",
    "Cancelled": "End the attempt; what has been applied stays recorded.",
    "Unauthenticated": "Give a credential that the server knows, in `TENURE_TOKEN` or a token file.",
    "Forbidden": "Use a credential whose role allows this.",
    "TooLarge": "Send less at once, or put the content elsewhere and send where it is.",
    "MethodNotAllowed": "Use a method that the answer's `Allow` header names.",
    "Unavailable": "Ask again later.",
    "StoreUnavailable": "Mend what the text names: path, permission, lock, disk.",
    "DiskFull": "Free space; nothing new is taken meanwhile and what is held is kept.",
    "Busy": "Ask again after the seconds that `Retry-After` names; workers do so by themselves.",
    "DeliveryFailed": "Nothing to do: the sender repeats it, and the other side counts it once.",
    "OutcomeUnknown": "Look at `tenure unknown`; give evidence or a verdict with `tenure reconcile`.",
    "CapabilityFailed": "Mend the capability; the original error is its cause.",
    "InvariantBroken": "Stop, keep the state folder and the store, and report it.",
}


def tree(cls: type[TenureError], depth: int = 0) -> Iterator[tuple[int, type[TenureError]]]:
    """Walk a class and those below it, in the order in which they are written."""
    yield depth, cls
    for below in cls.__subclasses__():
        if below.__module__ == TenureError.__module__:
            yield from tree(below, depth + 1)


def page() -> str:
    """Make the page; an error without advice is a mistake that `CURES` shows as a KeyError."""
    rows = [
        (
            "&nbsp;" * 4 * depth + f"`{cls.__name__}`",
            f"`{cls.code}`",
            cls.retry,
            first_paragraph(cls.__doc__),
            CURES[cls.__name__],
        )
        for depth, cls in tree(TenureError)
    ]
    return INTRO + table(("class", "code", "retry", "means", "what to do"), rows)
