"""The group: help without loading anything, and wrong usage as one line with exit code 2."""

import os
import subprocess
import sys

import pytest

from tenure.cli.main import VERBS, run

HEAVY = (
    "apsw",
    "anyio",
    "asyncio",
    "httpx2",
    "rich",
    "starlette",
    "structlog",
    "uvicorn",
    "tenure.client",
    "tenure.server",
)


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {verb} " in shown for verb in VERBS)
    assert "TENURE_URL" in shown
    assert "130 interrupted" in shown


def test_without_a_verb_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    assert "Usage: tenure" in capsys.readouterr().out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([verb, "--help"]) == 0
    shown = capsys.readouterr()
    assert f"Usage: tenure {verb}" in shown.out
    assert not shown.err


WRONG = [
    (["nonsense"], "no such command 'nonsense'; see `tenure --help`"),
    (["--nonsense"], "no such option '--nonsense'; see `tenure --help`"),
    (["server", "--nonsense"], "no such option '--nonsense'"),
    (["worker"], "missing option '--app'; see `tenure worker --help`"),
    (["worker", "--app", "media"], "--app: 'media' names no application"),
    (["worker", "--app", "a:b", "--on-stop", "detach"], "--on-stop: detach is for programs"),
    (["worker", "--app", "a:b", "--slots", "0"], "--slots: 0 is out of range"),
    (["worker", "--app", "a:b", "--url", "nowhere"], "--url: 'nowhere' is no control plane"),
    (["server", "--store", "tenure.db"], "--store: 'tenure.db' is no store"),
    (["server", "--listen", "0.0.0.0:1"], "--listen: '0.0.0.0:1' is reachable from other machines"),
    (["submit"], "say which CAPABILITY, or give --bulk FILE.jsonl; see `tenure submit --help`"),
    (["submit", "a", "--input", "{"], "--input: { is no JSON"),
    (
        ["submit", "a", "--input", "@none.json"],
        "--input: 'none.json' cannot be read: No such file or directory",
    ),
    (["submit", "a", "--label", "x"], "--label: 'x' is no label"),
    (["submit", "a", "--priority", "x"], "'x' is not a valid integer"),
    (["submit", "--bulk", "none.jsonl"], "--bulk: 'none.jsonl' cannot be read"),
    (["submit", "--bulk", "none.jsonl", "--key", "k"], "with --bulk each line says everything itself"),
    (["tasks", "--state", "stuck"], "invalid value for '--state'"),
    (["tasks", "--limit", "0"], "invalid value for '--limit'"),
    (["tasks", "--label", "x"], "--label: 'x' is no label"),
    (["tasks", "--label", "a=1", "--label", "b=1"], "one --label at a time"),
    (["task"], "missing argument 'ID'"),
    (["result"], "missing argument 'ID'"),
    (["cancel"], "missing argument 'ID...'"),
    (["retry"], "missing argument 'ID...'"),
    (["watch", "a", "b"], "got unexpected extra argument"),
    (["unknown", "a", "b"], "got unexpected extra argument"),
    (["workers", "a"], "got unexpected extra argument"),
    (["drain"], "missing argument 'WORKER'"),
    (["reconcile", "t"], "missing argument 'SUBJECT'"),
    (
        ["reconcile", "t", "s"],
        "give one of --happened JSON, --did-not-happen, --still-unknown and --abandon",
    ),
    (["reconcile", "t", "s", "--abandon", "--still-unknown"], "give one of --happened JSON"),
    (["reconcile", "t", "s", "--happened", "{"], "--happened: { is no JSON"),
    (["token", "create"], "missing option '--role'"),
    (["token", "create", "--role", "king", "--name", "x"], "invalid value for '--role'"),
    (["token", "revoke"], "missing argument 'ID...'"),
    (["tasks", "--url", "ftp://x"], "--url: 'ftp://x' is no control plane"),
]


@pytest.mark.parametrize(("args", "said"), WRONG, ids=[" ".join(args) for args, _ in WRONG])
def test_wrong_usage_is_one_line_and_exit_code_2(
    args: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(args) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("tenure: ")
    assert said in shown.err
    assert shown.err.count("\n") == 1
    assert not shown.out


def test_help_loads_nothing_that_a_verb_needs() -> None:
    code = (
        "import sys\nfrom tenure.cli.main import run\nrun(['--help'])\nprint(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stderr.split()
    assert not [name for name in loaded for heavy in HEAVY if f"{name}.".startswith(f"{heavy}.")]


def test_a_reader_that_has_enough_is_no_failure() -> None:
    command = [sys.executable, "-m", "tenure.cli.main", "--help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_a_traceback_only_with_debug(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["worker", "--app", "media"]) == 2
    assert "Traceback" not in capsys.readouterr().err
    with pytest.raises(Exception, match="--app"):
        run(["worker", "--app", "media", "--debug"])


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tenure 0.")


def test_what_nobody_expected_is_one_line_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def surprise(*_: object, **__: object) -> None:
        raise LookupError("nowhere")

    monkeypatch.setattr("tenure.cli.work.worker_settings", surprise)
    assert run(["worker", "--app", "a:b"]) == 1
    assert capsys.readouterr().err == "tenure: LookupError: nowhere; --debug shows where\n"
    with pytest.raises(LookupError):
        run(["worker", "--app", "a:b", "--debug"])


def test_the_shell_completes_verbs() -> None:
    environment = {
        **os.environ,
        "_TENURE_COMPLETE": "bash_complete",
        "COMP_WORDS": "tenure sub",
        "COMP_CWORD": "1",
    }
    command = [sys.executable, "-m", "tenure.cli.main"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["plain,submit"]
