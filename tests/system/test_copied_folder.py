"""Of two workers on copies of one state folder exactly one goes on. C117 D23."""

import shutil
import signal

import pytest

from tests.crash.rig import Rig, until
from tests.system.waiting import wait_done

pytestmark = [pytest.mark.crash, pytest.mark.slow]


def lived_on(rig: Rig) -> None:
    """Let a worker live, do something, and end."""
    worker = rig.start_worker("one")
    wait_done(rig, rig.submit("echo", {"said": "before"}))
    rig.wait_idle("one")
    worker.terminate()
    assert worker.wait_exit() == 0
    shutil.copytree(rig.state_of("one"), rig.folder / "copy")


def test_a_copy_of_a_folder_that_has_lived_on_is_refused(rig: Rig) -> None:
    lived_on(rig)
    owner = rig.start_worker("one")
    copy = rig.start_worker("one", state=rig.folder / "copy", ready=False)
    assert copy.wait_exit() == 2
    said = copy.err.read_text()
    assert "forked" in said or "copy" in said
    assert "Traceback" not in said
    assert owner.is_running
    rig.workers["one"] = owner
    assert wait_done(rig, rig.submit("echo", {"said": "after"})).result == "after"


def test_of_two_copies_that_start_together_exactly_one_goes_on(rig: Rig) -> None:
    lived_on(rig)
    both = [
        rig.start_worker("one", ready=False),
        rig.start_worker("one", state=rig.folder / "copy", ready=False),
    ]
    task = rig.submit("echo", {"said": "after"})
    assert wait_done(rig, task).result == "after"
    ended = until(lambda: [worker for worker in both if not worker.is_running], "one of them to end")
    assert [worker.exit_code for worker in ended] == [2]


def test_a_folder_that_is_in_use_is_refused_in_words(rig: Rig) -> None:
    """D29: the kernel's lock, not a file left behind, says who owns the folder."""
    owner = rig.start_worker("one")
    second = rig.start_worker("one", ready=False)
    assert second.wait_exit() == 2
    assert f"is in use by process {owner.pid}" in second.err.read_text()
    owner.send(signal.SIGKILL)
    owner.wait_exit()
    rig.start_worker("one")
