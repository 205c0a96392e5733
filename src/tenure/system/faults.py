"""What stands behind the fault points: nothing by default, or a gate that a test holds.

With `TENURE_FAULTS` naming a Unix socket, a process connects to the gate there and is told which points are
armed. Reaching an armed one reports it and blocks the calling thread until the gate lets it go, kills the
process, or goes away itself. Both sides speak JSON lines:

    process → gate   {"hello": {"pid", "role"}}   {"armed": NUMBER}   {"visit": NUMBER, "point", "subject"}
    gate → process   {"arm": NUMBER, "points": [POINT, …]}            {"go": NUMBER}
"""

import contextlib
import itertools
import json
import os
import socket
import threading
from typing import cast

from tenure.core.faultpoints import FaultPoint
from tenure.ports.faults import Faults

SETTING = "TENURE_FAULTS"
"""Name of the environment setting that holds the gate's address."""

CONNECT_S = 10.0
"""Bound on the time until the gate has answered the greeting."""


class NoFaults:
    """Every fault point is passed without a look; what production runs with."""

    def reach(self, point: FaultPoint, subject: str = "") -> None:
        """Do nothing."""


class SocketFaults:
    """Reports armed fault points to a gate and waits there."""

    def __init__(self, address: str, role: str) -> None:
        """Connect to the gate, say who this is, and return once the gate's list of armed points is in force.

        Raises:
            OSError: Nobody listens at the address; a test that set it wants to know.
        """
        self._armed: frozenset[str] = frozenset()
        self._visits = itertools.count(1)
        self._waiting: dict[int, threading.Event] = {}
        self._guard = threading.Lock()
        self._told = threading.Event()
        self._gone = False
        self._socket = _connected(address)
        self._send({"hello": {"pid": os.getpid(), "role": role}})
        threading.Thread(target=self._listen, name="fault-gate", daemon=True).start()
        self._told.wait(CONNECT_S)

    def reach(self, point: FaultPoint, subject: str = "") -> None:
        """Report the point if it is armed, and return when the gate says go."""
        if point not in self._armed:
            return
        go = threading.Event()
        with self._guard:
            if self._gone:
                return
            visit = next(self._visits)
            self._waiting[visit] = go
        self._send({"visit": visit, "point": point.value, "subject": subject})
        go.wait()  # Bound: the gate's own; when the gate ends, its socket closes and everybody goes

    def _send(self, message: dict[str, object]) -> None:
        try:
            with self._guard:
                self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self._let_all_go()

    def _listen(self) -> None:
        """Take what the gate says until it is gone."""
        with self._socket, self._socket.makefile("rb") as lines, contextlib.suppress(OSError):
            for line in lines:
                self._take(cast("dict[str, object]", json.loads(line)))
        # The gate has ended, or was cut off, which is the same.
        self._let_all_go()

    def _take(self, message: dict[str, object]) -> None:
        if "go" in message:
            with self._guard:
                waiting = self._waiting.pop(cast("int", message["go"]), None)
            if waiting is not None:
                waiting.set()
            return
        self._armed = frozenset(cast("list[str]", message["points"]))
        self._send({"armed": message["arm"]})
        self._told.set()

    def _let_all_go(self) -> None:
        with self._guard:
            self._gone = True
            self._armed = frozenset()
            waiting, self._waiting = self._waiting, {}
        for go in waiting.values():
            go.set()
        self._told.set()


def _connected(address: str) -> socket.socket:
    """Return a socket that is connected to the gate, or close it again."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(CONNECT_S)
        connection.connect(address)
        connection.settimeout(None)
    except OSError:
        connection.close()
        raise
    return connection


def faults_of(role: str, address: str | None = None) -> Faults:
    """Return the fault points of a process: those of the gate that is named, else none.

    Args:
        role: `supervisor`, `executor` or `server`; what the gate sees of the process beside its pid.
        address: The gate's socket; by default what the environment says.

    """
    address = address or os.environ.get(SETTING)
    return SocketFaults(address, role) if address else NoFaults()
