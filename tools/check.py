"""Run every static check and say at the end which ones did not pass.

All of them run even after one has failed, so that one call shows everything there is to mend.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"

CHECKS: dict[str, list[str]] = {
    "format": [f"{BIN}/ruff", "format", "--check", "--quiet", "."],
    "lint": [f"{BIN}/ruff", "check", "--quiet", "."],
    "types": [f"{BIN}/basedpyright"],
    "imports": [f"{BIN}/lint-imports"],
    "style": [f"{BIN}/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/style"],
    "pages": [f"{BIN}/python", "-m", "tools.docs", "--check"],
}


def passes(name: str, command: list[str]) -> bool:
    """Run one check, show its output only when it does not pass, and report its time."""
    started = time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    passed = done.returncode == 0
    print(f"{name:<8} {'ok' if passed else 'NOT OK':<7} {time.monotonic() - started:5.1f} s", flush=True)
    if not passed:
        print(done.stdout.decode(errors="replace"), flush=True)
    return passed


def main(names: list[str]) -> int:
    """Run the named checks, or all of them."""
    unknown = set(names) - CHECKS.keys()
    if unknown:
        print(f"check: there is no check {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}")
        return 2
    failed = [name for name in names or CHECKS if not passes(name, CHECKS[name])]
    if failed:
        print(f"check: {', '.join(failed)} did not pass")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
