"""Halts real processes at named fault points and strikes there.

A `Gate` listens on a Unix socket whose address goes to the processes under test as `TENURE_FAULTS`. A
`Strike` says at which point, whose, and what happens there: the visitor is killed or held, another process
dies, a reply is lost. The test waits for the strike, with a bound; a gate remembers every visit, so a suite
can show that it has been everywhere.
"""

import json
import os
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, cast

from tenure.core.faultpoints import FaultPoint
from tenure.system.faults import SETTING

WAIT_S = 20.0
"""Bound on the wait for a strike or a visit."""

ARM_S = 5.0
"""Bound on the time in which connected processes take a new list of armed points."""

DEATH_S = 5.0
"""Bound on the time in which a killed process is gone."""


@dataclass(frozen=True)
class Visit:
    """One process at one fault point, there until it is let go or dead."""

    pid: int
    role: str
    point: FaultPoint
    subject: str
    gone: threading.Event = field(repr=False, compare=False)


class Strike:
    """One blow that waits at a fault point; it falls once, on the nth matching visit."""

    def __init__(
        self,
        point: FaultPoint,
        act: "Act",
        nth: int,
        role: str | None,
        subject: str | None,
        seen: Callable[[], str],
    ) -> None:
        """Made by `Gate.arm`."""
        self.point, self.act, self.role, self.subject = point, act, role, subject
        self.visit: Visit | None = None
        self.error: Exception | None = None
        self.released = threading.Event()
        self._reached, self._struck = threading.Event(), threading.Event()
        self._left = nth
        self._seen = seen

    @property
    def is_pending(self) -> bool:
        """Whether it has not fallen yet."""
        return self._left > 0

    def wait_reached(self, timeout_s: float = WAIT_S) -> Visit:
        """Return when the visitor stands at the point, whatever happens to it there.

        Raises:
            TimeoutError: Nobody came; the text says who came where instead.
        """
        return self._wait(self._reached, timeout_s)

    def wait(self, timeout_s: float = WAIT_S) -> Visit:
        """Return when what was to happen at the point has happened; a killed visitor is gone by then.

        Raises:
            TimeoutError: It has not happened; the text says who came where instead.
        """
        visit = self._wait(self._struck, timeout_s)
        if self.error is not None:
            raise self.error
        return visit

    def let_go(self) -> None:
        """Let a held visitor go on."""
        self.released.set()

    def falls_on(self, visit: Visit) -> bool:
        """Count the visit if it matches, and say whether it is the one."""
        matches = (
            self.point == visit.point
            and self.role in {None, visit.role}
            and self.subject in {None, visit.subject}
        )
        if not matches or not self.is_pending:
            return False
        self._left -= 1
        return not self.is_pending

    def fall(self, visit: Visit) -> None:
        """Do it; an error in the act is kept for the test that waits, and the visitor goes on."""
        self.visit = visit
        self._reached.set()
        try:
            self.act(visit, self)
        except Exception as error:  # noqa: BLE001 - raised again where the test waits
            self.error = error
        self._struck.set()

    def _wait(self, event: threading.Event, timeout_s: float) -> Visit:
        if not event.wait(timeout_s):
            wanted = f"{self.role or 'anybody'} at {self.point} {self.subject or ''}".rstrip()
            raise TimeoutError(f"waited {timeout_s} s for {wanted}; seen: {self._seen()}")
        return cast("Visit", self.visit)


Act = Callable[[Visit, Strike], object]
"""What happens at the point, on a thread of its own; when it returns, the visitor goes on."""


def hold(visit: Visit, strike: Strike) -> None:
    """Keep the visitor until the test lets it go."""
    hold_for(threading.TIMEOUT_MAX)(visit, strike)


def hold_for(seconds: float) -> Act:
    """Keep the visitor for so long, or until the test lets it go."""

    def act(_visit: Visit, strike: Strike) -> None:
        strike.released.wait(seconds)

    return act


