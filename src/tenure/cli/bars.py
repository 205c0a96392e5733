"""Progress of running tasks: live bars on a terminal, one line per change elsewhere, JSON for programs."""

import sys
from typing import TYPE_CHECKING, Protocol, Self

from tenure.cli.output import Output, clean
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
    return clean(str(progress)) or state_words(task)


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


class View(Protocol):
    """Where progress is shown; used as a context."""

    def show(self, task: TaskView) -> None:
        """Show the task as it is now."""
        ...

    def drop(self, task_id: str) -> None:
        """Show that task no more."""
        ...

    def leave(self, task: TaskView) -> None:
        """Say how a task ended, and show it no more."""
        ...

    def count(self, ended: int, total: int) -> None:
        """Show how many of many have ended."""
        ...

    def __enter__(self) -> object:
        """Begin to show."""
        ...

    def __exit__(self, *_: object) -> None:
        """Leave the last picture."""
        ...


class Silence:
    """Shows nothing: nobody is watching."""

    def show(self, task: TaskView) -> None:
        """Do nothing."""

    def drop(self, task_id: str) -> None:
        """Do nothing."""

    def leave(self, task: TaskView) -> None:
        """Do nothing."""

    def count(self, ended: int, total: int) -> None:
        """Do nothing."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *_: object) -> None:
        """Do nothing."""


class Lines(Silence):
    """Prints each change of a task as one line, or as one JSON document."""

    def __init__(self, out: Output) -> None:
        """Begin with nothing said."""
        self._out = out
        self._said: dict[str, object] = {}

    def show(self, task: TaskView) -> None:
        """Print the task if it says what its last line did not."""
        text = (task.revision, task.progress) if self._out.json else words(task)
        if self._said.get(task.id) == text:
            return
        self._said[task.id] = text
        if self._out.json:
            self._out.line(task)
        else:
            self._out.say(f"{task.id}  {clean(task.capability)}  {text}")

    def drop(self, task_id: str) -> None:
        """Forget what was said of it."""
        self._said.pop(task_id, None)

    def leave(self, task: TaskView) -> None:
        """Print its last line."""
        self.show(task)
        self.drop(task.id)


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
        self._all: TaskID | None = None

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

    def leave(self, task: TaskView) -> None:
        """Put a line with its end above the bars."""
        self.drop(task.id)
        line = f"{task.id}  {clean(task.capability)}  {words(task)}"
        self._progress.console.print(line, markup=False, soft_wrap=True)

    def count(self, ended: int, total: int) -> None:
        """Draw a bar of how many have ended."""
        if self._all is None:
            self._all = self._progress.add_task("all", total=total, words="")
        self._progress.update(self._all, completed=ended, words=f"{ended} of {total} ended")

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last picture on the screen."""
        self._progress.stop()


def beside_the_answer() -> View:
    """Return bars on standard error if a person is looking there, else nothing."""
    return Bars(to_stderr=True) if sys.stderr.isatty() else Silence()


def as_the_answer(out: Output) -> View:
    """Return bars on standard output if it is a terminal, else lines."""
    return Bars(to_stderr=False) if out.is_terminal else Lines(out)


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
