"""docs/settings.md: what the environment may say, from the settings' own table."""

from __future__ import annotations

from tenure.settings import KEYS
from tools.pages.markdown import table

INTRO = """# Settings

Flags win over the environment; each verb's flags stand in `cli.md`. An error names the key at fault. Where
neither `TENURE_URL` nor `TENURE_TOKEN` is set, command lines and workers use the server of the current
folder, which leaves its address in `tenure.db.url` and a private credential in `tenure.db.token`.

"""


def page() -> str:
    """Make the page."""
    return INTRO + table(("key", "says"), [(f"`{key}`", says) for key, says in KEYS.items()])