def kill_visitor(visit: Visit, _strike: Strike) -> None:
    """`kill -9` the process that is there, and wait until it is gone."""
    os.kill(visit.pid, signal.SIGKILL)
    if not visit.gone.wait(DEATH_S):
        raise TimeoutError(f"{visit} has not died in {DEATH_S} s")


def then(call: Callable[[], object]) -> Act:
    """Do something else while the visitor stands there, such as killing another process, then let it go."""

    def act(_visit: Visit, _strike: Strike) -> None:
        call()

    return act


class _Guest:
    """One connected process."""

    def __init__(self, connection: socket.socket) -> None:
        """Read who it is."""
        self.connection = connection
        self.lines = connection.makefile("rb")
        hello = cast("Mapping[str, object]", json.loads(self.lines.readline())["hello"])
        self.pid, self.role = cast("int", hello["pid"]), cast("str", hello["role"])
        self.armed = 0
        self.gone = threading.Event()
        self._guard = threading.Lock()

    def tell(self, message: Mapping[str, object]) -> None:
        """Say something to the process; one that is dead does not hear it."""
        try:
            with self._guard:
                self.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            return

    def close(self) -> None:
        """Hang up, which lets all its threads go."""
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it has hung up itself


class Gate:
    """Where processes under test stop; use as a context.

    Args:
        watch: Points whose visits are recorded although nothing strikes there; each costs a round trip.
    """

    def __init__(self, watch: Iterable[FaultPoint] = ()) -> None:
        """Listen in a new folder under the temporary one: the path of a Unix socket must be short."""
        self._watched = frozenset(watch)
        self._folder = Path(tempfile.mkdtemp(prefix="gate-"))
        self.address = str(self._folder / "s")
        self._visits: list[Visit] = []
        self._strikes: list[Strike] = []
        self._guests: list[_Guest] = []
        self._lists = 0
        self._changed = threading.Condition()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.address)
        self._listener.listen(64)
        self._porter = threading.Thread(target=self._admit, name="gate", daemon=True)
        self._porter.start()

    @property
    def environment(self) -> dict[str, str]:
        """The setting that sends a process to this gate."""
        return {SETTING: self.address}

    def arm(
        self,
        point: FaultPoint,
        act: Act = hold,
        *,
        nth: int = 1,
        role: str | None = None,
        subject: str | None = None,
    ) -> Strike:
        """Have the nth matching visit from now on struck, and return when every connected process knows.

        Args:
            point: Where.
            act: What happens there: `hold`, `hold_for(s)`, `kill_visitor`, `then(call)` or your own.
            nth: Which of the matching visits.
            role: Only visits of this role match.
            subject: Only visits with this subject match.

        Raises:
            TimeoutError: A connected process has not taken the list; it may be stopped.
        """
        strike = Strike(point, act, nth, role, subject, self.seen)
        with self._changed:
            self._strikes.append(strike)
            self._tell_points()
        return strike

    def disarm(self) -> None:
        """Drop the strikes that have not fallen and let everybody go; watched points stay watched."""
        with self._changed:
            for strike in self._strikes:
                strike.let_go()
            self._strikes.clear()
            self._tell_points()

    def wait_visits(self, count: int, timeout_s: float = WAIT_S) -> list[Visit]:
        """Return all visits once there are so many."""
        with self._changed:
            if self._changed.wait_for(lambda: len(self._visits) >= count, timeout_s):
                return list(self._visits)
        raise TimeoutError(f"waited {timeout_s} s for {count} visits; seen: {self.seen()}")

    def wait_guests(self, role: str, count: int = 1, timeout_s: float = WAIT_S) -> list[int]:
        """Return the pids of the connected processes of a role once there are so many."""

        def pids() -> list[int]:
            return [guest.pid for guest in self._guests if guest.role == role]

        with self._changed:
            if self._changed.wait_for(lambda: len(pids()) >= count, timeout_s):
                return pids()
        raise TimeoutError(f"waited {timeout_s} s for {count} processes of role {role}; there are {pids()}")

    @property
    def visits(self) -> list[Visit]:
        """All visits to armed and watched points so far, in order."""
        with self._changed:
            return list(self._visits)

    def visited(self) -> set[FaultPoint]:
        """Return the points that were reached while armed or watched."""
        return {visit.point for visit in self.visits}

    def seen(self) -> str:
        """Return the last visits in words."""
        words = [f"{v.role} ({v.pid}) at {v.point} {v.subject}".rstrip() for v in self.visits[-20:]]
        return ", ".join(words) or "nothing"

    def close(self) -> None:
        """Let everybody go and stop listening."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._porter.join(DEATH_S)
        self._listener.close()
        with self._changed:
            for strike in self._strikes:
                strike.let_go()
            guests = list(self._guests)
        for guest in guests:
            guest.close()
            guest.gone.wait(DEATH_S)
        shutil.rmtree(self._folder)

    def __enter__(self) -> Self:
        """Use as a context that lets everybody go."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let everybody go."""
        self.close()

    def _admit(self) -> None:
        """Let processes in until the gate is closed."""
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._attend, args=(connection,), name="gate-guest", daemon=True).start()

    def _attend(self, connection: socket.socket) -> None:
        """Serve one process until it is gone."""
        with connection:
            try:
                guest = _Guest(connection)
            except (OSError, ValueError):
                return  # killed before it could say who it is
            with self._changed:
                self._guests.append(guest)
                guest.tell(self._points())
                self._changed.notify_all()
            try:
                for line in guest.lines:
                    self._take(guest, cast("Mapping[str, object]", json.loads(line)))
            except (OSError, ValueError):
                pass  # killed in the middle of a line
            finally:
                guest.lines.close()
                self._take_leave(guest)

    def _take(self, guest: _Guest, message: Mapping[str, object]) -> None:
        """Note that a list was taken, or receive a visit."""
        if "armed" in message:
            with self._changed:
                guest.armed = cast("int", message["armed"])
                self._changed.notify_all()
            return
        number = cast("int", message["visit"])
        point, subject = FaultPoint(cast("str", message["point"])), cast("str", message["subject"])
        visit = Visit(guest.pid, guest.role, point, subject, guest.gone)
        with self._changed:
            self._visits.append(visit)
            # A list, because every strike counts the visit, also behind the one that falls.
            falling = [strike for strike in self._strikes if strike.falls_on(visit)]
            self._changed.notify_all()
        if falling:
            threading.Thread(target=_strike, args=(falling, visit, guest, number), daemon=True).start()
        else:
            guest.tell({"go": number})

    def _take_leave(self, guest: _Guest) -> None:
        """Forget a process that is gone; what was held for it goes on."""
        guest.gone.set()
        with self._changed:
            self._guests.remove(guest)
            for strike in self._strikes:
                if strike.visit is not None and strike.visit.gone is guest.gone:
                    strike.let_go()
            self._changed.notify_all()

    def _points(self) -> Mapping[str, object]:
        """Return the message that names the points to report."""
        pending = {strike.point for strike in self._strikes if strike.is_pending}
        return {"arm": self._lists, "points": sorted(self._watched | pending)}

    def _tell_points(self) -> None:
        """Send the list to everybody and wait until each has taken it or is gone."""
        self._lists += 1
        number = self._lists
        for guest in self._guests:
            guest.tell(self._points())

        def behind() -> list[int]:
            return [guest.pid for guest in self._guests if guest.armed < number]

        if not self._changed.wait_for(lambda: not behind(), ARM_S):
            raise TimeoutError(f"{behind()} have not taken the armed points in {ARM_S} s; are they stopped?")


def _strike(falling: Iterable[Strike], visit: Visit, guest: _Guest, number: int) -> None:
    """Let the strikes fall on one visit, then let the visitor go."""
    for strike in falling:
        strike.fall(visit)
    guest.tell({"go": number})
