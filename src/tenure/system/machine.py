"""What machine this is and which boot of it: what the proofs about dead processes rest on (C122)."""

import hashlib
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_SYSCTL = "/usr/sbin/sysctl"
_SYSCTL_S = 5.0


@cache
def boot_id() -> str:
    """Return the kernel's name for this boot; after a restart of the machine it is another one."""
    if sys.platform == "linux":
        return _BOOT_ID.read_text(encoding="ascii").strip()
    return _sysctl("kern.bootsessionuuid")


@cache
def node_id() -> str:
    """Return a stable id of this machine that does not give the machine's own id away.

    Where the machine has none, its host name has to do; then a renamed machine counts as another one.
    """
    own = _machine_id()
    if own is None:
        return f"host-{socket.gethostname().split('.')[0]}"[:128]
    return "node-" + hashlib.sha256(f"tenure node {own}".encode()).hexdigest()[:32]


def _machine_id() -> str | None:
    if sys.platform != "linux":
        return _sysctl("kern.uuid")
    for path in _MACHINE_IDS:
        try:
            text = path.read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text and text != "uninitialized":
            return text
    return None


def _sysctl(name: str) -> str:
    done = subprocess.run(
        [_SYSCTL, "-n", name], check=True, capture_output=True, text=True, timeout=_SYSCTL_S
    )
    return done.stdout.strip()
