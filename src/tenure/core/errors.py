"""The error tree.

    TenureError
    ├─ Invalid                     the request itself is wrong: field, value, what would be right
    │  ├─ InvalidConfig            found while assembling, before anything is called
    │  └─ Malformed                no JSON, no UTF-8, or another media type
    ├─ Refused                     asked and answered: no. Asking again unchanged will not help
    │  ├─ NotFound · Taken · Blocked · Terminal · KeyConflict · StaleRevision · Forked
    │  ├─ LeaseLost                token or generation is not the newest
    │  ├─ NotRegistered            expired, displaced or deregistered: says which
    │  ├─ EffectMismatch           the same effect name with other params
    │  └─ Unauthenticated · Forbidden · TooLarge · MethodNotAllowed
    ├─ Unavailable                 could not ask, or no answer came
    │  ├─ StoreUnavailable         local or remote database; never retried as if it were the network
    │  │  └─ DiskFull              found before COMMIT: known not to have happened
    │  ├─ Busy                     more is under way than this process may hold at once
    │  └─ DeliveryFailed           the other side over the network; the only class the sender retries
    ├─ OutcomeUnknown              it may have happened; carries the subjects and their evidence
    ├─ CapabilityFailed            user code raised; the original is __cause__
    └─ InvariantBroken             a bug in Tenure: stop, keep the evidence, report

Code decides by class or field, never by text. `code` is the wire's problem code and stable; `retry` says what
repeating the same request may bring.
"""

from typing import ClassVar, Literal

Retry = Literal["never", "later", "reauth"]


class TenureError(Exception):
    """The root of every error that Tenure raises on purpose."""

    code: ClassVar[str] = "internal"
    retry: ClassVar[Retry] = "never"

    def __init__(self, text: str, *, reason: str | None = None) -> None:
        """Keep one sentence for people and, where a code has several causes, the reason as a word."""
        super().__init__(text)
        self.text = text
        self.reason = reason


class Invalid(TenureError):
    """The request itself is wrong; `path` names the field and the text says what would be right."""

    code = "invalid"

    def __init__(self, text: str, *, path: str = "", reason: str | None = None) -> None:
        """Name the field at fault by its path, for example `tasks[3].depends_on[0]`."""
        super().__init__(f"{path}: {text}" if path else text, reason=reason)
        self.path = path
        self.fault = text


class InvalidConfig(Invalid):
    """A setting is wrong; found while assembling, before anything is called."""


class Malformed(Invalid):
    """What was sent cannot be read at all: no JSON, no UTF-8, or another media type."""

    code = "malformed"


class Refused(TenureError):
    """Asked and answered: no. Asking again unchanged will not help."""


class NotFound(Refused):
    """The thing named is not there."""

    code = "not_found"


class Taken(Refused):
    """The task is held under a live lease by somebody."""

    code = "taken"


class Blocked(Refused):
    """The task may not start yet; `reason` is `dependency`, `not_due`, `limit` or `may_still_act`."""

    code = "blocked"


class Terminal(Refused):
    """The task is settled, or the subject decided; nothing changes it any more."""

    code = "terminal"


class KeyConflict(Refused):
    """The same id or key was used before with other content."""

    code = "key_conflict"


class StaleRevision(Refused):
    """The decision was based on an older revision than the present one; look again."""

    code = "stale_revision"


class Forked(Refused):
    """The state folder is a copy or an old backup of one that has lived on."""

    code = "forked"


class LeaseLost(Refused):
    """Token or generation is not the newest; stop before the next effect."""

    code = "lease_lost"


class NotRegistered(Refused):
    """The session has ended; `reason` is `expired`, `displaced` or `deregistered`."""

    code = "not_registered"

    def __init__(self, text: str, *, reason: str, displaced_by: str | None = None) -> None:
        """Say why the session ended and, if displaced, by which instance."""
        super().__init__(text, reason=reason)
        self.displaced_by = displaced_by


class EffectMismatch(Refused):
    """The effect's name was used before in this run with other params."""

    code = "mismatch"


class Cancelled(Refused):
    """A cancel was asked for; no further effect may begin."""

    code = "cancelled"


class Unauthenticated(Refused):
    """No credential, or one that is not known (any more)."""

    code = "unauthenticated"
    retry = "reauth"


class Forbidden(Refused):
    """The credential is good, but not for this."""

    code = "forbidden"


class TooLarge(Refused):
    """Beyond a documented limit of size."""

    code = "too_large"


class MethodNotAllowed(Refused):
    """The address is there, but not for this method."""

    code = "method_not_allowed"


class Unavailable(TenureError):
    """Could not ask, or no answer came."""

    code = "unavailable"
    retry = "later"


class StoreUnavailable(Unavailable):
    """A database cannot be used; certain that nothing was committed. Never treated as a network error."""


class DiskFull(StoreUnavailable):
    """The disk is full, found before COMMIT: known not to have happened (D28)."""


class Busy(Unavailable):
    """More is under way than this process may hold at once; ask again a little later."""

    code = "busy"


class DeliveryFailed(Unavailable):
    """The other side could not be reached or gave no readable answer; the only class the sender retries."""

    def __init__(self, text: str, *, retry_after_s: float | None = None) -> None:
        """Carry the other side's wish to be left alone for a while, if it stated one."""
        super().__init__(text)
        self.retry_after_s = retry_after_s


class OutcomeUnknown(TenureError):
    """It may have happened; `subjects` name what is in doubt. Nothing repeats it by itself."""

    code = "outcome_unknown"

    def __init__(self, text: str, *, subjects: tuple[str, ...] = ("attempt",)) -> None:
        """Name the effects in doubt, or `attempt` for the run as a whole."""
        super().__init__(text)
        self.subjects = subjects


class CapabilityFailed(TenureError):
    """User code raised; the original is `__cause__`. `Failed(text, retry=False)` skips further tries."""

    code = "failed"

    def __init__(self, text: str, *, again: bool = True) -> None:
        """Say what failed in one sentence and whether trying again can help."""
        super().__init__(text)
        self.again = again


class InvariantBroken(TenureError):
    """A bug in Tenure: stop, keep the evidence, report it."""
