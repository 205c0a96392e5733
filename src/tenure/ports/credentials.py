"""Credentials of people, clients and workers; only digests are kept."""

from datetime import datetime
from typing import Literal, Protocol

from msgspec import Struct

Role = Literal["admin", "submit", "worker", "read"]


class Credential(Struct, frozen=True):
    """A credential without its secret. `queues` None means all."""

    id: str
    name: str
    role: Role
    token_hash: str
    created_at: datetime
    queues: tuple[str, ...] | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


class Credentials(Protocol):
    """Credentials by digest and by id. C118."""

    def add(self, credential: Credential) -> None:
        """Keep a credential."""
        ...

    def by_token(self, token_hash: str) -> Credential | None:
        """Return the credential of this digest, also if expired or revoked."""
        ...

    def all(self) -> list[Credential]:
        """Return every credential."""
        ...

    def revoke(self, credential_id: str) -> bool:
        """Revoke a credential now; False if there is none of that id."""
        ...
