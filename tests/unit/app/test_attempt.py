"""What a capability is given: the same names on both kinds of attempt, and what each of them does."""

import asyncio
import inspect
from datetime import timedelta

import pytest

import tenure.testing
from tenure import ABSENT, AsyncAttempt, Attempt
from tenure.app.running import ASKED
from tenure.core.checkpoint import Progress
from tenure.core.errors import Cancelled, EffectMismatch, Invalid, LeaseLost, StoreUnavailable
from tenure.core.execution import Saved
from tests.unit.app.acting import Scene

WITHOUT_WAITING = {"progress", "raise_if_cancelled"}


def public(kind: type) -> dict[str, object]:
    return {name: inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")}


def test_both_kinds_of_attempt_have_the_same_names_and_arguments() -> None:
    plain, awaited = public(Attempt), public(AsyncAttempt)
    assert plain.keys() == awaited.keys()
    for name, member in plain.items():
        if not callable(member):
            continue
        other = awaited[name]
        assert callable(other)
        ours, theirs = inspect.signature(member).parameters, inspect.signature(other).parameters
        assert [(p.name, p.kind, p.default) for p in ours.values()] == [
            (p.name, p.kind, p.default) for p in theirs.values()
        ]
        assert inspect.iscoroutinefunction(other) == (name not in WITHOUT_WAITING)


def test_the_names_are_those_that_are_documented() -> None:
    assert set(public(Attempt)) == {
        "id",
        "task_id",
        "generation",
        "store_epoch",
        "losses",
        "resumed_from",
        "stopping",
        "progress",
        "raise_if_cancelled",
        "effect",
        "step",
        "checkpoint",
        "ensure_lease",
        "poll",
    }


@pytest.fixture(params=["plain", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def test_a_checkpoint_is_saved_with_its_reach(kind: str) -> None:
    """C075."""
    scene = Scene(kind)
    scene.do(lambda attempt: attempt.checkpoint({"items": 3}, portable=False))
    assert scene.desk.checkpoints == [({"items": 3}, False)]


def test_a_checkpoint_is_saved_before_a_cancel_ends_the_code(kind: str) -> None:
    scene = Scene(kind)
    scene.running.cancel()
    with pytest.raises(Cancelled):
        scene.do(lambda attempt: attempt.checkpoint(1))
    assert scene.desk.checkpoints == [(1, True)]


def test_a_step_is_done_once_and_its_result_is_kept(kind: str) -> None:
    calls: list[int] = []

    def read() -> timedelta:
        calls.append(1)
        return timedelta(seconds=5)

    scene = Scene(kind)
    assert scene.do(lambda attempt: attempt.step("read", read)) == timedelta(seconds=5)
    later = Scene(kind)
    later.desk.steps = {"read": Saved("read", "step", scene.desk.steps["read"].result)}
    assert later.do(lambda attempt: attempt.step("read", read)) == timedelta(seconds=5)
    assert len(calls) == 1


def test_a_steps_name_is_used_once(kind: str) -> None:
    scene = Scene(kind)
    scene.do(lambda attempt: attempt.step("read", lambda: 1))
    with pytest.raises(EffectMismatch, match="step 'read' was used before"):
        scene.do(lambda attempt: attempt.step("read", lambda: 2))


def test_a_steps_result_that_cannot_be_kept_is_refused(kind: str) -> None:
    scene = Scene(kind)
    with pytest.raises(Invalid, match="step read"):
        scene.do(lambda attempt: attempt.step("read", object))


def test_the_lease_is_asked_for_only_when_it_is_not_certain(kind: str) -> None:
    scene = Scene(kind, fenced_at=1_030.0)
    scene.do(lambda attempt: attempt.ensure_lease(timedelta(seconds=29)))
    assert not scene.desk.held
    scene.do(lambda attempt: attempt.ensure_lease(31))
    assert scene.desk.held == [31.0]
    scene.desk.holds = False
    with pytest.raises(LeaseLost):
        scene.do(lambda attempt: attempt.ensure_lease(31))
    scene.running.move_lease(2_000.0)
    scene.do(lambda attempt: attempt.ensure_lease(31))


def test_polling_looks_until_it_is_so(kind: str) -> None:
    seen = iter([1, 2, 3, 4])
    poll = Scene(kind).do(
        lambda attempt: attempt.poll(lambda: next(seen), until=lambda number: number == 3, every=0.001)
    )
    assert poll == 3


def test_polling_ends_with_a_cancel(kind: str) -> None:
    scene = Scene(kind)

    def look() -> int:
        scene.running.cancel()
        return 0

    with pytest.raises(Cancelled):
        scene.do(lambda attempt: attempt.poll(look, until=bool, every=0.001))


def test_progress_is_handed_on_and_what_contradicts_itself_is_dropped_with_a_warning() -> None:
    """C076: no reason to lose the work."""
    attempt = tenure.testing.attempt()
    attempt.progress(12, total=30, stage="scale")
    with pytest.warns(UserWarning, match="progress of task.1 was dropped: progress.completed"):
        attempt.progress(31, total=30)
    with pytest.warns(UserWarning, match="140 is no percentage"):
        attempt.progress(percent=140)
    assert attempt.recorded.progress == [Progress(completed=12, total=30, stage="scale")]


@pytest.mark.parametrize(
    ("progress", "says"),
    [
        ({"completed": "x"}, "Expected `int"),
        ({"completed": 1.5}, "Expected `int"),
        ({"completed": 10**40}, "Expected `int"),
        ({"percent": float("nan")}, "nan is no JSON number"),
        ({"message": "\ud800"}, "lone surrogate"),
        ({"message": b"x", "stage": object()}, "object is no JSON value"),
    ],
)
def test_progress_that_no_line_carries_is_dropped_too(progress: dict[str, object], says: str) -> None:
    """C076: sent as it is, it would have ended the line to the supervisor, and the work with it."""
    attempt = tenure.testing.attempt()
    with pytest.warns(UserWarning, match=says):
        attempt.progress(**progress)  # pyright: ignore[reportArgumentType] - what no type check has seen
    assert attempt.recorded.progress == []


def test_where_the_code_itself_asks_it_may_be_cancelled() -> None:
    """C058."""
    attempt = tenure.testing.attempt()
    attempt.raise_if_cancelled()
    assert not attempt.stopping
    attempt.cancel()
    assert attempt.stopping
    with pytest.raises(Cancelled) as cancelled:
        attempt.raise_if_cancelled()
    assert cancelled.value.reason == ASKED


def test_what_it_was_given_is_read_from_it() -> None:
    attempt = tenure.testing.attempt(resumed_from={"items": 2}, losses=1, generation=7)
    assert (attempt.id, attempt.task_id, attempt.generation) == ("task.7", "task", 7)
    assert (attempt.losses, attempt.store_epoch, attempt.resumed_from) == (1, 1, {"items": 2})


def test_a_failed_save_is_raised_where_it_was_asked_for(kind: str) -> None:
    """C078."""
    scene = Scene(kind)
    scene.desk.broken = StoreUnavailable("no")
    with pytest.raises(StoreUnavailable):
        scene.do(lambda attempt: attempt.step("a", lambda: 1))
    with pytest.raises(StoreUnavailable):
        scene.do(lambda attempt: attempt.checkpoint(1))


def test_an_attempt_in_memory_keeps_a_ledger() -> None:
    attempt = tenure.testing.attempt(in_doubt=["sent"])
    applied: list[str] = []

    def apply(request_id: str) -> str:
        applied.append(request_id)
        return request_id

    for _ in range(2):
        assert attempt.effect("act", {"a": 1}, apply) == "task.1.act"
    assert applied == ["task.1.act"]
    with pytest.raises(EffectMismatch):
        attempt.effect("act", {"a": 2}, apply)
    assert attempt.effect("sent", {}, apply, lambda _: ABSENT) == "task.1.sent"
    assert attempt.recorded.effects == {"act": "task.1.act", "sent": "task.1.sent"}
    attempt.desk.holds_lease = False
    with pytest.raises(LeaseLost):
        attempt.effect("third", {}, apply)


def test_an_async_attempt_in_memory_serves_async_capabilities() -> None:
    async def capability(attempt: AsyncAttempt, scene: str) -> str:
        async def apply(request_id: str) -> str:
            await asyncio.sleep(0)
            return request_id

        first, second = await asyncio.gather(
            attempt.effect("one", {"scene": scene}, apply), attempt.effect("two", {}, apply)
        )
        return await attempt.step("join", lambda: f"{first} {second}")

    attempt = tenure.testing.async_attempt()
    assert asyncio.run(capability(attempt, "s")) == "task.1.one task.1.two"
    assert attempt.recorded.steps == {"join": "task.1.one task.1.two"}
