"""Everything random: ids that sort by time, tokens that cannot be guessed, and jitter."""

import random
import secrets
import sys
from collections.abc import Callable

TOKEN_BYTES = 32


class SystemIds:
    """Draws from the operating system; two processes never draw the same."""

    def __init__(self) -> None:
        """Seed the jitter's own generator, so that nobody else's seed repeats it."""
        self._random = random.Random(secrets.randbits(128))  # noqa: S311 - jitter spreads load and guards nothing

    def new_id(self) -> str:
        """Return a UUIDv7 as text; those of one process sort in the order in which they were drawn."""
        return _new_uuid()

    def new_token(self, prefix: str) -> str:
        """Return a token of 256 bits behind a prefix."""
        return prefix + secrets.token_urlsafe(TOKEN_BYTES)

    def jitter(self) -> float:
        """Return a number in [0, 1)."""
        return self._random.random()


def _uuid_source() -> Callable[[], str]:
    """Return the standard library's UUIDv7 where there is one, else that of uuid-utils."""
    if sys.version_info >= (3, 14):
        from uuid import uuid7  # noqa: PLC0415 - not there in older ones

        return lambda: str(uuid7())
    from uuid_utils import uuid7  # noqa: PLC0415 - not installed with newer ones

    return lambda: str(uuid7())


_new_uuid = _uuid_source()
