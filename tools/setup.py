"""Make the virtual environment match the lock file and the project file; do nothing when it does.

Runs on a bare Python 3.11 or newer, before anything is installed, so it uses the standard library alone.
Several `make` calls may run at once in one folder: a kernel lock lets one work while the others wait and
then find it done.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
LOCK_FILE = ROOT / "requirements" / "dev.lock"
PROJECT_FILE = ROOT / "pyproject.toml"
LOCK_STAMP = VENV / "lock.stamp"
PROJECT_STAMP = VENV / "project.stamp"
OLDEST = (3, 11)


def digest(source: Path) -> str:
    """Name the content of a file and the folder it is used in, since a moved environment does not work."""
    return hashlib.sha256(str(VENV).encode() + b"\0" + source.read_bytes()).hexdigest()


def matches(stamp: Path, source: Path) -> bool:
    """Say whether the stamp was left by this very content in this very folder."""
    return stamp.is_file() and stamp.read_text() == digest(source)


def is_usable() -> bool:
    """Say whether the environment runs, with the interpreter that was asked for if one was (PYTHON=...)."""
    if not VENV_PYTHON.exists():
        return False  # Also a link to an interpreter that has gone
    if not os.environ.get("PYTHON"):
        return True
    return f"version = {platform.python_version()}\n" in (VENV / "pyvenv.cfg").read_text()


def is_done() -> bool:
    """Say whether there is nothing to do."""
    return is_usable() and matches(LOCK_STAMP, LOCK_FILE) and matches(PROJECT_STAMP, PROJECT_FILE)


def run(*command: str | Path) -> None:
    """Run a command in the project's folder and stop with its exit code when it fails."""
    code = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode
    if code != 0:
        sys.exit(f"setup: `{' '.join(map(str, command))}` ended with exit code {code}")


def create_environment() -> None:
    """Create the environment anew; it holds nothing of its own, so an older one is thrown away."""
    print(f"setup: creating .venv with Python {platform.python_version()}", flush=True)
    run(sys.executable, "-m", "venv", "--clear", VENV)


def pip_install(*arguments: str | Path) -> None:
    """Install with the environment's own pip, without asking and without its advice to renew itself."""
    run(VENV_PYTHON, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input", *arguments)


def install_dependencies() -> None:
    """Install exactly what the lock names, checked against its hashes."""
    if not matches(LOCK_STAMP, LOCK_FILE):
        create_environment()
        print("setup: installing requirements/dev.lock", flush=True)
        pip_install("--require-hashes", "--requirement", LOCK_FILE)
        LOCK_STAMP.write_text(digest(LOCK_FILE))


def install_project() -> None:
    """Install the project in place; its build tool comes from the lock, so nothing else is fetched."""
    if not matches(PROJECT_STAMP, PROJECT_FILE):
        print("setup: installing tenure in place", flush=True)
        pip_install("--no-deps", "--no-build-isolation", "--editable", ROOT)
        PROJECT_STAMP.write_text(digest(PROJECT_FILE))


def main() -> None:
    """Bring the environment up to date under the folder's lock."""
    if sys.version_info < OLDEST:
        sys.exit(f"setup: Python {platform.python_version()} is older than 3.11; name one with PYTHON=...")
    if is_done():
        return
    gate = os.open(ROOT / ".setup.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    fcntl.flock(gate, fcntl.LOCK_EX)
    if not is_usable():
        LOCK_STAMP.unlink(missing_ok=True)
    install_dependencies()
    install_project()


if __name__ == "__main__":
    main()
