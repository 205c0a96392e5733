"""Small private files."""

import os
from pathlib import Path

import pytest

from tenure.system.files import read_private, write_private


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_what_was_written_is_read_and_private(tmp_path: Path) -> None:
    path = tmp_path / "a.token"
    write_private(path, "one\n")
    write_private(path, "two\n")
    assert read_private(path) == "two\n"
    assert mode(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_the_umask_does_not_open_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_private(tmp_path / "a", "x")
    finally:
        os.umask(before)
    assert mode(tmp_path / "a") == 0o600


def test_a_file_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert read_private(tmp_path / "a") is None


def test_a_file_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    path.chmod(0o644)
    assert read_private(path) == "x"
    assert mode(path) == 0o600


def test_a_link_is_followed_neither_to_read_nor_to_write(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("keep")
    (tmp_path / "a").symlink_to(other)
    with pytest.raises(OSError, match="a"):
        read_private(tmp_path / "a")
    write_private(tmp_path / "a", "mine")
    assert other.read_text() == "keep"
    assert not (tmp_path / "a").is_symlink()


def test_a_folder_that_is_not_there_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_private(tmp_path / "none" / "a", "x")
    assert not (tmp_path / "none").exists()


def test_a_failed_write_leaves_the_old_text_and_no_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    write_private(path, "old")

    def full(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="disk full"):
        write_private(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
