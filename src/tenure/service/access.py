"""Credentials: made once, kept as digests, checked on every call. C118."""

from datetime import timedelta

from msgspec import Struct

from tenure.core.canonical import digest_text
from tenure.core.errors import Invalid, NotFound, Unauthenticated
from tenure.core.ids import check_id
from tenure.core.instants import is_live
from tenure.core.submission import DAYS_S_MAX, check_name
from tenure.ports.credentials import Credential, Role
from tenure.ports.store import Transaction
from tenure.service.injected import TOKEN_OF_CREDENTIAL, TOKEN_OF_SESSION, Injected
from tenure.service.principal import Principal


class NewCredential(Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked for when a credential is made."""

    role: Role
    name: str
    queues: list[str] | None = None
    expires_in_s: float | None = None


class ShownCredential(Struct, frozen=True):
    """A credential with its token: shown once, never again."""

    credential: Credential
    token: str


def authenticate(tx: Transaction, token: str) -> Principal:
    """Return who bears this token, or raise `Unauthenticated`.

    An ended session may still deliver what it owes.
    """
    hashed = digest_text(token)
    if token.startswith(TOKEN_OF_SESSION):
        session = tx.registry.by_token(hashed)
        if session is None:
            raise Unauthenticated("the session token is not known here")
        return Principal(
            name=session.worker_id,
            role="worker",
            queues=tuple(session.queues),
            worker_id=session.worker_id,
            session=session.number,
        )
    credential = tx.credentials.by_token(hashed)
    if credential is None or credential.revoked_at is not None:
        raise Unauthenticated("the credential is not known here, or revoked")
    if credential.expires_at is not None and not is_live(tx.now(), credential.expires_at):
        raise Unauthenticated("the credential has expired")
    return Principal(name=credential.name, role=credential.role, queues=credential.queues)


def create(tx: Transaction, injected: Injected, who: Principal, asked: NewCredential) -> ShownCredential:
    """Make a credential; its token is in the answer and nowhere else."""
    who.require("admin")
    check_name("name", asked.name)
    for queue in asked.queues or ():
        check_id("queues", queue)
    if asked.expires_in_s is not None and not 1 <= asked.expires_in_s <= DAYS_S_MAX * 10:
        raise Invalid(f"use 1 to {DAYS_S_MAX * 10:g} seconds", path="expires_in_s")
    return _keep(tx, injected, asked, injected.ids.new_token(TOKEN_OF_CREDENTIAL))


def _keep(tx: Transaction, injected: Injected, asked: NewCredential, token: str) -> ShownCredential:
    now = tx.now()
    credential = Credential(
        id=injected.ids.new_id(),
        name=asked.name,
        role=asked.role,
        token_hash=digest_text(token),
        created_at=now,
        queues=tuple(asked.queues) if asked.queues is not None else None,
        expires_at=now + timedelta(seconds=asked.expires_in_s) if asked.expires_in_s is not None else None,
    )
    tx.credentials.add(credential)
    return ShownCredential(credential, token)


def ensure_admin(tx: Transaction, injected: Injected, token: str) -> None:
    """Make the token an admin credential if it is not one yet."""
    known = tx.credentials.by_token(digest_text(token))
    if known is None:
        _keep(tx, injected, NewCredential(role="admin", name="admin"), token)


def revoke(tx: Transaction, who: Principal, credential_id: str) -> None:
    """Revoke a credential from now on."""
    who.require("admin")
    if not tx.credentials.revoke(credential_id):
        raise NotFound(f"there is no credential {credential_id}")
