from pathlib import Path

import pytest

from tenure.core.capability import Recovery
from tests.support.worker.bench import Bench
from tests.support.worker.executor import CoroutineExecutor, Run, add


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "state")


async def wait(run: Run) -> object:
    """Wait until told to stop."""
    await run.until_told()
    return None


@pytest.fixture
def executor() -> CoroutineExecutor:
    """An executor that can add, and one capability per rule that waits."""
    made = CoroutineExecutor()
    made.add("add", add)
    for recovery in Recovery:
        made.add(f"wait-{recovery}", wait, recovery)
    return made
