"""What this process may use of its machine: processors and memory, container limits included."""

import os
from pathlib import Path
from typing import Final

import psutil

_CGROUPS: Final = Path("/sys/fs/cgroup")
_OWN_CGROUP: Final = Path("/proc/self/cgroup")


def processors() -> float:
    """Return how many processors this process may keep busy, a fraction where a container has one."""
    allowed = float(_allowed_processors())
    for group in _groups():
        words = _read(group / "cpu.max").split()
        if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]) > 0:
            allowed = min(allowed, int(words[0]) / int(words[1]))
    return allowed


def memory_bytes() -> int:
    """Return how much memory this process may use."""
    allowed = int(psutil.virtual_memory().total)
    for group in _groups():
        text = _read(group / "memory.max").strip()
        if text.isdigit():
            allowed = min(allowed, int(text))
    return allowed


def capacity() -> dict[str, float]:
    """Return both under the protocol's names for resources."""
    return {"cpu_millis": float(round(processors() * 1000)), "memory_bytes": float(memory_bytes())}


def _allowed_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _groups() -> list[Path]:
    """Return this process's control group and those above it; each can only lower what is allowed."""
    lines = _read(_OWN_CGROUP).splitlines()
    own = next((line.removeprefix("0::").lstrip("/") for line in lines if line.startswith("0::")), "")
    folder = _CGROUPS / own
    return [folder, *(parent for parent in folder.parents if parent.is_relative_to(_CGROUPS))]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
