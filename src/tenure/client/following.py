"""Following a task across lost connections and restarts of the server, within a deadline."""

import threading
import time
from collections.abc import Iterator
from typing import Final

import msgspec

from tenure.client.http import BlockingHttp
from tenure.core.backoff import jittered_s, sender_delay_s
from tenure.core.errors import DeliveryFailed, TooLarge
from tenure.core.task import TaskState
from tenure.core.view import TaskView
from tenure.ports.ids import Ids
from tenure.wire.codec import decode_answer
from tenure.wire.endpoints import BY_NAME
from tenure.wire.events import TASK_EVENT
from tenure.wire.limits import SILENCE_S
from tenure.wire.sse import StreamParser

PATIENCE_S: Final = 120.0
"""Bound: how long a control plane that answered once may stay away before following it ends."""


class Deadline:
    """How long something may take; None is as long as it takes."""

    def __init__(self, seconds: float | None) -> None:
        """Begin now."""
        self._until = None if seconds is None else time.monotonic() + seconds

    def left_s(self, most_s: float) -> float:
        """Return what is left, at most so much, or raise `TimeoutError`."""
        if self._until is None:
            return most_s
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the task has not ended in time")
        return min(left, most_s)


class Following:
    """One task's changes, until it is settled."""

    def __init__(self, http: BlockingHttp, token: str | None, ids: Ids, task_id: str) -> None:
        """Take the connections and the task; nothing is asked yet."""
        self._http = http
        self._token = token
        self._ids = ids
        self._task_id = task_id
        self._last: TaskView | None = None

    def views(self, deadline: Deadline) -> Iterator[TaskView]:
        """Yield the task at once and on each change until it is settled.

        Raises:
            NotFound: There is no such task.
            DeliveryFailed: The control plane does not answer at the beginning, or stayed away for too long.
            TimeoutError: The deadline has passed.
        """
        failures, away_since = 0, time.monotonic()
        while not self._ended:
            try:
                for view in self._connected(deadline):
                    failures, away_since = 0, time.monotonic()
                    yield view
            except DeliveryFailed:
                deadline.left_s(0)
                if self._last is None or time.monotonic() - away_since > PATIENCE_S:
                    raise
                failures += 1
                self._pause(failures, deadline)

    @property
    def _ended(self) -> bool:
        return self._last is not None and TaskState(self._last.state).is_settled

    def _connected(self, deadline: Deadline) -> Iterator[TaskView]:
        """Yield what one connection tells; it is given up when its silence could outlast the deadline."""
        silence_s = deadline.left_s(SILENCE_S)
        parser = StreamParser()
        with self._http.stream(
            BY_NAME["follow"], token=self._token, silence_s=silence_s, task_id=self._task_id
        ) as pieces:
            for piece in pieces:
                for view in self._views(parser, piece):
                    if view != self._last:
                        self._last = view
                        yield view
                if self._ended or deadline.left_s(SILENCE_S) < silence_s:
                    return

    def _views(self, parser: StreamParser, piece: bytes) -> Iterator[TaskView]:
        try:
            for event in parser.feed(piece):
                if event.event == TASK_EVENT:
                    yield decode_answer(event.data, TaskView)
        except (TooLarge, msgspec.DecodeError, RecursionError) as error:
            raise DeliveryFailed(f"the stream of task {self._task_id} cannot be read: {error}") from error

    def _pause(self, failures: int, deadline: Deadline) -> None:
        delay_s = jittered_s(sender_delay_s(failures), self._ids.jitter())
        threading.Event().wait(deadline.left_s(delay_s))
