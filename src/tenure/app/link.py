"""The executor's end of the line to its supervisor: frames out, answers and orders in.

One thread reads, whatever the author's code does with the others; whoever has a frame writes it, several
frames in one write where they come together. When the line closes the supervisor is gone, or wants this
process gone.
"""

import socket
import threading
from collections.abc import Callable
from typing import Final, TypeVar, cast

from tenure.app.reply import Reply
from tenure.core.checkpoint import Progress
from tenure.core.errors import (
    Cancelled,
    EffectMismatch,
    Invalid,
    LeaseLost,
    StoreUnavailable,
    TenureError,
    TooLarge,
)
from tenure.core.execution import BeginEffect, EffectStanding, EndEffect, Saved
from tenure.ports.clock import Clock
from tenure.wire.executor import (
    Advance,
    Begin,
    Cancel,
    Down,
    Durable,
    End,
    FindStep,
    Found,
    Held,
    HoldLease,
    LeaseMoved,
    Question,
    Refusal,
    Run,
    SaveCheckpoint,
    SaveStep,
    Standing,
    Stop,
    Up,
    encode_frame,
    read_down,
)

T = TypeVar("T")
Order = Run | Cancel | LeaseMoved | Stop

READ_BYTES: Final = 256 * 1024
PROGRESS_S: Final = 0.05
"""Bound: progress is sent at most so often; the newest always goes before anything else of its attempt."""

_ERRORS: Final[dict[str, type[TenureError]]] = {
    kind.code: kind for kind in (Cancelled, EffectMismatch, Invalid, LeaseLost, TooLarge)
}


class Link:
    """Asks on behalf of executions, and hands on what the supervisor orders."""

    def __init__(self, line: socket.socket, clock: Clock) -> None:
        """Take the connected socket; nothing is read before `listen`."""
        self._line = line
        self._clock = clock
        self._guard = threading.Lock()
        self._unsent: list[bytes] = []
        self._number = 0
        self._asked: dict[int, Reply[object]] = {}
        self._progress: dict[str, Progress] = {}
        self._progress_sent_at = 0.0
        self._progress_waits = threading.Event()
        self._has_ticker = False

    def listen(self, take: Callable[[list[Order]], None], closed: Callable[[], None]) -> None:
        """Start the reading thread; it hands over orders as they come, and says when the line has closed."""
        threading.Thread(target=self._listen, args=(take, closed), name="supervisor", daemon=True).start()

    def send(self, message: Up, attempt_id: str = "") -> None:
        """Write a frame, behind the newest progress of its attempt."""
        with self._guard:
            self._add(message, attempt_id)
            self._flush()

    def put(self, message: Up, attempt_id: str = "") -> None:
        """Keep a frame for the next `flush`."""
        with self._guard:
            self._add(message, attempt_id)

    def flush(self) -> None:
        """Write what was kept."""
        with self._guard:
            self._flush()

    def begin_effect(self, attempt_id: str, wanted: BeginEffect) -> Reply[EffectStanding]:
        """Ask whether an effect may begin."""
        return self._ask(attempt_id, lambda number: Begin(number, attempt_id, wanted))

    def end_effect(self, attempt_id: str, ended: EndEffect) -> Reply[None]:
        """Have an effect's outcome saved."""
        return self._ask(attempt_id, lambda number: End(number, attempt_id, ended))

    def find_step(self, attempt_id: str, name: str) -> Reply[Saved | None]:
        """Ask for the saved result of a step."""
        return self._ask(attempt_id, lambda number: FindStep(number, attempt_id, name))

    def save_step(self, attempt_id: str, saved: Saved) -> Reply[None]:
        """Have a step's result saved."""
        return self._ask(attempt_id, lambda number: SaveStep(number, attempt_id, saved))

    def save_checkpoint(self, attempt_id: str, value: object, *, portable: bool) -> Reply[None]:
        """Have a checkpoint saved."""
        return self._ask(attempt_id, lambda number: SaveCheckpoint(number, attempt_id, value, portable))

    def hold_lease(self, attempt_id: str, seconds: float) -> Reply[bool]:
        """Ask whether the lease is held for so long."""
        return self._ask(attempt_id, lambda number: HoldLease(number, attempt_id, seconds))

    def advance(self, attempt_id: str, progress: Progress) -> None:
        """Hand on progress: now if there was none lately, else with the next tick; the newest counts."""
        with self._guard:
            self._progress[attempt_id] = progress
            if self._clock.boot() - self._progress_sent_at >= PROGRESS_S:
                self._flush_progress()
                return
            if not self._has_ticker:
                self._has_ticker = True
                threading.Thread(target=self._tick, name="progress", daemon=True).start()
        self._progress_waits.set()

    def _ask(self, attempt_id: str, question: Callable[[int], Question]) -> Reply[T]:
        reply: Reply[T] = Reply()
        with self._guard:
            self._number += 1
            self._add(question(self._number), attempt_id)
            self._asked[self._number] = cast("Reply[object]", reply)
            self._flush()
        return reply

    def _add(self, message: Up, attempt_id: str) -> None:
        frame = encode_frame(message)
        if self._progress and attempt_id in self._progress:
            self._unsent.append(encode_frame(Advance(attempt_id, self._progress.pop(attempt_id))))
        self._unsent.append(frame)

    def _flush(self) -> None:
        if self._unsent:
            data, self._unsent = b"".join(self._unsent), []
            self._line.sendall(data)

    def _flush_progress(self) -> None:
        self._unsent += [encode_frame(Advance(*item)) for item in self._progress.items()]
        self._progress.clear()
        self._progress_sent_at = self._clock.boot()
        self._flush()

    def _tick(self) -> None:
        """Send the newest progress that came too soon after the one before."""
        never = threading.Event()
        while True:
            self._progress_waits.wait()
            self._progress_waits.clear()
            never.wait(PROGRESS_S)
            with self._guard:
                self._flush_progress()

    def _listen(self, take: Callable[[list[Order]], None], closed: Callable[[], None]) -> None:
        reader = read_down()
        buffer = bytearray(READ_BYTES)
        with memoryview(buffer) as view:
            try:
                while size := self._line.recv_into(buffer):
                    self._hand_on(reader.feed(view[:size]), take)
            except OSError:
                pass  # reset: closed as well
        closed()

    def _hand_on(self, messages: list[Down], take: Callable[[list[Order]], None]) -> None:
        orders: list[Order] = []
        for message in messages:
            if isinstance(message, Order):
                orders.append(message)
                continue
            reply = self._asked.pop(message.number, None)
            if reply is not None:
                _settle(reply, message)
        if orders:
            take(orders)


def _settle(reply: Reply[object], answer: Standing | Found | Durable | Held | Refusal) -> None:
    match answer:
        case Standing():
            reply.settle(answer.standing)
        case Found():
            reply.settle(answer.saved)
        case Durable():
            reply.settle(None)
        case Held():
            reply.settle(answer.held)
        case Refusal():
            reply.fail(_ERRORS.get(answer.code, StoreUnavailable)(answer.text))
