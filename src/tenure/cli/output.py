"""What verbs print: tables and sentences for people, JSON for programs.

Standard output carries the answer and nothing else. On a terminal tables are drawn by rich, which is loaded
only then; into a pipe go plain columns. Text from tasks is cleaned, so that none of it steers the terminal.
"""

import contextlib
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from tenure.settings import process_environment, wants_color

if TYPE_CHECKING:
    from rich.console import Console

CELL_MAX: Final = 200  # Bound: one cell of a table; the whole text is in --json
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")

STYLES: Final[dict[str, str]] = {
    "done": "green",
    "failed": "red",
    "unknown": "magenta",
    "cancelled": "dim",
    "claimed": "cyan",
    "blocked": "yellow",
    "lease ended": "yellow",
}


class Output:
    """Prints in one form: `json` for programs, otherwise for people."""

    def __init__(self, *, json: bool) -> None:
        """Look where standard output goes."""
        self.json = json
        self.is_terminal = sys.stdout.isatty() and not json
        self._console: Console | None = None

    def document(self, value: object) -> None:
        """Print one JSON document; indented where a person reads it."""
        data = msgspec.json.encode(value)
        print((msgspec.json.format(data, indent=2) if sys.stdout.isatty() else data).decode())

    def line(self, value: object) -> None:
        """Print one JSON document of a stream, at once."""
        print(msgspec.json.encode(value).decode(), flush=True)

    def say(self, text: str) -> None:
        """Print a sentence."""
        print(text, flush=True)

    def table(self, heads: Sequence[str], rows: Iterable[Sequence[object]], *, nothing: str = "") -> None:
        """Print rows under heads, or the sentence about nothing."""
        cells = [[cell(value) for value in row] for row in rows]
        if not cells:
            if nothing:
                self.say(nothing)
        elif self.is_terminal:
            self._rich_table(heads, cells)
        else:
            print("\n".join(columns([[head.upper() for head in heads], *cells])))

    def fields(self, facts: Iterable[tuple[str, object]]) -> None:
        """Print names and values below each other, leaving out what is empty."""
        told = [(name, cell(value)) for name, value in facts if value not in (None, "", [], {})]
        width = max((len(name) for name, _ in told), default=0)
        for name, text in told:
            self.say(f"{name.ljust(width)}  {text}")

    def console(self) -> "Console":
        """Return rich's console on standard output."""
        if self._console is None:
            from rich.console import Console

            color = wants_color(process_environment(), is_terminal=self.is_terminal)
            self._console = Console(no_color=not color, highlight=False, soft_wrap=False)
        return self._console

    def _rich_table(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        # A person misses no column in which nothing stands; programs get all of them.
        told = [number for number in range(len(heads)) if any(row[number] for row in rows)]
        for number in told:
            table.add_column(heads[number], no_wrap=number < 2, overflow="fold")
        for row in rows:
            table.add_row(*(Text(row[number], style=STYLES.get(row[number], "")) for number in told))
        self.console().print(table)


def tell_if_heard(say: Callable[[], None]) -> None:
    """Say it; that nobody listens on standard output any more ends no process that has other things to do."""
    with contextlib.suppress(BrokenPipeError):
        say()


def note(text: str) -> None:
    """Say a sentence to people that is no part of the answer."""
    print(text, file=sys.stderr, flush=True)


def cell(value: object) -> str:
    """Return a value as a table shows it: short, on one line, with nothing that steers a terminal."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case datetime():
            return f"{value.astimezone():%Y-%m-%d %H:%M:%S}"
        case str():
            text = value
        case int() | float():
            text = f"{value:g}" if isinstance(value, float) else str(value)
        case _:
            text = msgspec.json.encode(value).decode()
    text = clean(text)
    return text if len(text) <= CELL_MAX else f"{text[: CELL_MAX - 1]}…"


def clean(text: str) -> str:
    """Return the text on one line without control characters."""
    return _CONTROL.sub(" ", text).strip()


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def pairs(labels: dict[str, str]) -> str:
    """Return labels as `k=v` words."""
    return " ".join(f"{name}={value}" for name, value in sorted(labels.items()))


def ago(instant: datetime | None, now: datetime) -> str:
    """Return how long ago an instant was."""
    return "" if instant is None else f"{length(max((now - instant).total_seconds(), 0))} ago"


def length(seconds: float) -> str:
    """Return a length of time in words of at most two units."""
    rounded = timedelta(seconds=round(seconds))
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    days, hours, minutes, left = (
        rounded.days,
        rounded.seconds // 3600,
        rounded.seconds // 60 % 60,
        rounded.seconds % 60,
    )
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {left} s"
