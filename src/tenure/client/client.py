"""`Client`: submitting tasks, waiting for them, and deciding about them, from any program."""

import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self, TypeVar, overload

import msgspec

from tenure.client.declared import declaration
from tenure.client.following import Deadline, Following
from tenure.client.handle import Task
from tenure.client.http import BlockingHttp
from tenure.core.backoff import jittered_s, sender_delay_s
from tenure.core.canonical import canonical
from tenure.core.errors import DeliveryFailed
from tenure.core.registration import WorkerView
from tenure.core.task import TaskSpec, TaskState
from tenure.core.verdict import VerdictRequest
from tenure.core.view import TaskView
from tenure.ports.ids import Ids
from tenure.settings import client_settings, process_environment
from tenure.system.ids import SystemIds
from tenure.wire.endpoints import BY_NAME
from tenure.wire.limits import PAGE_MAX
from tenure.wire.service import RevokedAnswer, TokenAnswer, TokenRequest, TokensAnswer, TokenView
from tenure.wire.tasks import (
    CancelRequest,
    HistoryLine,
    RetryRequest,
    SubmitAnswer,
    SubmitRequest,
    SubmittedTask,
    TasksAnswer,
)
from tenure.wire.workers import DrainRequest, WorkersAnswer

R = TypeVar("R")

SUBMIT_TRIES: Final = 4
"""How often a submission is sent when no answer comes; its id makes it the same task each time."""


