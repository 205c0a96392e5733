"""The story's checks fail for what they are there to find."""

from collections.abc import Sequence

import msgspec

from tenure.demo.journal import Record
from tenure.demo.sources import Totals
from tenure.demo.story import checks
from tenure.demo.story.checks import Read
from tenure.demo.truth import Truth
from tests.unit.demo.build import line, view

TRUTH = Truth(Totals(3, 30, 60, 600, "d" * 64), 3, "c" * 64)


def reads(*runs: Sequence[int]) -> list[Read]:
    return [Read(item, pid) for pid, items in enumerate(runs) for item in items]


def test_a_task_that_is_missing_extra_or_not_done_is_not_accounted_for() -> None:
    done, failed = view(), view(state="failed")
    assert checks.all_accounted_for(["t"], {"t": done}).ok
    assert not checks.all_accounted_for(["t", "u"], {"t": done}).ok
    assert not checks.all_accounted_for([], {"t": done}).ok
    assert not checks.all_accounted_for(["t"], {"t": failed}).ok


def test_a_second_settled_result_and_a_changed_one_are_found() -> None:
    task = view(result=1)
    once = [line("succeeded", 1, result=1)]
    assert checks.settled_once({"t": task}, {"t": once}).ok
    assert not checks.settled_once({"t": task}, {"t": [*once, *once]}).ok
    assert not checks.settled_once({"t": task}, {"t": []}).ok
    assert not checks.settled_once({"t": view(result=2)}, {"t": once}).ok


def test_a_stale_report_is_no_second_result() -> None:
    late = msgspec.structs.replace(line("succeeded", 1, result=1), answer="stale")
    history = [line("succeeded", 1, generation=2, result=1), late]
    assert checks.settled_once({"t": view(result=1)}, {"t": history}).ok


def test_a_second_remote_render_is_found() -> None:
    task = view(result={"job_id": "job-1", "url": "u"})
    one: Record = {"kind": "job", "scene": "dawn", "id": "job-1"}
    assert checks.one_remote_render_each({"dawn": task}, [one]).ok
    assert not checks.one_remote_render_each({"dawn": task}, [one, one | {"id": "job-2"}]).ok
    assert not checks.one_remote_render_each({"dawn": task}, []).ok
    assert not checks.one_remote_render_each({"dawn": task}, [one, one | {"scene": "noon"}]).ok


def test_a_second_charge_and_a_wrong_receipt_are_found() -> None:
    task = view(result={"receipt": "charge-1", "order": "o", "cents": 1})
    one: Record = {"kind": "charge", "order": "o", "id": "charge-1"}
    assert checks.charged_once("o", task, [one]).ok
    assert not checks.charged_once("o", task, [one, one | {"id": "charge-2"}]).ok
    assert not checks.charged_once("o", task, [one | {"id": "charge-2"}]).ok
    assert not checks.charged_once("o", task, []).ok


def test_an_index_or_a_walk_that_differs_is_found() -> None:
    index = view(result=msgspec.to_builtins(TRUTH.index))
    walk = view(result={"listing": "l", "next_item": 3, "items": 3, "chain": TRUTH.chain})
    assert checks.index_is_true(index, TRUTH).ok
    assert not checks.index_is_true(walk, TRUTH).ok
    assert checks.walk_is_true(walk, TRUTH).ok
    assert not checks.walk_is_true(index, TRUTH).ok


def test_a_walk_may_read_again_only_the_item_it_died_at() -> None:
    assert checks.read_within_window(reads([0, 1, 2]), 3).ok
    assert checks.read_within_window(reads([0, 1], [1, 2]), 3).ok
    assert checks.read_within_window(reads([0, 1], [2]), 3).ok
    assert checks.read_within_window(reads([0, 1], [1], [1, 2]), 3).ok
    assert not checks.read_within_window(reads([0, 1, 1, 2]), 3).ok
    assert not checks.read_within_window(reads([0, 1, 2], [1, 2]), 3).ok
    assert not checks.read_within_window(reads([0], [2]), 3).ok
    assert not checks.read_within_window(reads([0, 1]), 3).ok
    assert not checks.read_within_window([], 3).ok


def test_a_process_that_does_not_leave_is_found() -> None:
    assert checks.left_cleanly({"north": 0}, []).ok
    assert not checks.left_cleanly({"north": 1}, []).ok
    assert not checks.left_cleanly({"north": 0}, ["4711: sleep"]).ok
