"""The machine's clocks."""

import sys
import time
from datetime import UTC, datetime

# Linux leaves suspend out of its monotonic clock and has another with it; macOS has it in the monotonic one.
_BOOT_CLOCK = time.CLOCK_BOOTTIME if sys.platform == "linux" else time.CLOCK_MONOTONIC


class SystemClock:
    """Wall clock, boot-time clock and waiting, as the kernel gives them."""

    def wall(self) -> datetime:
        """Return the wall clock's instant, aware, UTC."""
        return datetime.now(UTC)

    def boot(self) -> float:
        """Return seconds since boot, suspend included; never steps."""
        return time.clock_gettime(_BOOT_CLOCK)

    async def sleep(self, seconds: float) -> None:
        """Wait for so many seconds, at least until others have run."""
        from anyio import sleep  # noqa: PLC0415 - an executor reads the clock and does not wait by it

        await sleep(max(seconds, 0.0))
