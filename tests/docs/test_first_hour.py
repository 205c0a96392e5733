"""The guide's code stands in the example, and its commands say what it shows."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tenure.system.environment import inherited_environment
from tenure.testing.processes import Processes

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guides/first-hour.md").read_text(encoding="utf-8")
BOUND_S = 60


def blocks(kind: str) -> list[str]:
    """Return the guide's fenced blocks of a kind."""
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE, re.DOTALL)


def commands() -> list[tuple[str, str]]:
    """Return each command of the guide with what it is shown to print."""
    found: list[tuple[str, str]] = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            found.append((line, shown.strip()))
    return found


def matches(shown: str, printed: str) -> bool:
    """Say whether what was printed is what is shown; `…` stands for anything, space counts once."""
    pattern = r"\s+".join(".*?".join(re.escape(piece) for piece in word.split("…")) for word in shown.split())
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def test_the_guides_code_stands_in_the_example() -> None:
    example = (ROOT / "examples/media.py").read_text(encoding="utf-8")
    assert blocks("python")[0] in example


@pytest.mark.slow
def test_the_guides_commands_print_what_it_shows(tmp_path: Path) -> None:
    """B25 on the way: the same key with other content is refused."""
    (tmp_path / "hello.txt").write_text("hello", encoding="utf-8")
    (tmp_path / "other.txt").write_text("other", encoding="utf-8")
    tenure = [sys.executable, "-m", "tenure.cli.main"]
    logs = tmp_path / "logs"
    logs.mkdir()
    with Processes(logs, inherited_environment() | {"PYTHONPATH": str(ROOT)}) as processes:
        server = [*tenure, "server", "--listen", "127.0.0.1:0", "--json"]
        processes.start("server", server, cwd=tmp_path).wait_ready()
        worker = [*tenure, "worker", "--app", "examples.media:app", "--id", "w1", "--json"]
        processes.start("worker", worker, cwd=tmp_path).wait_ready()
        for line, shown in commands():
            words = shlex.split(line)
            assert words[0] == "tenure"
            done = subprocess.run(
                [*tenure, *words[1:]],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=BOUND_S,
                check=False,
            )
            printed = done.stdout + done.stderr
            assert matches(shown, printed), f"{line}\nshown:   {shown}\nprinted: {printed}"
