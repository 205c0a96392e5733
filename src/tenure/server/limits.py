"""What one server process takes at once, and reading bodies within the protocol's limits."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import anyio
from starlette.types import Receive

from tenure.core.errors import Busy, Malformed, TooLarge, Unavailable
from tenure.wire.codec import JSON_TYPE
from tenure.wire.limits import BODY_BYTES_MAX

CALLS_MAX: Final = 1_000
"""Bound: calls under way; heartbeats and leaving workers are let through beyond it."""

STREAMS_MAX: Final = 10_000
"""Bound: open streams."""

BODY_S_MAX: Final = 30.0
"""Bound: how long a body may take to arrive."""

DISCARDED_BYTES_MAX: Final = 16 * BODY_BYTES_MAX
"""Bound: how much of a body that is too large is read on, so that its sender hears the answer."""

ALWAYS_LET_IN: Final = frozenset({"heartbeat", "deregister", "healthz"})


class Gone(Exception):
    """The caller hung up before its request was complete; nothing was done."""


class Doors:
    """Counts calls and streams under way and refuses what is beyond the bound."""

    def __init__(self, calls_max: int = CALLS_MAX, streams_max: int = STREAMS_MAX) -> None:
        """Begin with nobody inside."""
        self._left = {False: calls_max, True: streams_max}

    @contextmanager
    def enter(self, name: str, *, stream: bool) -> Generator[None, None, None]:
        """Let one call in, or raise `Busy`."""
        if self._left[stream] <= 0 and name not in ALWAYS_LET_IN:
            raise Busy("too many calls are under way here; ask again in a second")
        self._left[stream] -= 1
        try:
            yield
        finally:
            self._left[stream] += 1


async def read_body(receive: Receive, length: bytes | None, media_type: bytes | None) -> bytes:
    """Return a request's body.

    Raises:
        TooLarge: It has more bytes than a body may have.
        Malformed: It says that it is no JSON.
        Unavailable: It did not arrive in time.
        Gone: The caller hung up.
    """
    if length is not None and length.isdigit() and int(length) > BODY_BYTES_MAX:
        await _discard(receive)
        raise TooLarge(f"the body has {int(length):,} bytes; at most {BODY_BYTES_MAX:,}")
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Gone
    body: bytes = message.get("body", b"")
    if message.get("more_body", False):
        body = await _rest(receive, body)
    if body and (media_type or b"").partition(b";")[0].strip().lower() != JSON_TYPE.encode():
        raise Malformed(f"the body's media type must be {JSON_TYPE}")
    return body


async def _rest(receive: Receive, begun: bytes) -> bytes:
    parts, size = [begun], len(begun)
    with anyio.move_on_after(BODY_S_MAX):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > BODY_BYTES_MAX:
                parts.clear()
                if message.get("more_body", False):
                    await _discard(receive)
                raise TooLarge(f"the body has more than {BODY_BYTES_MAX:,} bytes")
            if not message.get("more_body", False):
                return b"".join(parts)
    raise Unavailable(f"the body did not arrive within {BODY_S_MAX:g} s")


async def _discard(receive: Receive) -> None:
    """Read on for a while: a sender that is cut off in the middle of its body may never read the answer."""
    left = DISCARDED_BYTES_MAX
    with anyio.move_on_after(BODY_S_MAX):
        while left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            if message["type"] == "http.disconnect" or not message.get("more_body", False):
                return
