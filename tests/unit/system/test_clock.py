"""The machine's clocks."""

from datetime import UTC

import pytest

from tenure.system.clock import SystemClock


def test_wall_time_is_aware_and_utc() -> None:
    assert SystemClock().wall().tzinfo is UTC


def test_boot_time_never_goes_back() -> None:
    clock = SystemClock()
    readings = [clock.boot() for _ in range(1000)]
    assert readings == sorted(readings)


@pytest.mark.anyio
@pytest.mark.parametrize("seconds", [-1.0, 0.0, 0.01])
async def test_sleeping_takes_its_time_and_no_time_is_no_error(seconds: float) -> None:
    clock = SystemClock()
    before = clock.boot()
    await clock.sleep(seconds)
    assert clock.boot() - before >= seconds
