"""docs/states.md: every transition table, printed from the tables that the code applies."""

from __future__ import annotations

import importlib
import pkgutil
from enum import StrEnum
from typing import TYPE_CHECKING, cast

import tenure.core
from tenure.core.machine import Machine
from tools.pages.markdown import first_paragraph, table

if TYPE_CHECKING:
    from collections.abc import Iterator


AnyMachine = Machine[StrEnum, StrEnum]
INTRO = """# States

Each table is complete: what it does not list is refused as a bug. Rows are states, columns what can happen,
cells the state that follows; an empty cell is not allowed.
"""


def machines() -> Iterator[AnyMachine]:
    """Find the transition tables of all core modules, in the order of their names."""
    found: dict[str, AnyMachine] = {}
    for module in pkgutil.iter_modules(tenure.core.__path__, "tenure.core."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Machine):
                machine = cast("AnyMachine", value)
                found[machine.name] = machine
    for name in sorted(found):
        yield found[name]


def members(kind: type[StrEnum]) -> list[StrEnum]:
    """Return an enum's members in the order in which they are written."""
    return list(kind)


def section(machine: AnyMachine) -> str:
    """Print one machine as a picture and as a table."""
    states = members(type(next(iter(machine.table.values()))))
    events = members(type(next(iter(machine.table))[1]))
    arrows: dict[tuple[str, str], list[str]] = {}
    for (state, event), target in machine.table.items():
        arrows.setdefault((state, target), []).append(event)
    picture = "".join(
        f"    {source} --> {target}: {', '.join(names)}\n" for (source, target), names in arrows.items()
    )
    rows = [
        (
            f"**{state}**",
            *(str(machine.table[state, event]) if machine.takes(state, event) else "" for event in events),
        )
        for state in states
    ]
    return (
        f"\n## {machine.name.capitalize()}\n\n{first_paragraph(type(states[0]).__doc__)}\n\n"
        f"```mermaid\nstateDiagram-v2\n{picture}```\n\n{table(['', *events], rows)}"
    )


def page() -> str:
    """Make the page."""
    return INTRO + "".join(section(machine) for machine in machines())
