"""The environment that this process was given; the only place besides `settings` that reads it."""

import os


def inherited_environment() -> dict[str, str]:
    """Return a copy of it, to hand to a child together with settings of the child's own."""
    return dict(os.environ)
