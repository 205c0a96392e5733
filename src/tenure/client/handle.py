"""A submitted task in its submitter's hands."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Generic, Protocol, TypeVar, cast

from tenure.client.declared import Declared
from tenure.client.following import Deadline
from tenure.client.outcomes import result_of
from tenure.core.checkpoint import Progress
from tenure.core.errors import InvariantBroken
from tenure.core.task import TaskState
from tenure.core.view import TaskView

R = TypeVar("R")


class Asking(Protocol):
    """What a handle asks of its client."""

    def task(self, task_id: str) -> TaskView:
        """Return the task as it is now."""
        ...

    def follow_until(self, task_id: str, deadline: Deadline) -> Iterator[TaskView]:
        """Yield the task at once and on each change until it is settled."""
        ...

    def cancel(self, task_id: str) -> TaskView:
        """Cancel the task, or ask its holder to."""
        ...


class Task(Generic[R]):
    """One task: what it is doing, what came of it, and calling it off."""

    def __init__(self, client: Asking, id: str, declared: Declared | None = None) -> None:
        """Take the client that asks, and what the capability declares of its result."""
        self.id = id
        self._client = client
        self._declared = declared

    def __repr__(self) -> str:
        return f"Task({self.id!r})"

    def refresh(self) -> TaskView:
        """Return the task as it is now."""
        return self._client.task(self.id)

    def follow(self) -> Iterator[Progress]:
        """Yield its progress on each change, until it has ended or waits for a person."""
        last: Progress | None = None
        for view in self._client.follow_until(self.id, Deadline(None)):
            if view.progress is not None and view.progress != last:
                last = view.progress
                yield last
            if _has_ended(view):
                return

    def result(self, timeout: timedelta | None = None) -> R:
        """Wait until it has ended and return its result, in the type that the capability declares.

        Raises:
            TaskFailed: All its tries failed.
            TaskUnknown: It may have happened; it waits for evidence or for a person.
            TaskCancelled: It was cancelled.
            TimeoutError: It has not ended in time; it goes on all the same.
        """
        deadline = Deadline(None if timeout is None else timeout.total_seconds())
        for view in self._client.follow_until(self.id, deadline):
            if _has_ended(view):
                found = result_of(view)
                return cast("R", self._declared.signature.read_result(found) if self._declared else found)
        raise InvariantBroken(f"the stream of task {self.id} ended before the task did")

    def cancel(self) -> TaskView:
        """Cancel it, or ask its holder to, and return it as it is then."""
        return self._client.cancel(self.id)


def _has_ended(view: TaskView) -> bool:
    return TaskState(view.state).is_settled or view.state == TaskState.UNKNOWN
