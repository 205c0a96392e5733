"""Instants and leases: aware UTC datetimes from the store's clock, and the one rule of liveness."""

from datetime import UTC, datetime, timedelta

from tenure.core.errors import Invalid

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TTL_S_MIN = 0.5
TTL_S_MAX = 86_400.0
_MICROSECOND = timedelta(microseconds=1)


def is_live(now: datetime, until: datetime) -> bool:
    """Say whether something that ends at `until` still counts at `now`.

    Live while now < until: at the exact end it has ended, so old and new holder never overlap. C020.
    """
    return now < until


def after(now: datetime, seconds: float) -> datetime:
    """Return the instant so many seconds later."""
    return now + timedelta(seconds=seconds)


def to_micros(instant: datetime) -> int:
    """Return whole microseconds since 1970, as stores keep them."""
    return (instant - EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the instant that a store kept as microseconds since 1970."""
    return EPOCH + timedelta(microseconds=micros)


def check_ttl(path: str, ttl_s: float) -> float:
    """Return the length unchanged, or raise `Invalid`; zero is no lease and never means forever.

    Contracts: C006 C021 C044.
    """
    if not TTL_S_MIN <= ttl_s <= TTL_S_MAX:
        raise Invalid(f"{ttl_s:g} s is no ttl; use {TTL_S_MIN:g} to {TTL_S_MAX:g} s", path=path)
    return ttl_s
