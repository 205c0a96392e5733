"""What is said of progress, and where it is shown."""

import json
import sys
from datetime import UTC, datetime

import msgspec
import pytest

from tenure.cli.bars import Bars, Lines, Silence, as_the_answer, beside_the_answer, words
from tenure.cli.output import Output
from tenure.core.backoff import Backoff
from tenure.core.checkpoint import Progress
from tenure.core.view import ClaimView, TaskView

NOW = datetime(2026, 1, 2, tzinfo=UTC)
TASK = TaskView(
    id="01a22ef2-2633-7076-9604-7a5169de6689",
    capability="scale",
    version=None,
    input={},
    key=None,
    queue="default",
    priority=0,
    requires={},
    resources={},
    depends_on=[],
    not_before=None,
    timeout_s=None,
    silence_s=None,
    deadline=None,
    lease_ttl_s=30,
    max_attempts=3,
    max_losses=3,
    backoff=Backoff(),
    concurrency_key=None,
    concurrency_limit=None,
    fairness_key=None,
    on_dependency_failure="block",
    labels={},
    revision=1,
    state="claimed",
    generation=1,
    run=1,
    attempts=0,
    losses=0,
    interruptions=0,
    cancel_requested=False,
    created_at=NOW,
    updated_at=NOW,
    started_at=NOW,
    finished_at=None,
    claim=ClaimView("w1", "i1", 1, NOW, ended=False),
)


def at(progress: Progress | None, **changes: object) -> TaskView:
    return msgspec.structs.replace(TASK, progress=progress, **changes)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (at(Progress(stage="scale", percent=40, completed=12, total=30)), "scale 40 % (12 of 30)"),
        (at(Progress(completed=12)), "(12)"),
        (
            at(Progress(completed=12, total=30, failed=2, message="slow\x1b[2J")),
            "(12 of 30) 2 failed slow [2J",
        ),
        (at(Progress()), "claimed"),
        (at(None), "claimed"),
        (at(None, cancel_requested=True), "claimed, cancel requested"),
        (at(None, claim=ClaimView("w1", "i1", 1, NOW, ended=True)), "lease ended"),
        (at(Progress(percent=99), state="done"), "done"),
        (at(None, state="open"), "open"),
    ],
)
def test_progress_is_said_in_words(task: TaskView, said: str) -> None:
    assert words(task) == said


def test_lines_say_each_change_once(capsys: pytest.CaptureFixture[str]) -> None:
    view = Lines(Output(json=False))
    with view:
        for percent in (10, 10, 20):
            view.show(at(Progress(percent=percent)))
        view.count(1, 2)
    assert capsys.readouterr().out == f"{TASK.id}  scale  10 %\n{TASK.id}  scale  20 %\n"


def test_lines_for_programs_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    view = Lines(Output(json=True))
    for percent in (10, 10, 20):
        view.show(at(Progress(percent=percent)))
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [task["progress"]["percent"] for task in shown] == [10, 20]


def test_nobody_at_a_terminal_sees_no_bars() -> None:
    assert isinstance(beside_the_answer(), Silence)
    assert isinstance(as_the_answer(Output(json=False)), Lines)


def test_bars_are_drawn_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    view = beside_the_answer()
    assert isinstance(view, Bars)
    with view:
        view.show(at(None))
        view.show(at(Progress(stage="[scale]", completed=3, total=4)))
        view.show(at(None, state="done", id="t2"))
        view.count(1, 2)
        view.leave(at(None, state="failed", id="t2"))
        view.drop("t2")
    shown = capsys.readouterr().err
    assert "[scale] (3 of 4)" in shown
    assert "1 of 2 ended" in shown
    assert "t2  scale  failed" in shown
    assert "\x1b[3" not in shown.replace("\x1b[3A", "")
