"""Canonical JSON, ids, backoff, calm, cycles and transition tables."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.attempt import ATTEMPT_MACHINE
from tenure.core.backoff import Backoff, sender_delay_s
from tenure.core.calm import Beat, is_calm, judge_pulse
from tenure.core.canonical import canonical, digest
from tenure.core.checkpoint import Progress, advance, check_progress
from tenure.core.effect import EFFECT_MACHINE, request_id
from tenure.core.errors import Invalid
from tenure.core.ids import attempt_id, check_id, parse_attempt_id
from tenure.core.instants import check_ttl, is_live
from tenure.core.machine import IllegalTransition, Machine
from tenure.core.submission import check_spec, cyclic
from tenure.core.task import TASK_MACHINE, TaskSpec, TaskState, TaskStep
from tests.unit.core.build import NOW


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (333333333.33333329, "333333333.3333333"),
        (1e30, "1e+30"),
        (4.50, "4.5"),
        (2e-3, "0.002"),
        (0.000000000000000000000000001, "1e-27"),
        (-0.0, "0"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (9007199254740993, "9007199254740993"),
        (10**30, "1" + "0" * 30),
        ({"€": 1, "\r": 2, "\ufb33": 3, "1": 4, "😀": 5, "\x80": 6, "ö": 7}, None),
        ('<>&"\\/\n', '"<>&\\"\\\\/\\n"'),
        ([True, None], "[true,null]"),
    ],
)
def test_the_canonical_form_is_that_of_the_standard(value: object, text: str | None) -> None:
    """C065: RFC 8785's own examples; integers are written out in full, the one named deviation."""
    written = canonical(value)
    if text is None:
        text = '{"\\r":2,"1":4,"\x80":6,"ö":7,"€":1,"😀":5,"\ufb33":3}'
    assert written == text


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), "a\x00b", "\ud800", {1: 2}, {"a": {"b": object()}}, {"\ud800": 1}]
)
def test_what_is_no_json_is_refused_with_its_place(value: object) -> None:
    with pytest.raises(Invalid):
        canonical({"input": value})


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)


@given(st.dictionaries(st.text("abc"), SCALARS | st.lists(SCALARS)))
def test_the_order_of_keys_never_matters(value: dict[str, object]) -> None:
    assert digest(value) == digest(dict(reversed(value.items())))


def test_depth_is_bounded() -> None:
    deep: list[object] = []
    for _ in range(101):
        deep = [deep]
    with pytest.raises(Invalid, match="deeper"):
        canonical(deep)


def test_request_ids_belong_to_the_action_and_never_meet() -> None:
    """C106: the same in every retry and takeover, another for a new run; odd names are hashed."""
    assert request_id("t", 1, "create-job") == "t.1.create-job"
    assert request_id("t", 2, "create-job") != request_id("t", 1, "create-job")
    odd = request_id("t", 1, "ünïcode / name")
    assert request_id("t", 1, odd.rsplit(".", 1)[1]) != odd


def test_ids_have_one_form() -> None:
    assert parse_attempt_id(attempt_id("a.b", 7)) == ("a.b", 7)
    for bad in ("", "-a", "a b", "a" * 129, "é"):
        with pytest.raises(Invalid):
            check_id("id", bad)


def test_live_means_before_the_end() -> None:
    """C020: at no instant are both the old and the new holder entitled."""
    assert is_live(NOW, NOW + timedelta(microseconds=1))
    assert not is_live(NOW, NOW)


@pytest.mark.parametrize("ttl_s", [0, -1, 0.4, 86_401, float("nan")])
def test_a_ttl_of_zero_is_no_limitless_lease(ttl_s: float) -> None:
    """C006, C021, C044."""
    with pytest.raises(Invalid):
        check_ttl("ttl_s", ttl_s)


def test_the_senders_delays() -> None:
    """C083."""
    assert [sender_delay_s(n) for n in range(1, 9)] == [1, 2, 4, 8, 16, 30, 30, 30]


