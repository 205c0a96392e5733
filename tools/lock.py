"""Renew the lock files: every platform and Python version, with hashes, and naming no index.

The resolver is installed into a folder of its own, since it is needed here and nowhere else. It reads no
settings but these arguments, so what a machine adds to its own configuration stays out of the locks.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESOLVER = "uv>=0.9"
TARGETS: dict[str, list[str]] = {"run.lock": [], "dev.lock": ["--group", "dev"]}
OPTIONS = [
    "--quiet",
    "--universal",
    "--python-version=3.11",
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--no-header",
    "--no-annotate",
    "--no-config",
    "--upgrade",
]


def install_resolver(folder: Path) -> Path:
    """Install the resolver into the folder and return its program."""
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "pip", "install", "-qq", RESOLVER], check=True)
    return folder / "bin" / "uv"


def main() -> int:
    """Resolve each lock and put it in place only when it is whole."""
    for name in [name for name in os.environ if name.startswith("UV_")]:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as scratch:
        resolver = install_resolver(Path(scratch) / "resolver")
        for name, selection in TARGETS.items():
            fresh = Path(scratch) / name
            command = [
                resolver,
                "pip",
                "compile",
                "pyproject.toml",
                *selection,
                *OPTIONS,
                "--output-file",
                fresh,
            ]
            subprocess.run(command, cwd=ROOT, check=True)
            (ROOT / "requirements" / name).write_text(fresh.read_text())
            print(f"lock: requirements/{name} renewed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
