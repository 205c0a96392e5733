"""Client of the remote job service, as a user would write one: plain calls, a time-out on each.

An answer that says no is `Refused`; a connection that could not be made is `NotReached`, which proves that
nothing was asked. Every other failure of the connection is raised as it is, because the request may have
taken effect.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Self, TypeVar

import httpx2
import msgspec

TIMEOUT_S = 5.0
"""Longest silence before a call gives up."""

T = TypeVar("T")


class Refused(Exception):
    """The service answered and said no."""


class NotReached(Exception):
    """No connection was made, so nothing was asked."""


class Job(msgspec.Struct, frozen=True):
    """A render job at the farm, as of the moment of the answer."""

    id: str
    scene: str
    state: str
    ended: bool
    frames_done: int
    frames_total: int
    url: str | None


class Receipt(msgspec.Struct, frozen=True):
    """What the bank says about one charge."""

    id: str
    order: str
    cents: int


class _Jobs(msgspec.Struct, frozen=True):
    jobs: list[Job]


class _Caller:
    """A pool of connections to the service; usable as a context."""

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S) -> None:
        """Call the service at this address; nothing is sent yet."""
        self._http = httpx2.Client(base_url=url, timeout=timeout_s, trust_env=False)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        """Use as a context that closes the connections."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def _get(self, path: str, answer: type[T], query: Mapping[str, str] | None = None) -> T:
        with _telling_absence():
            return _read(self._http.get(path, params=query), answer)

    def _post(self, path: str, answer: type[T], body: object, headers: Mapping[str, str] | None = None) -> T:
        with _telling_absence():
            return _read(self._http.post(path, json=body, headers=headers), answer)


class Farm(_Caller):
    """The render farm: at most one job for an idempotency key, and it can be asked what became of it."""

    def create(self, scene: str, *, idempotency_key: str | None = None) -> Job:
        """Have a scene rendered; the same key again returns the same job.

        Raises:
            Refused: The key was used for another scene.
            NotReached: Nothing was asked.
        """
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key is not None else None
        return self._post("/jobs", Job, {"scene": scene}, headers)

    def search(self, idempotency_key: str) -> list[Job]:
        """Return the jobs that were created under a key; an empty list says that there are none."""
        return self._get("/jobs", _Jobs, {"idempotency_key": idempotency_key}).jobs

    def status(self, job_id: str) -> Job:
        """Return the job as it stands now."""
        return self._get(f"/jobs/{job_id}", Job)

    def cancel(self, job_id: str) -> Job:
        """Ask the job to end; on an ended one nothing changes."""
        return self._post(f"/jobs/{job_id}/cancel", Job, {})


class Bank(_Caller):
    """The bank: every charge that arrives is taken, and none can be looked up."""

    def charge(self, order: str, cents: int) -> Receipt:
        """Take the money.

        Raises:
            Refused: The bank said no; nothing was taken.
            NotReached: Nothing was asked.
        """
        return self._post("/charges", Receipt, {"order": order, "cents": cents})


def _read(response: httpx2.Response, answer: type[T]) -> T:
    """Return the answer as its type; a no is `Refused`, a fault of the service proves nothing."""
    if response.is_server_error:
        response.raise_for_status()
    if response.is_client_error:
        raise Refused(f"{response.request.url.path} answered {response.status_code}: {response.text}")
    return msgspec.json.decode(response.content, type=answer)


@contextmanager
def _telling_absence() -> Generator[None]:
    """Tell the one failure that proves absence from all others."""
    try:
        yield
    except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
        raise NotReached(str(error)) from error