def test_a_tasks_backoff_stays_within_its_cap() -> None:
    backoff = Backoff(initial_s=1, factor=10, max_s=50)
    assert backoff.delay_s(1, 1.0) == 1
    assert max(backoff.delay_s(n, 0.999) for n in (5, 500, 10**6)) <= 50


def test_calm_breaks_on_gaps_steps_and_drift() -> None:
    """D19."""
    since = NOW - timedelta(minutes=1)

    def judged(after_s: float, boot_s: float, server: str = "a") -> tuple[bool, bool]:
        beat = Beat(NOW + timedelta(seconds=after_s), boot_s, server)
        steady = judge_pulse(Beat(NOW, 100, "a"), since, beat)
        return steady.calm_since == since, steady.stepped_back

    assert judged(1, 101) == (True, False)
    assert judged(2, 102) == (False, False)
    assert judged(-1, 101) == (False, True)
    assert judged(1.9, 100.5) == (False, False)
    assert judged(0.5, 102) == (False, True)
    assert judged(1, 7, server="b") == (True, False)
    assert is_calm(since, NOW, 60)
    assert not is_calm(since, NOW, 61)
    assert is_calm(None, NOW, 61)


def test_cycles_are_found_and_long_chains_are_not_cycles() -> None:
    """C016."""
    assert cyclic({"a": ["b"], "b": ["c"], "c": ["a"]}) == ["a", "b", "c", "a"]
    assert cyclic({"a": ["a"]}) == ["a", "a"]
    assert cyclic({str(n): [str(n + 1)] for n in range(5_000)}) == []
    assert cyclic({"a": ["x"], "b": ["a", "x"], "c": ["a", "b"]}) == []


@pytest.mark.parametrize(
    "spec",
    [
        TaskSpec(""),
        TaskSpec("x", queue="bad queue"),
        TaskSpec("x", lease_ttl_s=0),
        TaskSpec("x", max_attempts=0),
        TaskSpec("x", delay_s=1, not_before=NOW),
        TaskSpec("x", fairness_key="k"),
        TaskSpec("x", input={"a": float("inf")}),
        TaskSpec("x", depends_on=["no id"]),
        TaskSpec("x", resources={"cpu": -1}),
        TaskSpec("x", labels={"": "x"}),
    ],
)
def test_a_bad_spec_names_its_field(spec: TaskSpec) -> None:
    with pytest.raises(Invalid) as caught:
        check_spec(spec, "tasks[3]")
    assert caught.value.path.startswith("tasks[3].")


def test_the_same_content_has_one_digest_whatever_its_id_key_and_labels() -> None:
    """B25."""
    one = TaskSpec("x", input={"a": 1, "b": 2}, id="1", key="k", labels={"l": "1"})
    same = TaskSpec("x", input={"b": 2, "a": 1}, max_attempts=3)
    assert one.content_digest() == same.content_digest()
    assert one.content_digest() != TaskSpec("x", input={"a": 1}).content_digest()


@pytest.mark.parametrize("machine", [TASK_MACHINE, ATTEMPT_MACHINE, EFFECT_MACHINE])
def test_what_a_table_does_not_list_raises(machine: Machine[TaskState, TaskStep]) -> None:
    states = {s for s, _ in machine.table} | set(machine.table.values())
    steps = {e for _, e in machine.table}
    for state in states:
        for step in steps:
            if machine.takes(state, step):
                assert machine.next(state, step) in states
            else:
                with pytest.raises(IllegalTransition, match="allowed"):
                    machine.next(state, step)


def test_done_is_terminal() -> None:
    """C015."""
    assert not any(state is TaskState.DONE for state, _ in TASK_MACHINE.table)


def test_progress_is_checked_and_never_goes_back() -> None:
    """C076."""
    for bad in (Progress(percent=140), Progress(completed=-1), Progress(completed=4, failed=1, total=4)):
        with pytest.raises(Invalid):
            check_progress(bad)
    kept = advance(Progress(percent=40), Progress(percent=10, stage="b"))
    assert (kept.percent, kept.stage) == (40, "b")
