from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.stores.sqlite_control.making import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    with made.store:
        yield made
