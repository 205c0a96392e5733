"""Assembly: what is missing or wrong is found before anything is called."""

import dataclasses

import msgspec
import pytest

from tenure.core.errors import InvalidConfig
from tenure.stores.sqlite.local.store import open_local_store
from tenure.worker.ended import EXIT_CODES, EndReason
from tenure.worker.parts import Parts
from tenure.worker.runtime import Runtime
from tests.support.worker.bench import Bench, Ledger
from tests.support.worker.builders import spec
from tests.support.worker.executor import CoroutineExecutor

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Parts)])
async def test_every_part_is_mandatory(bench: Bench, executor: CoroutineExecutor, name: str) -> None:
    """C049."""
    with open_local_store(bench.folder, bench.clock) as store:
        parts = dataclasses.replace(bench.parts(executor, store, Ledger()), **{name: None})
        with pytest.raises(InvalidConfig, match=name):
            Runtime(parts, bench.config())
    assert bench.control.calls == []


@pytest.mark.parametrize(
    ("changes", "path", "reason"),
    [
        ({"worker_id": ""}, "worker_id", None),
        ({"node_id": ""}, "node_id", None),
        ({"node_id": "no spaces"}, "node_id", None),
        ({"ttl_s": 0.0}, "ttl_s", None),
        ({"slots": 0}, "slots", None),
        ({"grace_s": -1.0}, "grace_s", None),
        ({"call_s": float("inf")}, "call_s", None),
        ({"resources": {}}, "resources.cpu_millis", "no_cpu"),
        ({"resources": {"cpu_millis": 0.5}}, "resources.cpu_millis", "no_cpu"),
        ({"resources": {"cpu_millis": float("nan")}}, "resources.cpu_millis", "no_cpu"),
    ],
)
async def test_a_worker_without_name_or_capacity_is_refused(
    bench: Bench, executor: CoroutineExecutor, changes: dict[str, object], path: str, reason: str | None
) -> None:
    """C048: a node of no capacity is an error of its own."""
    config = msgspec.structs.replace(bench.config(), **changes)
    with open_local_store(bench.folder, bench.clock) as store:
        parts = bench.parts(executor, store, Ledger())
        with pytest.raises(InvalidConfig) as wrong:
            Runtime(parts, config)
    assert (wrong.value.path, wrong.value.reason) == (path, reason)
    assert bench.control.calls == []


async def test_an_application_that_cannot_be_imported_is_said_as_it_is(
    bench: Bench, executor: CoroutineExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of the executor comes out unchanged, before anything was registered."""

    async def broken() -> list[object]:
        raise InvalidConfig("ModuleNotFoundError: No module named 'media'")

    monkeypatch.setattr(executor, "manifest", broken)
    with open_local_store(bench.folder, bench.clock) as store:
        runtime = Runtime(bench.parts(executor, store, Ledger()), bench.config())
        with pytest.raises(InvalidConfig, match="No module named"):
            await runtime.run()
    assert bench.control.calls == []
    assert executor.is_closed


async def test_a_module_that_changed_under_the_worker_stops_it(
    bench: Bench, executor: CoroutineExecutor
) -> None:
    """What was to run goes back at no cost, and the process starts anew with the new code."""
    async with bench.worker(executor) as worker:
        executor.fault = InvalidConfig("the module declares other capabilities than before")
        bench.control.submit(spec(capability="wait-recompute"))
        bench.control.push("task-1")
        await worker.until(lambda: worker.ended)
        assert worker.ended is not None
        assert (worker.ended.reason, worker.ended.exit_code) == (EndReason.CHANGED, 1)
        assert bench.control.task("task-1").interruptions == 1


def test_every_end_has_its_exit_code() -> None:
    assert EXIT_CODES.keys() == set(EndReason)
