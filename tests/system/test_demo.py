"""The main story, told once as a user tells it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

STORY_S = 150
SEED = "7"

Document = dict[str, object]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.CompletedProcess[str]]:
    folder: Path = tmp_path_factory.mktemp("elsewhere")
    (folder / "tenure.py").write_text("raise RuntimeError('what lies around here is not for the demo')\n")
    command = [sys.executable, "-P", "-m", "tenure.cli.main", "demo", "--json", "--seed", SEED]
    yield subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=STORY_S, check=False)
    assert [path.name for path in folder.iterdir()] == ["tenure.py"]


def documents(told: subprocess.CompletedProcess[str], event: str) -> list[Document]:
    lines = [cast("Document", json.loads(line)) for line in told.stdout.splitlines()]
    return [line for line in lines if line["event"] == event]


@pytest.mark.slow
@pytest.mark.timeout(STORY_S + 10)
@pytest.mark.xdist_group("demo")
def test_the_story_ends_well(told: subprocess.CompletedProcess[str]) -> None:
    """B24, B33, C119: killed again and again, every task ends once, and the doubt ends by a verdict."""
    assert told.returncode == 0, f"{told.stdout[-4000:]}\n{told.stderr[-8000:]}"
    checks = documents(told, "check")
    assert len(checks) == 8
    assert [check for check in checks if not check["ok"]] == []
    assert documents(told, "kept") == []
    assert len(documents(told, "killed")) >= 5
    assert len(documents(told, "unknown")) == 1


@pytest.mark.slow
@pytest.mark.timeout(STORY_S + 10)
@pytest.mark.xdist_group("demo")
def test_the_evidence_shows_what_recovery_did(told: subprocess.CompletedProcess[str]) -> None:
    [shown] = documents(told, "evidence")
    rows = {str(row["task"]): row for row in cast("list[Document]", shown["evidence"])}
    assert {row["state"] for row in rows.values()} == {"done"}
    assert "checkpoint" in str(rows["walk"]["reused"])
    assert any(row["found"] for name, row in rows.items() if name.startswith("render-"))
    assert "happen" in str(rows["charge"]["decided"])
    assert any(cast("int", row["generations"]) > 1 for row in rows.values())