class Client:
    """A control plane as programs see it; safe to share between threads. Close it, or use it as a context."""

    def __init__(self, url: str | None = None, token: str | None = None, *, ids: Ids | None = None) -> None:
        """Take the address and the credential; those left out come from `TENURE_URL` and `TENURE_TOKEN`."""
        if url is None or token is None:
            found = client_settings(process_environment(), url)
            url, token = found.url, token or found.token
        self._http = BlockingHttp(url)
        self._token = token
        self._ids: Ids = ids or SystemIds()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The control plane's address."""
        return self._http.url

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    # Submitting

    @overload
    def submit(
        self,
        capability: Callable[..., Coroutine[Any, Any, R]],  # what an async function returns
        input: Mapping[str, object] | None = None,
        /,
        *,
        key: str | None = None,
        queue: str = "default",
        priority: int = 0,
        after: Sequence[str] = (),
        delay: timedelta | None = None,
        labels: Mapping[str, str] | None = None,
        **arguments: object,
    ) -> Task[R]: ...

    @overload
    def submit(
        self,
        capability: Callable[..., R],
        input: Mapping[str, object] | None = None,
        /,
        *,
        key: str | None = None,
        queue: str = "default",
        priority: int = 0,
        after: Sequence[str] = (),
        delay: timedelta | None = None,
        labels: Mapping[str, str] | None = None,
        **arguments: object,
    ) -> Task[R]: ...

    @overload
    def submit(
        self,
        capability: str,
        input: Mapping[str, object] | None = None,
        /,
        *,
        key: str | None = None,
        queue: str = "default",
        priority: int = 0,
        after: Sequence[str] = (),
        delay: timedelta | None = None,
        labels: Mapping[str, str] | None = None,
        **arguments: object,
    ) -> Task[object]: ...

    def submit(
        self,
        capability: Callable[..., object] | str,
        input: Mapping[str, object] | None = None,
        /,
        *,
        key: str | None = None,
        queue: str = "default",
        priority: int = 0,
        after: Sequence[str] = (),
        delay: timedelta | None = None,
        labels: Mapping[str, str] | None = None,
        **arguments: object,
    ) -> Task[Any]:  # the overloads say which
        """Submit one task and return it.

        Args:
            capability: A decorated function, whose input is checked here against its signature, or a name.
            input: Its input; members may also be given by name, unless an option has the same one.
            key: The same key within a queue names the same task; with other content it is refused.
            queue: Where it waits.
            priority: Higher is chosen first.
            after: Ids of tasks that must be done before.
            delay: Start no earlier than so long from now.
            labels: For finding it again.
            arguments: Members of the input.

        Raises: Invalid: The input does not fit; names the member at fault. KeyConflict: The key names a
        task with other content. DeliveryFailed: No answer came; the task may have been accepted, and a key
        makes repeating harmless.
        """
        stated = {**(input or {}), **arguments}
        declared = None if isinstance(capability, str) else declaration(capability)
        spec = TaskSpec(
            capability=capability if isinstance(capability, str) else declared.name if declared else "",
            version=declared.version if declared else None,
            input=declared.signature.write(stated) if declared else stated,
            key=key,
            queue=queue,
            priority=priority,
            depends_on=list(after),
            delay_s=None if delay is None else delay.total_seconds(),
            labels=dict(labels or {}),
        )
        return Task(self, self.submit_many([spec])[0].id, declared)

    def submit_many(self, specs: Sequence[TaskSpec]) -> list[SubmittedTask]:
        """Submit tasks, all or none, and return them in order; each gets an id here if it has none.

        Because of that id a submission that is sent again, after no answer came, is the same task.
        """
        named = [self._named(spec, place) for place, spec in enumerate(specs)]
        request = SubmitRequest(named)
        for tries in range(1, SUBMIT_TRIES):
            try:
                return self._submit(request)
            except DeliveryFailed as error:
                delay_s = error.retry_after_s or jittered_s(sender_delay_s(tries), self._ids.jitter())
                threading.Event().wait(delay_s)
        return self._submit(request)

    def handle(self, task_id: str) -> Task[object]:
        """Return the handle of a task that was submitted elsewhere; nothing is asked yet."""
        return Task(self, task_id)

    # Looking

    def task(self, task_id: str) -> TaskView:
        """Return one task as it is now."""
        return self._http.call(BY_NAME["task"], TaskView, token=self._token, task_id=task_id)

    def tasks(
        self,
        *,
        state: TaskState | str | None = None,
        capability: str | None = None,
        queue: str | None = None,
        label: tuple[str, str] | None = None,
        limit: int | None = None,
    ) -> Iterator[TaskView]:
        """Yield tasks, newest first, page by page, at most so many."""
        wanted = {
            "state": str(state) if state else None,
            "capability": capability,
            "queue": queue,
            "label": f"{label[0]}:{label[1]}" if label else None,
        }
        query = {name: value for name, value in wanted.items() if value is not None}
        left = limit
        while left is None or left > 0:
            query["limit"] = str(PAGE_MAX if left is None else min(left, PAGE_MAX))
            page = self._http.call(BY_NAME["tasks"], TasksAnswer, token=self._token, query=query)
            yield from page.tasks
            if page.next_cursor is None:
                return
            query["cursor"] = page.next_cursor
            left = None if left is None else left - len(page.tasks)

    def unknown(self, *, limit: int | None = None) -> Iterator[TaskView]:
        """Yield the tasks that wait for evidence or for a verdict."""
        return self.tasks(state=TaskState.UNKNOWN, limit=limit)

    def history(self, task_id: str) -> Iterator[HistoryLine]:
        """Yield everything ever recorded of a task, in order."""
        query: dict[str, str] = {"limit": str(PAGE_MAX)}
        while True:
            lines = self._http.call(
                BY_NAME["history"], list[HistoryLine], token=self._token, query=query, task_id=task_id
            )
            yield from lines
            if len(lines) < PAGE_MAX:
                return
            query["after"] = str(lines[-1].sequence)

    def follow(self, task_id: str) -> Iterator[TaskView]:
        """Yield a task at once and on each change until it is settled, across restarts of the server."""
        return self.follow_until(task_id, Deadline(None))

    def follow_until(self, task_id: str, deadline: Deadline) -> Iterator[TaskView]:
        """Do the same within a deadline, or raise `TimeoutError`."""
        return Following(self._http, self._token, self._ids, task_id).views(deadline)

    def workers(self) -> list[WorkerView]:
        """Return all workers as the store judges them now."""
        return self._http.call(BY_NAME["workers"], WorkersAnswer, token=self._token).workers

    # Deciding

    def cancel(self, task_id: str, *, revision: int | None = None) -> TaskView:
        """Cancel a task, or ask its holder to."""
        request = CancelRequest(revision)
        return self._http.call(
            BY_NAME["cancel"], TaskView, token=self._token, request=request, task_id=task_id
        )

    def retry(self, task_id: str, *, afresh: bool = False, revision: int | None = None) -> TaskView:
        """Open a failed or cancelled task again; `afresh` begins a new run, which repeats applied effects."""
        request = RetryRequest(afresh, revision)
        return self._http.call(
            BY_NAME["retry"], TaskView, token=self._token, request=request, task_id=task_id
        )

    def verdict(self, task_id: str, given: VerdictRequest) -> TaskView:
        """Decide a subject that is in doubt."""
        canonical(given.result, "result")
        return self._http.call(
            BY_NAME["verdict"], TaskView, token=self._token, request=given, task_id=task_id
        )

    def drain(
        self, worker_id: str, *, drained: bool = True, note: str = "", revision: int | None = None
    ) -> WorkerView:
        """Mark a worker drained, or undo it."""
        request = DrainRequest(drained, note, revision)
        return self._http.call(
            BY_NAME["drain"], WorkerView, token=self._token, request=request, worker_id=worker_id
        )

    # Credentials

    def create_token(self, asked: TokenRequest) -> TokenAnswer:
        """Make a credential; its token is in this answer and nowhere else."""
        return self._http.call(BY_NAME["create_token"], TokenAnswer, token=self._token, request=asked)

    def tokens(self) -> list[TokenView]:
        """Return all credentials, without tokens."""
        return self._http.call(BY_NAME["tokens"], TokensAnswer, token=self._token).tokens

    def revoke_token(self, credential_id: str) -> None:
        """Revoke a credential now."""
        self._http.call(
            BY_NAME["revoke_token"], RevokedAnswer, token=self._token, credential_id=credential_id
        )

    def _named(self, spec: TaskSpec, place: int) -> TaskSpec:
        canonical(spec.input, f"tasks[{place}].input")  # What JSON cannot carry would arrive as another value
        instants = {"not_before": spec.not_before, "deadline": spec.deadline}
        moved: dict[str, datetime] = {n: at.astimezone(UTC) for n, at in instants.items() if at is not None}
        return msgspec.structs.replace(spec, id=spec.id or self._ids.new_id(), **moved)

    def _submit(self, request: SubmitRequest) -> list[SubmittedTask]:
        return self._http.call(BY_NAME["submit"], SubmitAnswer, token=self._token, request=request).tasks
