"""A supervisor that can be killed: starts one executor on the main thread, gives it work, and waits.

python -m tests.unit.worker.executors.supervisor FOLDER CAPABILITY
"""

import asyncio
import json
import sys
from pathlib import Path

from tests.unit.worker.executors.hosting import House, start, until


async def main(folder: Path, capability: str) -> None:
    """Say the identity of the executor once its code runs."""
    house = House(folder)
    assert await house.lock.none_left([])
    await house.executors.manifest()
    started = folder / "started"
    task = start(house, house.work(capability, started=str(started)))
    await until(started.exists, "the code runs")
    [row] = house.rows
    sys.stdout.write(json.dumps({"pid": row.pid, "start_time": row.start_time, "marker": row.marker}) + "\n")
    sys.stdout.flush()
    await task


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
