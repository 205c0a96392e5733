"""Executors with all that they are given, and a beat beside them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.worker.executors.hosting import Beat, House


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    house = House(tmp_path)
    await house.lock.none_left([])
    await house.executors.manifest()
    yield house
    await house.close()


@pytest.fixture
async def beat() -> AsyncIterator[Beat]:
    beat = Beat()
    task = asyncio.create_task(beat.run())
    yield beat
    task.cancel()
