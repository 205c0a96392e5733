from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.stores.sqlite.local.store import SqliteLocalStore, open_local_store
from tests.support.worker.clock import VirtualClock

RESERVE_BYTES = 65_536


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def store(tmp_path: Path, clock: VirtualClock) -> Iterator[SqliteLocalStore]:
    with open_local_store(tmp_path / "state", clock, reserve_bytes=RESERVE_BYTES) as opened:
        yield opened
