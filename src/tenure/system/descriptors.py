"""How many files and connections this process may have open."""

import contextlib
import resource
from typing import Final

DESCRIPTORS_MAX: Final = 65_536
"""Bound: as many as a server needs for all streams and calls that it lets in, several times over."""


def allow_descriptors() -> None:
    """Raise the process's soft limit to its hard one.

    Many systems start programs with 1,024, for the sake of those that call `select`. A server that keeps a
    stream for each worker is through with that long before its own bound says busy.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS_MAX if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_MAX)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # as many as there were
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
