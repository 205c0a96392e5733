import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tenure.core.errors import InvalidConfig
from tenure.stores.sqlite import folder as subject
from tenure.stores.sqlite.folder import LOCK_NAME, StateFolder, file_system_of
from tests.unit.stores.sqlite.children import child

MOUNTS = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 27 0:30 / /disks/share rw,relatime shared:1 - nfs4 server:/export rw
31 30 0:31 / /disks/share/local rw - xfs /dev/vdb rw
32 27 0:32 / /disks/me/my\040files rw - fuse.sshfs me@host: rw
33 27 0:33 / /over rw - ext4 /dev/vdc rw
34 33 0:34 / /over rw - cifs //host/over rw
""".strip()


def test_a_folder_is_made_private(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        with StateFolder.own(tmp_path / "deep" / "state") as owned:
            assert stat.S_IMODE(owned.path.stat().st_mode) == 0o700
            assert stat.S_IMODE((owned.path / LOCK_NAME).stat().st_mode) == 0o600
    finally:
        os.umask(old)


def test_a_second_owner_is_told_who_and_where(tmp_path: Path) -> None:
    """D29."""
    path = tmp_path / "state"
    with child("own", path) as owner:
        assert owner.hear() == "owned"
        with pytest.raises(InvalidConfig) as caught:
            StateFolder.own(path)
        assert str(caught.value) == (
            f"state folder {path} is in use by process {owner.process.pid}; stop it or use another folder"
        )
        owner.tell()
        assert owner.hear() == "given up"
        StateFolder.own(path).close()


def test_the_lock_dies_with_its_owner_although_the_file_stays(tmp_path: Path) -> None:
    """D29."""
    path = tmp_path / "state"
    with child("own", path) as owner:
        assert owner.hear() == "owned"
        owner.kill()
    assert (path / LOCK_NAME).read_text() == f"{owner.process.pid}\n"
    with StateFolder.own(path):
        assert (path / LOCK_NAME).read_text() == f"{os.getpid()}\n"


def test_a_program_that_the_owner_starts_does_not_keep_the_lock(tmp_path: Path) -> None:
    """D29: an executor that outlives its supervisor must not keep the next one out."""
    owned = StateFolder.own(tmp_path / "state")
    waiting = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(waiting, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False) as program:
        assert program.stdout is not None
        program.stdout.readline()
        owned.close()
        StateFolder.own(tmp_path / "state").close()


def test_the_same_process_cannot_own_it_twice(tmp_path: Path) -> None:
    with (
        StateFolder.own(tmp_path / "state"),
        pytest.raises(InvalidConfig, match=f"by process {os.getpid()}; stop it"),
    ):
        StateFolder.own(tmp_path / "state")


@pytest.mark.parametrize("mode", [0o750, 0o701, 0o777])
def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(mode)
    with pytest.raises(InvalidConfig, match=r"is open to other users .*; run: chmod 700"):
        StateFolder.own(tmp_path / "state")
    assert list((tmp_path / "state").iterdir()) == []


def test_another_users_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").mkdir(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(InvalidConfig, match=r"belongs to user \d+, not to 4711"):
        StateFolder.own(tmp_path / "state")


@pytest.mark.parametrize("made", ["file", "link"])
def test_what_is_no_folder_is_refused(tmp_path: Path, made: str) -> None:
    if made == "file":
        (tmp_path / "state").write_text("words")
    else:
        (tmp_path / "state").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InvalidConfig, match="cannot be used: File exists"):
        StateFolder.own(tmp_path / "state")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/var/lib/tenure", "ext4"),
        ("/disks/shared", "ext4"),
        ("/disks/share/state", "nfs4"),
        ("/disks/share/local/state", "xfs"),
        ("/disks/me/my files/state", "fuse.sshfs"),
        ("/over/state", "cifs"),
    ],
)
def test_the_file_system_is_the_nearest_mounts(path: str, found: str) -> None:
    assert file_system_of(Path(path), MOUNTS) == found


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D29: its locks do not surely end with the process."""
    (tmp_path / "mountinfo").write_text(f"1 0 0:1 / {tmp_path.resolve()} rw - nfs4 server:/export rw\n")
    monkeypatch.setattr(subject, "_MOUNTS", tmp_path / "mountinfo")
    with pytest.raises(
        InvalidConfig, match="is on nfs4, a network file system; use a folder on a local disk"
    ):
        StateFolder.own(tmp_path / "state")
