"""How often this disk makes a small append durable: what every other figure has to be seen against."""

import os
import tempfile
import time
from pathlib import Path

PROBE_S = 0.7
APPEND = b"x" * 128


def syncs_per_s(folder: Path) -> float:
    """Append and fdatasync one after the other for a moment."""
    fd, name = tempfile.mkstemp(dir=folder, prefix="probe-")
    try:
        count = 0
        began = time.monotonic()
        while (elapsed := time.monotonic() - began) < PROBE_S:
            os.write(fd, APPEND)
            os.fdatasync(fd)
            count += 1
        return count / elapsed
    finally:
        os.close(fd)
        Path(name).unlink()
