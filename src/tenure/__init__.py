"""Tenure, a durable worker runtime: the names that its users write.

Each name is loaded when it is first used, so that an executor, which starts for every attempt that needs its
own, does not pay for a client, and a client not for an executor.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tenure.app.app import App
    from tenure.app.attempt import AsyncAttempt, Attempt
    from tenure.app.errors import ABSENT, Absent, Failed, NotApplied
    from tenure.client.client import Client
    from tenure.client.outcomes import TaskCancelled, TaskFailed, TaskUnknown
    from tenure.core.capability import Recovery
    from tenure.core.errors import (
        Cancelled,
        DeliveryFailed,
        EffectMismatch,
        Forbidden,
        Invalid,
        KeyConflict,
        LeaseLost,
        NotFound,
        OutcomeUnknown,
        Refused,
        TenureError,
        Unauthenticated,
        Unavailable,
    )

__all__ = [
    "ABSENT",
    "Absent",
    "App",
    "AsyncAttempt",
    "Attempt",
    "Cancelled",
    "Client",
    "DeliveryFailed",
    "EffectMismatch",
    "Failed",
    "Forbidden",
    "Invalid",
    "KeyConflict",
    "LeaseLost",
    "NotApplied",
    "NotFound",
    "OutcomeUnknown",
    "Recovery",
    "Refused",
    "TaskCancelled",
    "TaskFailed",
    "TaskUnknown",
    "TenureError",
    "Unauthenticated",
    "Unavailable",
]

_HOMES: Final = {
    "tenure.app.app": ("App",),
    "tenure.app.attempt": ("AsyncAttempt", "Attempt"),
    "tenure.app.errors": ("ABSENT", "Absent", "Failed", "NotApplied"),
    "tenure.client.client": ("Client",),
    "tenure.client.outcomes": ("TaskCancelled", "TaskFailed", "TaskUnknown"),
    "tenure.core.capability": ("Recovery",),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}
_HOME_OF_THE_OTHERS: Final = "tenure.core.errors"


def __getattr__(name: str) -> object:
    """Load a public name from its home when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'tenure' has no attribute {name!r}")
    value: object = getattr(import_module(_HOME_OF.get(name, _HOME_OF_THE_OTHERS)), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
