"""Process identities and the proof that no executor is left, with real processes. C103 C104 C122."""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import psutil
import pytest

from tenure.core.errors import InvariantBroken
from tenure.ports.local import ExecutorRow
from tenure.testing.processes import Processes
from tenure.worker import processes as proof
from tenure.worker import spawning
from tenure.worker.processes import MARKER, ExecutorsLock, kill_identified, kill_marked, start_time_of
from tenure.worker.spawning import Child, Exit
from tests.unit.worker.executors.hosting import BOOT, NODE, House, Told, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAITS = [sys.executable, "-c", "import threading; threading.Event().wait(60)"]


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(WAITS) as process:
        yield process
        process.kill()


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[ExecutorsLock]:
    lock = ExecutorsLock(tmp_path / "executors.lock", node_id=NODE, boot_id=BOOT, observer=Told())
    yield lock
    lock.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "PROOF_S", 0.2)


def row_of(pid: int, *, start_time: str | None = None, boot_id: str = BOOT, node: str = NODE) -> ExecutorRow:
    return ExecutorRow(pid, start_time or start_time_of(pid) or "", boot_id, f"{node}/marker")


def test_only_the_identified_process_is_killed(sleeper: "subprocess.Popen[bytes]") -> None:
    """C103: a pid alone is nobody."""
    assert not kill_identified(row_of(sleeper.pid, start_time="1"), BOOT)
    assert not kill_identified(row_of(sleeper.pid), "another boot")
    assert not kill_identified(ExecutorRow(2**22 + 1, "1", BOOT, "m"), BOOT)
    assert sleeper.poll() is None
    assert kill_identified(row_of(sleeper.pid), BOOT)
    assert sleeper.wait(10) == -signal.SIGKILL


def test_a_process_that_has_ended_has_no_start_time(sleeper: "subprocess.Popen[bytes]") -> None:
    assert start_time_of(sleeper.pid) == start_time_of(sleeper.pid) is not None
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert start_time_of(sleeper.pid) is None  # not reaped yet, and nobody any more
    assert not kill_identified(row_of(sleeper.pid, start_time="1"), BOOT)


def test_leftovers_are_found_by_their_marker() -> None:
    with subprocess.Popen(WAITS, env={**os.environ, MARKER: "node/left"}) as left:
        assert kill_marked(["node/other"]) == 0
        assert kill_marked(["node/left"]) == 1
        assert left.wait(10) == -signal.SIGKILL
    assert kill_marked([]) == 0


async def test_with_nobody_left_the_proof_is_had_at_once(lock: ExecutorsLock) -> None:
    assert await lock.none_left([])
    assert await lock.none_left([])


@pytest.mark.usefixtures("impatient")
async def test_a_paused_executor_refuses_the_proof_until_it_is_killed(tmp_path: Path) -> None:
    """C122: it holds the lock, whether it runs or not; what is remembered of it is enough to kill it."""
    house = House(tmp_path)
    await house.executors.manifest()
    [row] = house.rows
    os.kill(row.pid, signal.SIGSTOP)
    house.lock.close()  # as its supervisor's death does
    told = Told()
    later = ExecutorsLock(tmp_path / "executors.lock", node_id=NODE, boot_id=BOOT, observer=told)
    assert not await later.none_left([])
    assert told.names() == ["executors.left"]
    assert await later.none_left([row])
    assert start_time_of(row.pid) is None
    later.close()
    await house.executors.close()


async def test_on_another_machine_nothing_is_proved(lock: ExecutorsLock) -> None:
    """C122: they may still act there."""
    assert not await lock.none_left([row_of(1, node="elsewhere")])


async def test_another_boot_of_the_same_machine_proves_it(
    lock: ExecutorsLock, sleeper: "subprocess.Popen[bytes]"
) -> None:
    """C122: and whoever has the pid now is somebody else."""
    assert await lock.none_left([row_of(sleeper.pid, boot_id="before")])
    assert sleeper.poll() is None


async def test_the_lock_stays_shared_so_that_executors_inherit_it(
    lock: ExecutorsLock, tmp_path: Path
) -> None:
    assert await lock.none_left([])
    with (tmp_path / "executors.lock").open("rb") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize("is_paused", [False, True])
