"""The report of a run of the matrix: one file for programs, one table for people."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tenure.core.faultpoints import FaultPoint
from tests.crash.cells import Blow, Cell, expected
from tests.crash.course import Findings
from tests.crash.trial import Outcome


def write_report(
    path: Path,
    outcomes: Sequence[Outcome],
    rounds: Sequence[Findings],
    impossible: Mapping[Cell, str],
    stories: Mapping[str, str],
    *,
    seconds: float,
    seed: int,
) -> None:
    """Write everything that was run and found as one JSON document."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "cells": len(outcomes),
        "impossible": {str(cell): reason for cell, reason in impossible.items()},
        "rounds": len(rounds),
        "kills": sum(one.kills for one in (*outcomes, *rounds)),
        "seconds": round(seconds, 1),
        "seed": seed,
        "violations": sum(len(one.violations) for one in (*outcomes, *rounds)),
        "unknown": sum(bool(one.unknown) for one in (*outcomes, *rounds)),
        "stories": dict(stories),
        "outcomes": [_line(one) | _cell(one) for one in sorted(outcomes, key=lambda one: one.name)],
        "chance": [_line(one) for one in sorted(rounds, key=lambda one: one.name)],
    }
    path.write_text(json.dumps(document, indent=1) + "\n")


def _line(one: Findings) -> dict[str, object]:
    return {
        "name": one.name,
        "seconds": round(one.seconds, 2),
        "kills": one.kills,
        "unknown": sorted(one.unknown),
        "generations": one.generations,
        "violations": one.violations,
    }


def _cell(one: Outcome) -> dict[str, object]:
    if one.cell is None:
        return {}
    said = expected(one.cell)
    return {
        "point": one.cell.point,
        "blow": one.cell.blow,
        "kind": one.cell.kind,
        "unknown_expected": said.unknown,
        "reason": said.reason,
    }


def table(outcomes: Iterable[Outcome]) -> list[str]:
    """Return points by blows: how many of the cells there have passed, and the mean of their seconds."""
    squares: dict[tuple[FaultPoint, Blow], list[Outcome]] = defaultdict(list)
    for one in outcomes:
        if one.cell is not None:
            squares[one.cell.point, one.cell.blow].append(one)
    points = [point for point in FaultPoint if any((point, blow) in squares for blow in Blow)]
    lines = ["point".ljust(22) + "".join(str(blow).rjust(18) for blow in Blow)]
    lines += [
        str(point).ljust(22) + "".join(_square(squares.get((point, blow), [])).rjust(18) for blow in Blow)
        for point in points
    ]
    return lines


def _square(ones: Sequence[Outcome]) -> str:
    if not ones:
        return "–"
    passed = sum(one.passed for one in ones)
    mark = "" if passed == len(ones) else " !"
    return f"{passed}/{len(ones)} {sum(one.seconds for one in ones) / len(ones):.1f}s{mark}"


def violations(found: Iterable[Findings]) -> list[str]:
    """Return every violation with where it was."""
    return [f"{one.name}: {violation}" for one in found for violation in one.violations]
