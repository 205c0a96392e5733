"""How waiting for a task's result ends when there is none."""

from tenure.core.errors import OutcomeUnknown, TenureError
from tenure.core.view import SubjectView, TaskView


class TaskFailed(TenureError):
    """The task failed: `type`, `message` and `traceback` are of its last try, `attempts` counts its tries."""

    code = "failed"

    def __init__(self, task: TaskView) -> None:
        """Say how the task failed."""
        error = task.error
        self.task = task
        self.type = error.type if error is not None else "failed"
        self.message = error.message if error is not None else "no reason was given"
        self.traceback = error.traceback if error is not None else ""
        self.attempts = task.attempts
        super().__init__(f"{task.capability} {task.id} failed: {self.type}: {self.message}")


class TaskCancelled(TenureError):
    """The task was cancelled."""

    code = "cancelled"

    def __init__(self, task: TaskView) -> None:
        """Name the task."""
        self.task = task
        super().__init__(f"{task.capability} {task.id} was cancelled")


class TaskUnknown(OutcomeUnknown):
    """It cannot be shown what the task did; `unknown` holds what is in doubt, with its evidence.

    Nothing repeats it by itself: it waits for evidence or for a person.
    """

    def __init__(self, task: TaskView) -> None:
        """Name what is in doubt, and what to do about it."""
        self.task = task
        self.unknown: list[SubjectView] = task.unknown
        names = tuple(subject.subject for subject in task.unknown) or ("attempt",)
        named = f" of {task.key}" if task.key else ""
        super().__init__(
            f"{', '.join(names)}{named} may have happened; see tenure unknown {task.id}; "
            "nothing will repeat it",
            subjects=names,
        )


def result_of(task: TaskView) -> object:
    """Return the result of a task that has ended, or raise how it ended instead."""
    match task.state:
        case "done":
            return task.result
        case "failed":
            raise TaskFailed(task)
        case "cancelled":
            raise TaskCancelled(task)
        case _:
            raise TaskUnknown(task)
