"""The pulse: one row touched each second, by which takeover knows whether it may judge (D19)."""

from datetime import datetime

from tenure.core.calm import Beat, is_calm, judge_pulse
from tenure.ports.clock import Clock
from tenure.ports.pulse import Pulse
from tenure.ports.store import Transaction


def beat(tx: Transaction, clock: Clock, server: str) -> Pulse:
    """Touch the pulse, and lower every lease if the clock stepped back."""
    before = tx.pulse.read()
    now = Beat(tx.now(), clock.boot(), server)
    last = None if before is None else Beat(before.at, before.boot_s, before.server)
    steady = judge_pulse(last, None if before is None else before.calm_since, now)
    pulse = Pulse(now.at, now.boot_s, steady.calm_since, server)
    tx.pulse.write(pulse)
    if steady.stepped_back:
        tx.upkeep.lower_leases()
    return pulse


def is_calm_for(tx: Transaction, now: datetime, length_s: float) -> bool:
    """Say whether calm has lasted so long at the store; without a pulse there is nothing to wait for.

    A pulse that has gone stale is no calm: whoever judges in its absence waits for a server's next beat.
    """
    pulse = tx.pulse.read()
    if pulse is None:
        return True
    fresh = abs((now - pulse.at).total_seconds()) < 2.0
    return fresh and is_calm(pulse.calm_since, now, length_s)
