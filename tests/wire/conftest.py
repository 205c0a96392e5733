"""One served store for a module, and a fresh one where a test ends its server."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.wire.served import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """Return a server that the module's tests share."""
    with serving(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture
def fresh(tmp_path: Path) -> Generator[Served]:
    """Return a server for one test."""
    with serving(tmp_path) as server:
        yield server
