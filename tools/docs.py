"""Write the pages under docs/ that are made from the code, or with --check say which ones differ from it."""

from __future__ import annotations

import argparse
import difflib
import sys
from importlib import import_module
from pathlib import Path
from typing import cast

DOCS = Path(__file__).resolve().parent.parent / "docs"
NOTE = "<!-- Made from the code by `make docs`; edits belong there. -->\n\n"
PAGES = {
    "cli.md": "tools.pages.commands",
    "errors.md": "tools.pages.errors",
    "events.md": "tools.pages.events",
    "protocol.md": "tools.pages.protocol",
    "settings.md": "tools.pages.settings",
    "states.md": "tools.pages.states",
}


def made(module: str) -> str:
    """Make a page from the code."""
    return NOTE + cast("str", import_module(module).page())


def difference(name: str, written: str, wanted: str) -> str:
    """Show how the page on disk differs from the one the code gives; empty when they are equal."""
    lines = difflib.unified_diff(
        written.splitlines(keepends=True),
        wanted.splitlines(keepends=True),
        f"docs/{name}",
        "made from the code",
    )
    return "".join(lines)


def is_current(name: str, module: str, *, compare_only: bool) -> bool:
    """Bring one page up to date, or say how it differs."""
    path = DOCS / name
    try:
        wanted = made(module)
    except (ImportError, AttributeError, LookupError) as error:
        print(f"docs: {name} cannot be made: {type(error).__name__}: {error}")
        return False
    found = difference(name, path.read_text() if path.exists() else "", wanted)
    if found and compare_only:
        print(f"{found}docs: {name} differs from the code; run `make docs`")
    elif found:
        path.write_text(wanted)
        print(f"docs: {name} written")
    return not (found and compare_only)


def main() -> int:
    """Write or compare every page; one that cannot be made does not keep the others from it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page differs")
    compare_only: bool = parser.parse_args().check
    current = [is_current(name, module, compare_only=compare_only) for name, module in PAGES.items()]
    return int(not all(current))


if __name__ == "__main__":
    sys.exit(main())
