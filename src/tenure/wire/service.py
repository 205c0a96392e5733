"""Credentials, and whether the service is there."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

Role = Literal["admin", "submit", "worker", "read"]


class TokenRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A wish for a credential; without `queues` it is for all, without `expires_in_s` until it is revoked."""

    role: Role
    name: str
    queues: list[str] | None = None
    expires_in_s: float | None = None


class TokenView(Struct, frozen=True):
    """A credential as lists show it, never with its token."""

    id: str
    name: str
    role: Role
    queues: list[str] | None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


class TokenAnswer(Struct, frozen=True):
    """A new credential; the token is shown here and never again."""

    id: str
    token: str
    name: str
    role: Role
    queues: list[str] | None
    expires_at: datetime | None = None


class TokensAnswer(Struct, frozen=True):
    """All credentials."""

    tokens: list[TokenView]


class RevokedAnswer(Struct, frozen=True):
    """A credential that no longer counts."""

    id: str
    revoked: bool = True


class Health(Struct, frozen=True):
    """The process answers (`healthz`), or the store does too (`readyz`)."""

    ok: bool = True
