"""Identities, tokens and jitter, injected everywhere; nothing else draws a random number (D18)."""

from typing import Protocol


class Ids(Protocol):
    """The source of everything random."""

    def new_id(self) -> str:
        """Return a UUIDv7 as text; later ones sort later."""
        ...

    def new_token(self, prefix: str) -> str:
        """Return an unguessable token of 256 bits behind a prefix (`tnr_s_`, `tnr_c_`, …). C118."""
        ...

    def jitter(self) -> float:
        """Return a number in [0, 1)."""
        ...
