import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.core.errors import DiskFull
from tenure.stores.sqlite.space import RESERVE_NAME, Space
from tenure.stores.sqlite.writer import Writer
from tests.unit.stores.sqlite.notes import WAIT_S, Notes, add, notes_in, open_notes

MIB = 2**20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", folder], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("mounting takes rights that this user does not have")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_the_reserve_has_real_blocks(tmp_path: Path) -> None:
    space = Space(tmp_path, reserve_bytes=MIB, floor_bytes=1)
    assert not space.is_held
    assert space.hold()
    assert (tmp_path / RESERVE_NAME).stat().st_blocks * 512 >= MIB
    assert space.hold()
    space.release()
    space.release()
    assert not space.is_held


def test_a_reserve_without_blocks_is_none(tmp_path: Path) -> None:
    space = Space(tmp_path, reserve_bytes=MIB, floor_bytes=1)
    with (tmp_path / RESERVE_NAME).open("wb") as file:
        file.truncate(MIB)
    assert not space.is_held
    assert space.hold()
    assert space.is_held


def test_a_disk_below_the_floor_is_full(tmp_path: Path) -> None:
    space = Space(tmp_path, floor_bytes=2**62)
    assert space.is_full()
    with pytest.raises(DiskFull, match=r"the disk under .* is full: \d+ KiB left; free space"):
        space.require()
    assert not space.hold()
    assert list(tmp_path.iterdir()) == []


def test_a_reserve_that_meets_the_end_of_the_disk_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", fail)
    assert not Space(tmp_path).hold()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_final_states_can_still_be_written_on_a_full_disk(small_disk: Path) -> None:
    """D28: found before the commit; the reserve makes room, and is made anew when there is room again."""
    space = Space(small_disk, reserve_bytes=2 * MIB, floor_bytes=MIB)
    assert space.hold()
    path = small_disk / "store.db"
    with Writer(lambda: open_notes(path), Notes, space=space) as writer:
        writer.submit(add("before")).result(WAIT_S)
        ballast = small_disk / "ballast"
        with ballast.open("wb") as file:
            file.write(bytes(space.free_bytes() - MIB // 2))
        with pytest.raises(DiskFull):
            writer.submit(add("refused")).result(WAIT_S)
        space.release()
        writer.submit(add("final")).result(WAIT_S)
        assert not space.hold()
        ballast.unlink()
        assert space.hold()
        writer.submit(add("after")).result(WAIT_S)
    assert writer.failed.result(WAIT_S) is None
    assert notes_in(path) == ["after", "before", "final"]


@pytest.mark.slow
def test_a_disk_that_fills_within_an_operation_is_known_too(small_disk: Path) -> None:
    """D28: pages that do not fit in memory are written before the commit, and fail known."""
    path = small_disk / "store.db"
    with Writer(lambda: open_notes(path), Notes) as writer:
        writer.submit(add("before")).result(WAIT_S)
        with pytest.raises(DiskFull):
            writer.submit(lambda notes: notes.fill("large", 10_000, 3000)).result(WAIT_S)
        writer.submit(add("after")).result(WAIT_S)
    assert notes_in(path) == ["after", "before"]


@pytest.mark.slow
def test_a_commit_that_would_not_fit_is_known_before_it(small_disk: Path) -> None:
    """D28: on a tight disk the pages are written ahead of the commit, whose own error would tell nothing."""
    path = small_disk / "store.db"
    space = Space(small_disk, reserve_bytes=2 * MIB, floor_bytes=MIB)
    assert space.hold()
    with Writer(lambda: open_notes(path), Notes, space=space) as writer:
        writer.submit(add("before")).result(WAIT_S)
        with pytest.raises(DiskFull):
            writer.submit(lambda notes: notes.fill("large", 2000, 3000)).result(WAIT_S)
        space.release()
        writer.submit(add("final")).result(WAIT_S)
    assert writer.failed.result(WAIT_S) is None
    assert notes_in(path) == ["before", "final"]
    assert space.hold()
