"""Say which contracts (C001 to C123) and cases (B01 to B37) the tests name, and which they do not.

A test names what it shows in its docstring, as `C019` or `B04`; a comment counts as well. With --json the
table is one document, otherwise a line per number and a summary.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONTRACTS = [f"C{number:03d}" for number in range(1, 124)]
CASES = [f"B{number:02d}" for number in range(1, 38)]
NAMED = re.compile(r"\b(C\d{3}|B\d{2})\b(?:\s*(?:-|–|to)\s*(C\d{3}|B\d{2})\b)?")


def numbers_in(text: str) -> set[str]:
    """Find the numbers that a text names; a range names all within."""
    found: set[str] = set()
    for first, last in NAMED.findall(text):
        width = len(first) - 1
        upto = int(last[1:]) if last else int(first[1:])
        found |= {f"{first[0]}{number:0{width}d}" for number in range(int(first[1:]), upto + 1)}
    return found


def tests_of(path: Path) -> dict[str, set[str]]:
    """Return each test of a file with the numbers that stand inside it; module text counts for the file."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    name = path.relative_to(ROOT).as_posix()
    found = {name: numbers_in(ast.get_docstring(tree) or "")}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            found[f"{name}::{node.name}"] = numbers_in(ast.get_source_segment(text, node) or "")
    return found


def table() -> dict[str, list[str]]:
    """Return every number with the tests that name it."""
    rows: dict[str, list[str]] = {number: [] for number in [*CONTRACTS, *CASES]}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for test, numbers in tests_of(path).items():
            for number in numbers & rows.keys():
                rows[number].append(test)
    return rows


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON document")
    as_json: bool = parser.parse_args().json
    rows = table()
    if as_json:
        print(json.dumps(rows, indent=1))
        return 0
    for number, tests in rows.items():
        print(f"{number}  {', '.join(tests) or '-'}")
    for kind, numbers in (("contracts", CONTRACTS), ("cases", CASES)):
        missing = [number for number in numbers if not rows[number]]
        named = len(numbers) - len(missing)
        print(f"{named} of {len(numbers)} {kind} are named; not: {' '.join(missing) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
