"""The bench runs, and its own checks hold, on a small load."""

import json
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BENCH_S = 100


@pytest.mark.slow
@pytest.mark.timeout(BENCH_S + 10)
def test_the_bench_measures_and_checks_itself() -> None:
    asked = ["--json", "--rounds", "1", "--tasks", "300", "--alone", "20", "--singles", "5"]
    command = [sys.executable, "-m", "bench.run", *asked]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=BENCH_S, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    told = cast("dict[str, list[dict[str, object]]]", json.loads(ran.stdout))
    [shared], [alone] = told["shared"], told["process"]
    assert "is lost" in str(shared["refusal"])
    assert shared["settings"] == {"journal_mode": "wal", "synchronous": 2}
    assert cast("dict[str, float]", shared["drain"])["tasks"] == 300
    assert cast("dict[str, float]", alone["drain"])["tasks"] == 20
