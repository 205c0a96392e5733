"""What this process may use."""

import os
from pathlib import Path

import psutil
import pytest

from tenure.system import capacity


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put this process into the control group `outer/inner` of a made-up tree."""
    own = tmp_path / "self"
    own.write_text("0::/outer/inner\n")
    root = tmp_path / "cgroup"
    (root / "outer" / "inner").mkdir(parents=True)
    monkeypatch.setattr(capacity, "_CGROUPS", root)
    monkeypatch.setattr(capacity, "_OWN_CGROUP", own)
    return root


def test_without_limits_it_is_the_machine(groups: Path) -> None:
    (groups / "outer" / "cpu.max").write_text("max 100000\n")
    (groups / "outer" / "memory.max").write_text("max\n")
    assert capacity.processors() == len(os.sched_getaffinity(0))
    assert capacity.memory_bytes() == psutil.virtual_memory().total


def test_the_lowest_limit_on_the_way_up_counts(groups: Path) -> None:
    (groups / "outer" / "cpu.max").write_text("50000 100000\n")
    (groups / "outer" / "inner" / "cpu.max").write_text("900000 100000\n")
    (groups / "outer" / "memory.max").write_text("2000000\n")
    (groups / "outer" / "inner" / "memory.max").write_text("1000000\n")
    assert capacity.capacity() == {"cpu_millis": 500.0, "memory_bytes": 1_000_000.0}


def test_this_machine_can_run_something() -> None:
    """C048."""
    assert capacity.capacity()["cpu_millis"] >= 1
    assert capacity.capacity()["memory_bytes"] >= 1
