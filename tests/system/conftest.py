"""A rig for each story: its own control plane, proxy and folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.rig import Rig
from tests.crash.world import World

APP = "tests.system.work:app"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with Rig(tmp_path / "rig", app=APP, gated=False) as made:
        yield made
    assert not made.left, f"left running: {made.left}"


@pytest.fixture
def world(rig: Rig) -> World:
    folder = rig.folder / "world"
    folder.mkdir()
    return World(folder)
