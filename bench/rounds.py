"""One round: a new pair, its idle latency and memory, then a full board that it drains."""

import contextlib
import socket
import tempfile
import time
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from statistics import quantiles

from msgspec import Struct

from bench import honesty
from bench.disk import syncs_per_s
from bench.plant import WORKER, Plant
from tenure.core.task import TaskSpec

BULK = 1_000
WARM_UP = 300
ANSWER_S = 30.0


class Latency(Struct, frozen=True):
    """Milliseconds from the call of `submit` to the first line of the handler, on an idle pair."""

    p50_ms: float
    p99_ms: float


class Drain(Struct, frozen=True):
    """A full board, drained; processor milliseconds per task by process, memory by process."""

    tasks: int
    seconds: float
    per_s: float
    submit_per_s: float
    cpu_ms: dict[str, float]
    rss_idle_mib: dict[str, float]
    rss_after_mib: dict[str, float]
    granted_again: int

    @property
    def cpu_ms_total(self) -> float:
        """Over all processes."""
        return sum(self.cpu_ms.values())


class Round(Struct, frozen=True):
    """What one round came to; `refusal` is the answer to the stale completion."""

    syncs_per_s: float
    drain: Drain
    latency: Latency | None = None
    refusal: str = ""
    settings: dict[str, object] = {}


@contextlib.contextmanager
def new_folder() -> Generator[Path]:
    """Give a folder on the disk of temporary files, and remove it."""
    with tempfile.TemporaryDirectory(prefix="tenure-bench-") as name:
        yield Path(name)


def shared_round(tasks: int, singles: int, slots: int) -> Round:
    """Measure latency, then a drain, with handlers that share one executor."""
    with new_folder() as folder:
        syncs = syncs_per_s(folder)
        with Plant(folder, slots) as plant:
            warm_up(plant, "noop")
            latency = idle_latency(plant, singles)
            drained = drain(plant, "noop", tasks)
            refusal = honesty.check_fencing(plant)
            plant.stop()
        settings = honesty.check_durable(plant.store)
        return Round(syncs, drained, latency, refusal, settings)


def alone_round(tasks: int, slots: int) -> Round:
    """Measure a drain with one executor process per running attempt."""
    with new_folder() as folder:
        syncs = syncs_per_s(folder)
        with Plant(folder, slots) as plant:
            warm_up(plant, "noop-alone")
            drained = drain(plant, "noop-alone", tasks)
            plant.stop()
        return Round(syncs, drained)


def warm_up(plant: Plant, capability: str) -> None:
    """Have a few executed, so that modules are loaded and caches filled."""
    plant.client.submit_many([TaskSpec(capability=capability) for _ in range(WARM_UP)])
    plant.wait_executions(WARM_UP)
    plant.wait_settled()


def idle_latency(plant: Plant, singles: int) -> Latency:
    """Submit one by one, each after the one before has begun."""
    took_ms: list[float] = []
    address = str(plant.folder / "told")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(address)
        told.settimeout(ANSWER_S)
        for _ in range(singles):
            submitted_ns = time.monotonic_ns()
            plant.client.submit_many([TaskSpec(capability="tell", input={"address": address})])
            took_ms.append((int(told.recv(64)) - submitted_ns) / 1e6)
    plant.wait_settled()
    cuts = quantiles(took_ms, n=100)
    return Latency(p50_ms=cuts[49], p99_ms=cuts[98])


def fill(plant: Plant, capability: str, tasks: int) -> set[str]:
    """Submit so many in bulk, and return their ids."""
    specs = [TaskSpec(capability=capability)] * tasks
    bulks = (specs[start : start + BULK] for start in range(0, tasks, BULK))
    return {submitted.id for bulk in bulks for submitted in plant.client.submit_many(bulk)}


def drain(plant: Plant, capability: str, tasks: int) -> Drain:
    """Fill the board while the worker is marked drained, take the mark away, and wait for the last one.

    From the moment before the mark goes to the last `finished_at` of the store.
    """
    executed = plant.executions()
    plant.client.drain(WORKER)
    began = time.monotonic()
    ids = fill(plant, capability, tasks)
    submitting_s = time.monotonic() - began
    before, released_at = plant.usage(), datetime.now(UTC)
    plant.client.drain(WORKER, drained=False)
    plant.wait_executions(executed + tasks)
    plant.wait_settled()
    after = plant.usage()
    settled = [task for task in plant.client.tasks(capability=capability) if task.id in ids]
    again = honesty.check_exactly_once(plant, settled, plant.executions() - executed)
    seconds = (max(t.finished_at for t in settled if t.finished_at) - released_at).total_seconds()
    return Drain(
        tasks=tasks,
        seconds=seconds,
        per_s=tasks / seconds,
        submit_per_s=tasks / submitting_s,
        cpu_ms=after.cpu_ms_since(before, tasks),
        rss_idle_mib=before.rss_mib,
        rss_after_mib=after.rss_mib,
        granted_again=again,
    )