async def test_executors_share_the_fate_of_their_supervisor(tmp_path: Path, is_paused: bool) -> None:
    """C122: kill -9 of the supervisor ends them, paused or not; a new supervisor has proof."""
    (tmp_path / "state").mkdir()
    with Processes(tmp_path / "logs") as processes:
        supervisor = processes.start_module(
            "supervisor", "tests.unit.worker.executors.supervisor", str(tmp_path / "state"), "deaf"
        )
        said = supervisor.wait_ready()
        executor = psutil.Process(cast("int", said["pid"]))
        if is_paused:
            executor.suspend()
        supervisor.kill()
        executor.wait(10)
        lock = ExecutorsLock(
            tmp_path / "state" / "executors.lock", node_id=NODE, boot_id=BOOT, observer=Told()
        )
        row = ExecutorRow(executor.pid, cast("str", said["start_time"]), BOOT, cast("str", said["marker"]))
        assert await lock.none_left([row])
        lock.close()


async def child(code: str) -> Child:
    return Child([sys.executable, "-c", code], environment={}, output=2, descriptors=())


@pytest.mark.parametrize(
    ("code", "found", "says"),
    [
        ("pass", Exit(code=0), "ended by itself with code 0"),
        ("raise SystemExit(3)", Exit(code=3), "ended by itself with code 3"),
        ("import os; os.abort()", Exit(signal=6), "was killed by signal 6 (SIGABRT)"),
        ("import os; os.kill(os.getpid(), 9)", Exit(signal=9), "was killed by signal 9 (SIGKILL)"),
        ("import os; os.kill(os.getpid(), 40)", Exit(signal=40), "was killed by signal 40"),
    ],
)
async def test_how_a_child_ended_is_known(code: str, found: Exit, says: str) -> None:
    """B26."""
    exited = await (await child(code)).gone
    assert exited == found
    assert str(exited) == says


async def test_with_ignored_child_signals_an_end_is_never_a_success() -> None:
    """B26: the kernel then keeps no status, and Python would say 0."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        exited = await (await child("raise SystemExit(3)")).gone
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert exited in (Exit(code=3), Exit())
    assert exited != Exit(code=0)


async def test_without_descriptors_of_processes_a_thread_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS, with a newer Python and an older one."""
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    assert await (await child("raise SystemExit(3)")).gone == Exit(code=3)
    monkeypatch.setattr(spawning, "_CAN_LEAVE_UNREAPED", False)
    assert await (await child("raise SystemExit(3)")).gone == Exit(code=3)
    assert await (await child("import os; os.abort()")).gone == Exit(signal=6)


async def test_a_kill_for_memory_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's own count has risen meanwhile; it is a guess as good as can be had."""
    counts = iter([1, 2])
    monkeypatch.setattr(spawning, "_out_of_memory_kills", lambda: next(counts))
    exited = await (await child("import os; os.kill(os.getpid(), 9)")).gone
    assert (exited.out_of_memory, exited.cause) == (True, "out_of_memory")
    assert "ran out of memory" in str(exited)


async def test_our_own_kill_is_no_kill_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter([1, 2])
    monkeypatch.setattr(spawning, "_out_of_memory_kills", lambda: next(counts))
    started = await child("import threading; threading.Event().wait(60)")
    started.kill()
    assert await started.gone == Exit(signal=9)
    started.kill()


def test_the_kernels_count_can_be_read() -> None:
    assert spawning._out_of_memory_kills() is not None


def test_another_thread_may_not_start_an_executor() -> None:
    """C122: the kernel ends a child with the thread that started it."""
    errors: list[BaseException] = []

    def start() -> None:
        try:
            asyncio.run(child("pass"))
        except InvariantBroken as error:
            errors.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join(10)
    assert errors


async def test_what_a_child_started_in_its_session_ends_with_it(tmp_path: Path) -> None:
    """B26: a grandchild that goes on must not act in its name, nor hold anything open."""
    said = tmp_path / "pid"
    code = f"import subprocess; open({str(said)!r}, 'w').write(str(subprocess.Popen({WAITS!r}).pid))"
    await (await child(code)).gone
    grandchild = int(said.read_text())
    await until(lambda: start_time_of(grandchild) is None, "the grandchild is gone")
