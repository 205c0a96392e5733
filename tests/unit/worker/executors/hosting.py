"""A supervisor's side in memory: what real executors are started with and answered by."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest

from tenure.core.capability import Isolation
from tenure.core.checkpoint import Progress
from tenure.core.effect import request_id
from tenure.core.execution import BeginEffect, EffectStanding, EndEffect, Finished, Saved, Work
from tenure.ports.executor import ExecutorDied
from tenure.ports.local import ExecutorRow
from tenure.system.environment import inherited_environment
from tenure.system.ids import SystemIds
from tenure.worker.executors import ExecutorPlan, Executors, Remembering
from tenure.worker.processes import ExecutorsLock

ROOT = Path(__file__).resolve().parents[4]
APP = "tests.unit.worker.executors.executing:app"
NODE = "node-1"
BOOT = "boot-1"
FACT_S = 20.0
LOOK_S = 0.005


class Told:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []

    def tell(self, name: str, **fields: object) -> None:
        self.events.append((name, fields))

    def names(self) -> list[str]:
        return [name for name, _ in self.events]


class Answers:
    """An execution whose ledger is in memory."""

    def __init__(self, task_id: str = "task") -> None:
        self.task_id = task_id
        self.standing = "go"
        self.asked: list[BeginEffect] = []
        self.ended: list[EndEffect] = []
        self.steps: dict[str, Saved] = {}
        self.checkpoints: list[tuple[object, bool]] = []
        self.made: list[Progress] = []
        self.order: list[str] = []
        self.error: Exception | None = None
        self.gate: asyncio.Event | None = None

    async def begin_effect(self, wanted: BeginEffect) -> EffectStanding:
        self.asked.append(wanted)
        await self._enter("begin")
        its_id = request_id(self.task_id, 1, wanted.name)
        return EffectStanding("go" if wanted.absent else self.standing, its_id, predecessor="ended")  # pyright: ignore[reportArgumentType] - a test sets one of its words

    async def end_effect(self, ended: EndEffect) -> None:
        await self._enter("end")
        self.ended.append(ended)

    async def find_step(self, name: str) -> Saved | None:
        await self._enter("find")
        return self.steps.get(name)

    async def save_step(self, saved: Saved) -> None:
        await self._enter("step")
        self.steps[saved.name] = saved

    async def checkpoint(self, value: object, portable: bool) -> None:
        await self._enter("checkpoint")
        self.checkpoints.append((value, portable))

    def progress(self, progress: Progress) -> None:
        self.made.append(progress)
        self.order.append("progress")

    async def ensure_lease(self, seconds: float) -> bool:
        await self._enter("lease")
        return True

    async def _enter(self, name: str) -> None:
        self.order.append(name)
        if self.error is not None:
            raise self.error
        if self.gate is not None:
            await self.gate.wait()


class House:
    """Executors with all that they are given; close it at the end."""

    def __init__(self, folder: Path, app: str = APP, *, slots: int = 2, output: int = 2) -> None:
        self.told = Told()
        self.rows: list[ExecutorRow] = []
        self.forgotten: list[ExecutorRow] = []
        self.lock = ExecutorsLock(folder / "executors.lock", node_id=NODE, boot_id=BOOT, observer=self.told)
        environment = {**inherited_environment(), "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
        self.plan = ExecutorPlan(
            app,
            slots,
            environment,
            "tenure.system.faults:faults_of",
            "tenure.system.clock:SystemClock",
            output=output,
        )
        self.executors = Executors(
            self.plan, self.lock, Remembering(self._save, self._forget), SystemIds(), self.told
        )
        self.on_save: Callable[[ExecutorRow], object] = self.rows.append
        self._number = 0

    def limit_import(self, seconds: float) -> None:
        """Make the bound on imports one that a test can wait for."""
        self.executors._plan = msgspec.structs.replace(self.plan, import_s=seconds)

    async def _save(self, row: ExecutorRow) -> None:
        await asyncio.sleep(0)
        self.on_save(row)

    async def _forget(self, row: ExecutorRow) -> None:
        self.forgotten.append(row)

    def work(
        self,
        capability: str,
        isolation: Isolation = "process",
        /,
        *,
        name: str = "",
        given: Mapping[str, object] | None = None,
        **also_given: object,
    ) -> Work:
        """Make work for a capability; `name` is the task's."""
        self._number += 1
        name = name or f"t{self._number}"
        input_ = {**(given or {}), **also_given}
        return Work(f"{name}.1", name, 1, 1, 1, capability, "1", input_, isolation)

    async def run(
        self,
        capability: str,
        isolation: Isolation = "process",
        answers: Answers | None = None,
        /,
        **given: object,
    ) -> object:
        """Execute and return the result; anything but success is an error."""
        finished = await self.executors.run(
            self.work(capability, isolation, given=given), answers or Answers()
        )
        assert finished.outcome == "succeeded", finished
        return finished.result

    async def close(self) -> None:
        """End all executors."""
        await self.executors.close()
        self.lock.close()


async def until(fact: Callable[[], object], what: str) -> None:
    """Wait for a fact about other processes, with a bound."""
    bound = time.monotonic() + FACT_S
    while not fact():
        assert time.monotonic() < bound, f"waited {FACT_S} s until {what}"
        await asyncio.sleep(LOOK_S)  # work: nobody tells; it is looked for


LATE_S = 0.25
"""Far above what two busy cores make of a beat, far below what a lease allows."""


class Beat:
    """Measures how late the supervisor's loop is, as a keeper on it would be."""

    def __init__(self) -> None:
        self.latest_s = 0.0

    async def run(self) -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.01)  # work: the beat itself
            self.latest_s = max(self.latest_s, time.monotonic() - began - 0.01)


def start(house: House, work: Work, answers: Answers | None = None) -> "asyncio.Task[Finished]":
    return asyncio.create_task(house.executors.run(work, answers or Answers()))


async def died(task: "asyncio.Task[Finished]") -> ExecutorDied:
    with pytest.raises(ExecutorDied) as death:
        await task
    return death.value
