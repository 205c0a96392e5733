"""Tables, JSON and text that steers no terminal."""

import json
from datetime import UTC, datetime

import pytest

from tenure.cli.output import Output, ago, cell, clean, columns, length, pairs


def test_a_table_in_a_pipe_is_plain_columns(capsys: pytest.CaptureFixture[str]) -> None:
    Output(json=False).table(["id", "state"], [["t1", "done"], ["t10", None]])
    assert capsys.readouterr().out == "ID   STATE\nt1   done\nt10\n"


def test_an_empty_table_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    Output(json=False).table(["id"], [], nothing="no tasks")
    Output(json=False).table(["id"], [])
    assert capsys.readouterr().out == "no tasks\n"


def test_a_document_is_one_line_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    Output(json=True).document({"a": [1, 2]})
    Output(json=True).line({"b": datetime(2026, 1, 2, tzinfo=UTC)})
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == [{"a": [1, 2]}, {"b": "2026-01-02T00:00:00Z"}]


def test_text_of_a_task_does_not_steer_the_terminal() -> None:
    assert clean("a\x1b[2Jb\r\nc\u2028d\x9b31m") == "a [2Jb c d 31m"
    assert cell("x\ty") == "x y"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (True, "yes"),
        (False, "no"),
        (3, "3"),
        (2.5, "2.5"),
        ({"a": 1}, '{"a":1}'),
        ("x" * 500, "x" * 199 + "…"),
    ],
)
def test_a_cell_is_short(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_columns_are_aligned_without_trailing_blanks() -> None:
    assert columns([["a", "bb", "c"], ["aaa", "b", ""]]) == ["a    bb  c", "aaa  b"]


def test_labels_are_pairs_in_order() -> None:
    assert pairs({"b": "2", "a": "1"}) == "a=1 b=2"


def test_an_age_is_never_negative() -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    assert ago(noon, noon.replace(hour=13)) == "1 h 0 min ago"
    assert ago(noon, noon.replace(hour=11)) == "0 ms ago"
    assert ago(None, noon) == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0214, "21 ms"),
        (4.26, "4.3 s"),
        (42.6, "43 s"),
        (90_000, "1 d 1 h"),
        (61, "1 min 1 s"),
        (7260, "2 h 1 min"),
    ],
)
def test_lengths_are_said_in_words(seconds: float, said: str) -> None:
    assert length(seconds) == said


def test_a_terminal_gets_a_table_without_colour_if_it_wants_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out = Output(json=False)
    out.is_terminal = True
    out.table(["id", "state"], [["t1", "done"], ["[red]t2", "failed"]])
    shown = capsys.readouterr().out
    assert "\x1b[3" not in shown
    assert "[red]t2" in shown


def test_a_terminal_gets_no_column_in_which_nothing_stands(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output(json=False)
    out.is_terminal = True
    out.table(["id", "state", "holder"], [["t1", "done", None], ["t2", "done", ""]])
    assert "holder" not in capsys.readouterr().out
