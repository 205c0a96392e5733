"""One connection, which has to say what it wants before long; uvicorn itself waits for headers for ever."""

import asyncio
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S_MAX: Final = 30.0
"""Bound: how long a request's headers may take to arrive, counted from the connection or from their begin."""


class Connection(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with that bound: nobody can hold all descriptors by saying nothing."""

    _given_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what came; headers that are not complete by now have their time already."""
        super().data_received(data)
        if self._is_asked():
            self._wait_no_more()
        elif self._given_up is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the bound."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _is_asked(self) -> bool:
        """Say whether a request is under way, from the end of its headers to the end of its answer."""
        # uvicorn declares it as always there; before the first request it is None.
        return bool(self.cycle) and not self.cycle.response_complete

    def _wait(self) -> None:
        self._given_up = self.loop.call_later(HEADERS_S_MAX, self.transport.abort)

    def _wait_no_more(self) -> None:
        if self._given_up is not None:
            self._given_up.cancel()
            self._given_up = None
