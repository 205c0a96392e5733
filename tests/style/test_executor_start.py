"""An executor starts for every attempt that needs its own, so its imports are paid each time."""

import re
import subprocess
import sys

import pytest

from tests.style.tree import ROOT

CHILD = "tenure.app.child"
IMPORT_MS = 120
TRIES = 5  # The best of a few: another process on the same core is no fault of ours
OURS = {f"tenure.{part}" for part in ("cli", "client", "server", "service", "stores", "worker")}
OTHERS = {"apsw", "click", "httpx2", "rich", "starlette", "structlog", "uvicorn"}

pytestmark = pytest.mark.skipif(
    not (ROOT / "src" / "tenure" / "app" / "child.py").exists(), reason="there is no executor yet"
)


def modules_of_a_child() -> dict[str, float]:
    """Import the executor's main module afresh; return what that loads, each with its milliseconds."""
    command = [sys.executable, "-X", "importtime", "-c", f"import {CHILD}"]
    report = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stderr
    rows = re.findall(r"^import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)$", report, re.MULTILINE)
    names = [name for _, name in rows]
    return {name: int(own) / 1000 for own, name in rows[names.index("site") + 1 :]}  # site: the interpreter's


def test_an_executor_does_not_load_what_only_others_need() -> None:
    loaded = modules_of_a_child()
    unwanted = [name for name in loaded for other in OURS | OTHERS if f"{name}.".startswith(f"{other}.")]
    assert not unwanted


def test_an_executor_starts_quickly() -> None:
    best = min((modules_of_a_child() for _ in range(TRIES)), key=lambda loaded: sum(loaded.values()))
    slowest = sorted(best.items(), key=lambda item: -item[1])[:5]
    assert sum(best.values()) <= IMPORT_MS, f"importing {CHILD} takes {sum(best.values()):.0f} ms: {slowest}"
