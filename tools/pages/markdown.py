"""The few pieces of Markdown that the generated pages are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Draw a table; a bar inside a cell is escaped so that it stays inside."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def first_paragraph(docstring: str | None) -> str:
    """Return a docstring's first paragraph as one line."""
    return " ".join((docstring or "").strip().split("\n\n")[0].split())
