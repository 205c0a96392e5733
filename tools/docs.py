"""Write the pages under docs/ that are made from the code, or with --check say which ones differ from it."""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.pages import errors, states

if TYPE_CHECKING:
    from collections.abc import Callable

DOCS = Path(__file__).resolve().parent.parent / "docs"
NOTE = "<!-- Made from the code by `make docs`; edits belong there. -->\n\n"
PAGES: dict[str, Callable[[], str]] = {
    "errors.md": errors.page,
    "states.md": states.page,
}


def difference(name: str, written: str, made: str) -> str:
    """Show how the page on disk differs from the one the code gives; empty when they are equal."""
    lines = difflib.unified_diff(
        written.splitlines(keepends=True),
        made.splitlines(keepends=True),
        f"docs/{name}",
        "made from the code",
    )
    return "".join(lines)


def main() -> int:
    """Write or compare every page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page differs")
    compare_only: bool = parser.parse_args().check
    differs = False
    for name, make_page in PAGES.items():
        path = DOCS / name
        made = NOTE + make_page()
        found = difference(name, path.read_text() if path.exists() else "", made)
        if found and compare_only:
            differs = True
            print(f"{found}docs: {name} differs from the code; run `make docs`")
        elif found:
            path.write_text(made)
            print(f"docs: {name} written")
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
