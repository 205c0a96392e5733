"""Where the demo's story is shown: live bars on a terminal, plain lines elsewhere, JSON for programs."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from tenure.cli.bars import words
from tenure.cli.output import Output, clean
from tenure.core.view import TaskView
from tenure.demo.story.screen import Screen

if TYPE_CHECKING:
    from rich.progress import TaskID

SUMMARY_S = 2.0
"""Plain lines say so often how far everything is."""


def screen_for(out: Output) -> Screen:
    """Return the screen that fits where standard output goes."""
    if out.json:
        return JsonScreen(out)
    return BarScreen(out) if out.is_terminal else LineScreen(out)


class _Plain:
    """A screen that needs no preparation."""

    def __init__(self, out: Output) -> None:
        """Begin with nothing said."""
        self._out = out
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        """Begin the clock."""
        self._began = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave what was said."""

    @property
    def at_s(self) -> float:
        """Seconds since the story began."""
        return time.monotonic() - self._began


class JsonScreen(_Plain):
    """One JSON document for each event, and one for each change of a task."""

    def __init__(self, out: Output) -> None:
        """Begin with nothing said."""
        super().__init__(out)
        self._said: dict[str, object] = {}

    def tell(self, event: str, text: str, **facts: object) -> None:
        """Print the event."""
        self._out.line({"event": event, "at_s": round(self.at_s, 2), "text": text, **facts})

    def show(self, tasks: Mapping[str, TaskView]) -> None:
        """Print the tasks that have changed."""
        for name, task in tasks.items():
            mark = (task.revision, task.progress)
            if self._said.get(name) != mark:
                self._said[name] = mark
                self._out.line({"event": "task", "at_s": round(self.at_s, 2), "task": task})


class LineScreen(_Plain):
    """One line for each event and each change of state or holder, and now and then how far everything is."""

    def __init__(self, out: Output) -> None:
        """Begin with nothing said."""
        super().__init__(out)
        self._said: dict[str, str] = {}
        self._summed_up_s = 0.0

    def tell(self, event: str, text: str, **facts: object) -> None:
        """Print the sentence under its time."""
        self._out.say(f"{self.at_s:5.1f} s  {clean_indented(text)}")

    def show(self, tasks: Mapping[str, TaskView]) -> None:
        """Print what has changed."""
        for name, task in tasks.items():
            standing = _standing(task)
            if self._said.get(name, "open") != standing:
                self.tell("task", f"{name}: {standing}")
            self._said[name] = standing
        if self.at_s - self._summed_up_s >= SUMMARY_S:
            self._summed_up_s = self.at_s
            running = [f"{name} {words(task)}" for name, task in tasks.items() if _is_moving(task)]
            done = sum(task.state == "done" for task in tasks.values())
            self.tell("summary", f"{done} of {len(tasks)} done; {', '.join(running) or 'nothing runs'}")


class BarScreen(_Plain):
    """One bar per task, and above them what happens."""

    def __init__(self, out: Output) -> None:
        """Prepare the terminal; nothing is drawn before the context is entered."""
        super().__init__(out)
        from rich.progress import BarColumn, Progress, TextColumn

        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[words]}", markup=False),
            console=out.console(),
        )
        self._rows: dict[str, TaskID] = {}

    def tell(self, event: str, text: str, **facts: object) -> None:
        """Print the sentence above the bars."""
        from rich.text import Text

        style = {"killed": "red", "unknown": "magenta", "decided": "green", "shown": "dim"}.get(event, "")
        self._progress.console.print(Text(f"{self.at_s:5.1f} s  {clean_indented(text)}", style=style))

    def show(self, tasks: Mapping[str, TaskView]) -> None:
        """Draw every task as it is now."""
        for name, task in tasks.items():
            if name not in self._rows:
                self._rows[name] = self._progress.add_task(f"{name:<13}", total=100, words="")
            shown = f"{words(task)}, {_standing(task)}" if _is_moving(task) else _standing(task)
            self._progress.update(self._rows[name], completed=_percent(task), words=shown)

    def __enter__(self) -> Self:
        """Begin to draw."""
        super().__enter__()
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last picture on the screen."""
        self._progress.stop()


def clean_indented(text: str) -> str:
    """Return a sentence cleaned, with the indent that marks what a command has printed."""
    indent = len(text) - len(text.lstrip(" "))
    return " " * indent + clean(text)


def _standing(task: TaskView) -> str:
    """Return the state, and who holds it."""
    claim = task.claim
    if claim is None:
        return task.state
    again = f", generation {claim.generation}" if claim.generation > 1 else ""
    return f"lease of {claim.agent} ended{again}" if claim.ended else f"claimed by {claim.agent}{again}"


def _is_moving(task: TaskView) -> bool:
    return task.state == "claimed" and task.progress is not None


def _percent(task: TaskView) -> float:
    progress = task.progress
    if task.state == "done":
        return 100.0
    if progress is None or not progress.total:
        return 0.0
    return 100.0 * (progress.completed or 0) / progress.total
