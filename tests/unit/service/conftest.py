"""The desk fixture."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.unit.service.desk import Desk, opened


@pytest.fixture
def desk(tmp_path: Path) -> Generator[Desk]:
    """Return a desk over a new SQLite store."""
    with opened(tmp_path) as desk:
        yield desk
