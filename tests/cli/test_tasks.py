"""Submitting, listing, showing, cancelling and retrying tasks from a command line."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Server

Tenure = Callable[..., Ran]


def submitted(tenure: Tenure, *args: str) -> str:
    ran = tenure("submit", *args)
    assert (ran.code, ran.err) == (0, "")
    return ran.out.strip()


def test_submit_prints_the_id_alone(tenure: Tenure) -> None:
    task_id = submitted(tenure, "scale", "--input", '{"width": 320}', "--priority", "5", "--queue", "fast")
    shown = tenure("task", task_id, "--json").document
    task = shown["task"]
    assert (task["input"], task["priority"], task["queue"]) == ({"width": 320}, 5, "fast")
    assert [line["kind"] for line in shown["history"]] == ["submitted"]


def test_submit_takes_every_option(tenure: Tenure) -> None:
    first = submitted(tenure, "scale")
    options = (
        "--after",
        first,
        "--delay",
        "60",
        "--version",
        "2",
        "--label",
        "a=1",
        "--label",
        "b=2",
        "--key",
        "k-all",
    )
    ran = tenure("submit", "scale", *options, "--json")
    document = ran.document
    assert (document["state"], document["created"]) == ("blocked", True)
    task = tenure("task", str(document["id"]), "--json").document["task"]
    assert task["depends_on"] == [first]
    assert (task["version"], task["labels"], task["key"]) == ("2", {"a": "1", "b": "2"}, "k-all")


def test_input_from_a_file_and_from_a_pipe(
    tenure: Tenure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.json").write_text('{"from": "file"}')
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"from": "pipe"}')))
    ids = [submitted(tenure, "scale", "--input", source) for source in (f"@{tmp_path}/in.json", "-")]
    inputs = [tenure("task", id_, "--json").document["task"]["input"] for id_ in ids]
    assert inputs == [{"from": "file"}, {"from": "pipe"}]


def test_the_same_key_is_the_same_task_and_other_content_is_refused(tenure: Tenure) -> None:
    """B25."""
    first = submitted(tenure, "scale", "--key", "k-same")
    again = tenure("submit", "scale", "--key", "k-same")
    assert (again.code, again.out.strip(), again.err) == (0, first, f"{first} was there already\n")
    other = tenure("submit", "scale", "--key", "k-same", "--input", '{"a": 1}')
    assert (other.code, other.out) == (2, "")
    assert "with other content" in other.err


@pytest.mark.parametrize(
    "args",
    [
        ("scale", "--after", "nonsense"),
        ("",),
        ("scale", "--queue", "two words"),
        ("scale", "--input", '"\\u0000"'),
    ],
    ids=["dependency", "capability", "queue", "nul"],
)
def test_what_the_control_plane_refuses_is_one_line_and_exit_code_2(
    tenure: Tenure, args: tuple[str, ...]
) -> None:
    ran = tenure("submit", *args)
    assert ran.code == 2
    assert ran.err.startswith("tenure: tasks[0]")
    assert ran.err.count("\n") == 1


def test_bulk_submits_each_line_and_repeating_is_harmless(tenure: Tenure, tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    lines = [{"key": f"bulk-{n}", "input": {"n": n}} for n in range(1_203)]
    file.write_text(
        "\n".join([json.dumps(line) for line in lines] + ["", '{"capability": "other", "key": "bulk-x"}'])
    )
    ran = tenure("submit", "scale", "--bulk", str(file), "--json")
    assert ran.code == 0
    assert len(ran.lines) == 1_204
    assert all(line["created"] for line in ran.lines)
    again = tenure("submit", "scale", "--bulk", str(file), "--json")
    assert [line["id"] for line in again.lines] == [line["id"] for line in ran.lines]
    assert not any(line["created"] for line in again.lines)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the file has no lines"),
        ('{"capability": "a"}\n{"capability": ', "line 2: "),
        ('{"capability": "a", "imput": {}}', "line 1: Object contains unknown field `imput`"),
        ("[]", "line 1: "),
        ('{"capability": "a"}\n{}', "line 2: Object missing required field `capability`"),
        ('{"capability": 3}', "line 1: Expected `str`, got `int`"),
    ],
    ids=["empty", "cut", "typo", "list", "nameless", "number"],
)
def test_a_bad_line_is_named_and_nothing_is_sent(
    tenure: Tenure, tmp_path: Path, content: str, said: str
) -> None:
    (tmp_path / "many.jsonl").write_text(content)
    before = tenure("tasks", "--json").out
    ran = tenure("submit", "--bulk", f"{tmp_path}/many.jsonl")
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert tenure("tasks", "--json").out == before


def test_tasks_are_filtered(tenure: Tenure) -> None:
    ids = [
        submitted(tenure, name, "--label", f"kind={name}", "--queue", "filter") for name in ("f1", "f2", "f1")
    ]
    tenure("cancel", ids[0])
    by_queue = tenure("tasks", "--queue", "filter", "--json").document
    assert [task["id"] for task in by_queue] == ids[::-1]

    def found(*args: str) -> list[str]:
        document = tenure("tasks", "--queue", "filter", *args, "--json").document
        return [task["id"] for task in document]

    assert found("--capability", "f2") == [ids[1]]
    assert found("--label", "kind=f1") == [ids[2], ids[0]]
    assert found("--state", "cancelled") == [ids[0]]
    assert found("--limit", "1") == [ids[2]]
    assert found("--capability", "none") == []


def test_a_table_for_people(tenure: Tenure) -> None:
    task_id = submitted(tenure, "for-people", "--queue", "people")
    ran = tenure("tasks", "--queue", "people")
    head, row = ran.out.splitlines()
    assert head.split() == ["ID", "STATE", "CAPABILITY", "QUEUE", "PROGRESS", "HOLDER", "UPDATED"]
    assert row.split()[:4] == [task_id, "open", "for-people", "people"]
    assert tenure("tasks", "--queue", "nobody").out == "no tasks\n"


def test_a_task_for_people(server: Server, tenure: Tenure) -> None:
    task_id = submitted(tenure, "for-people")
    server.complete(task_id, {"url": "a"})
    ran = tenure("task", task_id)
    assert ran.code == 0
    assert "state         done\n" in ran.out
    assert 'result        {"url":"a"}\n' in ran.out
    assert "by-hand" in ran.out


def test_the_result_is_on_standard_output_and_the_state_is_the_exit_code(
    server: Server, tenure: Tenure
) -> None:
    done, failed, unknown, cancelled, waiting = (submitted(tenure, "r") for _ in range(5))
    server.complete(done, {"url": "a", "none": None})
    error = {"type": "Broken", "message": "the\nreason", "retry": False}
    server.release(failed, server.claim(failed), "failed", error=error)
    server.doubt(unknown)
    tenure("cancel", cancelled)
    shown = {id_: tenure("result", id_) for id_ in (done, failed, unknown, cancelled, waiting)}
    assert [ran.code for ran in shown.values()] == [0, 1, 5, 1, 1]
    assert shown[done].document == {"url": "a", "none": None}
    assert all(not ran.out and ran.err.count("\n") == 1 for id_, ran in shown.items() if id_ != done)
    assert "failed: Broken: the reason" in shown[failed].err
    assert f"tenure unknown {unknown}" in shown[unknown].err
    assert "was cancelled" in shown[cancelled].err
    assert "is open" in shown[waiting].err


def test_a_task_that_is_not_there_is_exit_code_2(tenure: Tenure) -> None:
    for args in (
        ["task", "none"],
        ["result", "none"],
        ["watch", "none"],
        ["unknown", "none"],
        ["cancel", "none"],
    ):
        ran = tenure(*args)
        assert (ran.code, ran.out, ran.err) == (2, "", "tenure: there is no task none\n"), args


def test_cancel_goes_on_after_one_that_is_refused(server: Server, tenure: Tenure) -> None:
    open_, done, claimed = (submitted(tenure, "c") for _ in range(3))
    server.complete(done, None)
    server.claim(claimed)
    ran = tenure("cancel", open_, "none", done, claimed)
    assert ran.code == 2
    assert ran.err == "tenure: there is no task none\n"
    assert ran.out.splitlines() == [
        f"{open_} cancelled",
        f"{done} was done before",
        f"{claimed} claimed, asked to stop",
    ]
    assert tenure("cancel", open_, "--json").lines[0]["state"] == "cancelled"


def test_retry_opens_again_what_may_be_opened(server: Server, tenure: Tenure) -> None:
    cancelled, done = submitted(tenure, "c"), submitted(tenure, "c")
    tenure("cancel", cancelled)
    server.complete(done, None)
    ran = tenure("retry", cancelled, done)
    assert ran.code == 1
    assert ran.out == f"{cancelled} open\n"
    assert "is done" in ran.err


def test_retry_afresh_asks_before_it_repeats(
    server: Server, tenure: Tenure, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = submitted(tenure, "pay")
    server.doubt(task_id, "charge")
    assert tenure("reconcile", task_id, "charge", "--happened", "{}").code == 0
    assert tenure("cancel", task_id).code == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    refused = tenure("retry", task_id, "--afresh")
    assert refused.code == 2
    assert "repeats what was applied: charge; say --yes" in refused.err
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    declined = tenure("retry", task_id, "--afresh")
    assert declined.code == 130
    assert "repeats what was applied: charge\n" in declined.err
    assert tenure("retry", task_id, "--afresh", "--yes").code == 0


def test_cancelling_what_is_unknown_is_a_verdict_and_needs_an_admin(
    server: Server, tenure: Tenure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C119."""
    task_id = submitted(tenure, "c")
    server.doubt(task_id)
    token = tenure("token", "create", "--role", "submit", "--name", "ci").out.strip()
    with monkeypatch.context() as patch:
        patch.setenv("TENURE_TOKEN", token)
        assert tenure("cancel", task_id).code == 4
    assert tenure("cancel", task_id).out == f"{task_id} cancelled\n"


def test_an_unknown_task_is_not_retried(server: Server, tenure: Tenure) -> None:
    task_id = submitted(tenure, "c")
    server.doubt(task_id)
    assert tenure("retry", task_id).code == 5


def test_wait_is_over_when_the_task_is(server: Server, tenure: Tenure) -> None:
    ids = [submitted(tenure, "w", "--key", f"wait-{n}") for n in range(3)]
    server.complete(ids[0], [1, 2])
    tenure("cancel", ids[1])
    server.doubt(ids[2])
    shown = [tenure("submit", "w", "--key", f"wait-{n}", "--wait") for n in range(3)]
    assert [ran.code for ran in shown] == [0, 1, 5]
    assert [ran.out for ran in shown] == ["[1,2]\n", "", ""]
    as_json = tenure("submit", "w", "--key", "wait-0", "--wait", "--json")
    assert as_json.lines[0]["result"] == [1, 2]


def test_watch_shows_how_it_ended(server: Server, tenure: Tenure) -> None:
    task_id = submitted(tenure, "w")
    server.complete(task_id, None)
    ran = tenure("watch", task_id)
    assert (ran.code, ran.out) == (0, f"{task_id}  w  done\n")
    assert tenure("watch", task_id, "--json").lines[0]["state"] == "done"
