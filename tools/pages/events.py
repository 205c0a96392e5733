"""docs/events.md: what is told in the log, from the catalogue."""

from __future__ import annotations

from tenure.telemetry.catalogue import CATALOGUE
from tools.pages.markdown import table

INTRO = """# Events

What processes tell, as lines on their standard error; with `--json` one document per line. Names are
stable, so that alarms can be built on them. Tokens never appear.

"""


def page() -> str:
    """Make the page."""
    rows = [(f"`{name}`", kind.level, kind.says) for name, kind in sorted(CATALOGUE.items())]
    return INTRO + table(("event", "level", "says"), rows)
