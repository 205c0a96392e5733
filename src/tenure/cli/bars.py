"""Progress of running tasks: live bars on a terminal, one line per change elsewhere."""

import sys
from typing import TYPE_CHECKING, Self

from tenure.cli.output import clean
from tenure.core.view import TaskView
from tenure.settings import process_environment, wants_color

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


def words(task: TaskView) -> str:
    """Say how far a task is: "scale 40 % (12 of 30)", or its state when nothing is known of its progress."""
    progress = task.progress
    if task.state != "claimed" or progress is None:
        return state_words(task)
    percent = None if progress.percent is None else f"{progress.percent:.0f} %"
    counts = None
    if progress.completed is not None:
        counts = (
            f"({progress.completed} of {progress.total})" if progress.total else f"({progress.completed})"
        )
    failed = f"{progress.failed} failed" if progress.failed else None
    parts = (progress.stage, progress.stage_status, percent, counts, failed, progress.message)
    return clean(" ".join(part for part in parts if part)) or state_words(task)


def state_words(task: TaskView) -> str:
    """Return the state as people read it: a claim whose lease has run out says so."""
    if task.state == "claimed" and task.claim is not None and task.claim.ended:
        return "lease ended"
    if task.state == "claimed" and task.cancel_requested:
        return "claimed, cancel requested"
    return task.state


def title(task: TaskView) -> str:
    """Name a task briefly: its capability and the end of its id, which is what differs."""
    return (
        f"{clean(task.capability)} …{task.id[-6:]}"
        if len(task.id) > 12
        else f"{clean(task.capability)} {task.id}"
    )


class Lines:
    """Says each change as one line."""

    def __init__(self, *, to_stderr: bool) -> None:
        """Choose the stream."""
        self._stream = sys.stderr if to_stderr else sys.stdout
        self._said: dict[str, str] = {}

    def show(self, task: TaskView) -> None:
        """Print the task's line if it says what its last one did not."""
        text = words(task)
        if self._said.get(task.id) != text:
            self._said[task.id] = text
            print(f"{task.id}  {clean(task.capability)}  {text}", file=self._stream, flush=True)

    def drop(self, task_id: str) -> None:
        """Forget a task that is not shown any more."""
        self._said.pop(task_id, None)

    def __enter__(self) -> Self:
        """Use as a context."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left to end."""


class Bars:
    """Draws one bar per task, live."""

    def __init__(self, *, to_stderr: bool) -> None:
        """Prepare the terminal; nothing is drawn before the context is entered."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(
            stderr=to_stderr,
            no_color=not wants_color(process_environment(), is_terminal=True),
            highlight=False,
        )
        self._progress: RichProgress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[words]}", markup=False),
            TimeElapsedColumn(),
            console=console,
        )
        self._rows: dict[str, TaskID] = {}

    def show(self, task: TaskView) -> None:
        """Draw the task as it is now."""
        row = self._rows.get(task.id)
        if row is None:
            row = self._progress.add_task(title(task), total=None, words=words(task))
            self._rows[task.id] = row
        total, completed = _amounts(task)
        self._progress.update(row, total=total, completed=completed, words=words(task))
        if task.state != "claimed":
            self._progress.stop_task(row)

    def drop(self, task_id: str) -> None:
        """Take a task's bar away."""
        row = self._rows.pop(task_id, None)
        if row is not None:
            self._progress.remove_task(row)

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last picture on the screen."""
        self._progress.stop()


def progress_view(*, to_stderr: bool) -> Bars | Lines:
    """Return bars if the stream is a terminal, else lines."""
    stream = sys.stderr if to_stderr else sys.stdout
    return Bars(to_stderr=to_stderr) if stream.isatty() else Lines(to_stderr=to_stderr)


def _amounts(task: TaskView) -> tuple[float | None, float]:
    """Return (total, completed) of the bar; a total of None is drawn as movement without an end."""
    progress = task.progress
    if task.state == "done":
        return 100.0, 100.0
    if progress is None or task.state != "claimed":
        return (None if task.state == "claimed" else 100.0), 0.0
    if progress.percent is not None:
        return 100.0, progress.percent
    if progress.total:
        return float(progress.total), float(progress.completed or 0)
    return None, 0.0
