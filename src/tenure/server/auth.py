"""Who is calling: the bearer token of a request, and whether it may make this call. C118.

Tokens are looked up by their digest and never compared as text, never logged, and never taken from an
address.
"""

from tenure.core.errors import Forbidden, Unauthenticated
from tenure.service.plane import ControlPlaneService
from tenure.service.principal import Principal
from tenure.wire.endpoints import Access

TOKEN_BYTES_MAX = 512
"""Bound: ours have 50; longer ones are not even looked up."""


def bearer(header: bytes | None) -> str:
    """Return the token of an `Authorization` header, or raise `Unauthenticated`."""
    scheme, _, token = (header or b"").partition(b" ")
    token = token.strip()
    if scheme.lower() != b"bearer" or not token:
        raise Unauthenticated("send a credential as `Authorization: Bearer …`")
    if len(token) > TOKEN_BYTES_MAX or not token.isascii():
        raise Unauthenticated("the token is none of ours")
    return token.decode("ascii")


async def authenticate(service: ControlPlaneService, header: bytes | None) -> tuple[Principal, str]:
    """Return who bears the token, and the token, or raise `Unauthenticated`."""
    token = bearer(header)
    return await service.authenticate(token), token


def authorise(who: Principal, access: Access) -> None:
    """Raise `Forbidden` unless the caller may make calls of this kind; whose worker it is comes later."""
    if access == "open":
        return
    if access != "session":
        who.require(access)
    elif who.worker_id is None:
        raise Forbidden("this call needs a worker's session token, not a credential")
