"""Full disks and folders that cannot be written: told in words, nothing lost. D28."""

import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.core.effect import request_id
from tests.crash.rig import Rig, until
from tests.crash.world import World
from tests.system.waiting import HEARTBEAT, wait_began, wait_done

SIZE_MIB = 48
SHUTDOWN = 0x8004587D
"""The request that ext4 and XFS know: stop here."""
WITHOUT_LOG = 2

pytestmark = [
    pytest.mark.crash,
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("mount"), reason="only root can make a small disk"
    ),
]


def run(*command: str) -> None:
    """Run a program of the system, which must succeed."""
    subprocess.run(command, check=True, capture_output=True)


def mounted(rig: Rig, folder: Path, command: list[str]) -> Iterator[Path]:
    """Lend a mounted folder, and let go of it once no worker uses it any more."""
    tried = subprocess.run(command, check=False, capture_output=True)
    if tried.returncode:
        pytest.skip(f"no file system can be mounted here: {tried.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        for name, worker in rig.workers.items():
            if worker.is_running:
                rig.kill_worker(name)
        run("umount", "--lazy", str(folder))


@pytest.fixture
def disk(rig: Rig) -> Iterator[Path]:
    """A small disk of its own under the state folder of worker `one`."""
    folder = rig.state_of("one")
    folder.mkdir(mode=0o700)
    size = f"size={SIZE_MIB}m,mode=700"
    yield from mounted(rig, folder, ["mount", "-t", "tmpfs", "-o", size, "tenure-test", str(folder)])


def fill(folder: Path) -> Path:
    """Take all the room that is left."""
    ballast = folder / "ballast"
    with ballast.open("wb") as file:
        try:
            while True:
                file.write(bytes(2**16))
                file.flush()
        except OSError:
            pass
    return ballast


def test_a_full_disk_is_said_and_nothing_new_is_taken(rig: Rig, world: World, disk: Path) -> None:
    """Found before COMMIT it is known: no work is taken, heartbeats go on, and room makes it whole again."""
    worker = rig.start_worker("one")
    wait_done(rig, rig.submit("echo", {"said": "before"}))
    running = rig.submit("pause", {"folder": str(rig.folder / "world")})
    wait_began(rig, world, running)
    ballast = fill(disk)
    (rig.folder / "world" / "go").touch()
    # What runs ends all the same: its final state is written into the reserve.
    assert wait_done(rig, running).generation == 1
    refused = rig.submit("echo", {"said": "refused"})
    until(lambda: "full" in worker.err.read_text(), "the worker to say that its disk is full")
    beats = len(rig.proxy.requests("POST", HEARTBEAT))
    rig.proxy.wait_requests(beats + 2, "POST", HEARTBEAT, timeout_s=40)
    assert worker.is_running
    assert rig.client.task(refused).state != "done"
    assert "Traceback" not in worker.err.read_text()
    ballast.unlink()
    assert wait_done(rig, refused, 60).result == "refused"


def test_an_effect_does_not_begin_when_its_intent_cannot_be_saved(rig: Rig, world: World, disk: Path) -> None:
    """C078: the attempt is handed back and counted as nothing: the disk is this host's fault."""
    rig.start_worker("one")
    task_id = rig.submit("wait-recompute", {"folder": str(rig.folder / "world")})
    wait_began(rig, world, f"{task_id}:1")
    ballast = fill(disk)
    (rig.folder / "world" / "go-1").touch()
    handed_back = rig.wait_task(task_id, lambda task: task.interruptions > 0, "to be handed back")
    assert (handed_back.attempts, handed_back.losses) == (0, 0)
    assert world.count("act", request_id(task_id, 1, "act")) == 0
    ballast.unlink()
    for generation in range(2, 8):
        (rig.folder / "world" / f"go-{generation}").touch()
    wait_done(rig, task_id, 60)
    assert world.count("act", request_id(task_id, 1, "act")) == 1


def test_a_folder_that_cannot_be_written_is_refused_in_words(rig: Rig, disk: Path) -> None:
    run("mount", "-o", "remount,ro", str(disk))
    worker = rig.start_worker("one", ready=False)
    assert worker.wait_exit() == 2
    said = worker.err.read_text()
    assert "Read-only file system" in said
    assert str(disk) in said
    assert "Traceback" not in said


@pytest.fixture
def failing_disk(rig: Rig, tmp_path: Path) -> Iterator[Path]:
    """A file system in a file, which a test can cut off as a power cut would."""
    if not shutil.which("mkfs.ext4"):
        pytest.skip("mkfs.ext4 is not installed")
    image, folder = tmp_path / "image", rig.state_of("one")
    folder.mkdir(mode=0o700)
    with image.open("wb") as file:
        file.truncate(128 * 2**20)
    run("mkfs.ext4", "-q", str(image))
    yield from mounted(rig, folder, ["mount", "-o", "loop", str(image), str(folder)])


def test_a_disk_that_fails_ends_the_worker_and_loses_nothing(rig: Rig, failing_disk: Path) -> None:
    """An error at COMMIT has an unknown outcome: no further write, the process ends, the next start reads."""
    failing_disk.chmod(0o700)
    worker = rig.start_worker("one")
    wait_done(rig, rig.submit("echo", {"said": "before"}))
    rig.wait_idle("one")
    cut_off(failing_disk)
    task = rig.submit("echo", {"said": "after"})
    assert worker.wait_exit() == 1
    said = worker.err.read_text()
    assert "Traceback" not in said
    assert "tenure: " in said
    run("umount", str(failing_disk))
    run("mount", "-o", "loop", str(failing_disk.parent.parent / "image"), str(failing_disk))
    rig.start_worker("one")
    assert wait_done(rig, task).result == "after"


def cut_off(folder: Path) -> None:
    """Shut the file system down without writing its log: every later write and sync fails."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.ioctl(fd, SHUTDOWN, struct.pack("I", WITHOUT_LOG))
    finally:
        os.close(fd)
