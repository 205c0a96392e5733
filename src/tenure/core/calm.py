"""Whether the control plane may take over: only after one TTL of steady life (D19)."""

from datetime import datetime, timedelta

from msgspec import Struct

GAP_S = 2.0
DRIFT_S = 1.0


class Beat(Struct, frozen=True):
    """One touch of the pulse: the store's instant, the boot-time reading, and which process start made it."""

    at: datetime
    boot_s: float
    server: str


class Steadiness(Struct, frozen=True):
    """Since when all has been steady; `stepped_back`: the wall clock went back, leases must be lowered."""

    calm_since: datetime
    stepped_back: bool


def judge_pulse(before: Beat | None, calm_since: datetime | None, beat: Beat) -> Steadiness:
    """Say since when the control plane has been calm, given the pulse before.

    A gap of 2 s or more, an instant in the future, or wall and boot-time clocks apart by more than 1 s since
    the last pulse of the same process breaks calm; so does a store without a fresh pulse.
    """
    if before is None or calm_since is None:
        return Steadiness(beat.at, stepped_back=False)
    gap = (beat.at - before.at).total_seconds()
    if gap < 0:
        return Steadiness(beat.at, stepped_back=True)
    drift = gap - (beat.boot_s - before.boot_s) if before.server == beat.server else 0.0
    if gap >= GAP_S or abs(drift) > DRIFT_S:
        return Steadiness(beat.at, stepped_back=drift < -DRIFT_S)
    return Steadiness(calm_since, stepped_back=False)


def is_calm(calm_since: datetime | None, now: datetime, length_s: float) -> bool:
    """Say whether calm has lasted so long; a store that never had a pulse takes over at once."""
    return calm_since is None or now - calm_since >= timedelta(seconds=length_s)
