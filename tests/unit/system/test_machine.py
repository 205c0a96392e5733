"""What names this machine and this boot of it."""

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.core.ids import check_id
from tenure.system import machine


@pytest.fixture(autouse=True)
def afresh() -> Iterator[None]:
    machine.node_id.cache_clear()
    yield
    machine.node_id.cache_clear()


@pytest.mark.skipif(sys.platform != "linux", reason="another kernel says it in another way")
def test_the_boot_id_is_the_kernels() -> None:
    assert machine.boot_id() == str(uuid.UUID(Path("/proc/sys/kernel/random/boot_id").read_text().strip()))


def test_the_node_id_is_an_id_and_does_not_give_the_machines_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "machine-id"
    own.write_text("0123456789abcdef\n")
    monkeypatch.setattr(machine, "_MACHINE_IDS", (tmp_path / "none", own))
    name = machine.node_id()
    assert check_id("node_id", name) == name
    assert "0123456789abcdef" not in name


@pytest.mark.parametrize("content", [None, "", "uninitialized\n"])
def test_a_machine_without_an_id_is_named_after_its_host(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "machine-id"
    if content is not None:
        own.write_text(content)
    monkeypatch.setattr(machine, "_MACHINE_IDS", (own,))
    monkeypatch.setattr("socket.gethostname", lambda: "render-7.example")
    assert machine.node_id() == "host-render-7"
