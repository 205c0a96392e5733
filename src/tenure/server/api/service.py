"""Credentials, and whether the service is there."""

from functools import cache

from tenure.ports.credentials import Credential
from tenure.server.call import Call, Handler
from tenure.service.access import NewCredential
from tenure.wire.openapi import describe
from tenure.wire.service import Health, RevokedAnswer, TokenAnswer, TokenRequest, TokensAnswer, TokenView


async def create_token(call: Call[TokenRequest]) -> TokenAnswer:
    """Make a credential."""
    asked = call.request
    shown = await call.service.create_token(
        call.who, NewCredential(asked.role, asked.name, asked.queues, asked.expires_in_s)
    )
    made = shown.credential
    queues = list(made.queues) if made.queues is not None else None
    return TokenAnswer(made.id, shown.token, made.name, made.role, queues, made.expires_at)


async def tokens(call: Call[None]) -> TokensAnswer:
    """List credentials, without tokens."""
    return TokensAnswer([_view(credential) for credential in await call.service.list_tokens(call.who)])


def _view(credential: Credential) -> TokenView:
    return TokenView(
        id=credential.id,
        name=credential.name,
        role=credential.role,
        queues=list(credential.queues) if credential.queues is not None else None,
        created_at=credential.created_at,
        expires_at=credential.expires_at,
        revoked_at=credential.revoked_at,
    )


async def revoke_token(call: Call[None]) -> RevokedAnswer:
    """Revoke a credential now."""
    credential_id = call.id("credential_id")
    await call.service.revoke_token(call.who, credential_id)
    return RevokedAnswer(credential_id)


async def healthz(_call: Call[None]) -> Health:
    """Say that the process answers."""
    return Health()


async def readyz(call: Call[None]) -> Health:
    """Say that the store answers, or refuse as unavailable."""
    await call.service.ready()
    return Health()


async def openapi(_call: Call[None]) -> dict[str, object]:
    """Describe every call."""
    return _description()


@cache
def _description() -> dict[str, object]:
    return describe()


HANDLERS: dict[str, Handler] = {
    "create_token": create_token,
    "tokens": tokens,
    "revoke_token": revoke_token,
    "healthz": healthz,
    "readyz": readyz,
    "openapi": openapi,
}
