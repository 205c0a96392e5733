"""Tasks: submitting, showing, cancelling, retrying, deciding."""

from typing import cast

from tenure.core.errors import Invalid
from tenure.core.ids import check_id
from tenure.core.verdict import VerdictRequest
from tenure.core.view import TaskView
from tenure.ports.board import TaskFilter
from tenure.ports.facts import Fact
from tenure.server.call import Call, Handler
from tenure.wire.limits import PAGE_MAX
from tenure.wire.tasks import (
    CancelRequest,
    HistoryLine,
    HistoryQuery,
    RetryRequest,
    SubmitAnswer,
    SubmitRequest,
    SubmittedTask,
    TasksAnswer,
    TasksQuery,
    in_utc,
)


async def submit(call: Call[SubmitRequest]) -> SubmitAnswer:
    """Submit tasks, all or none."""
    specs = [in_utc(spec, f"tasks[{place}]") for place, spec in enumerate(call.request.tasks)]
    submitted = await call.service.submit(call.who, specs)
    return SubmitAnswer([SubmittedTask(s.id, s.state, s.created) for s in submitted])


async def tasks(call: Call[None]) -> TasksAnswer:
    """List tasks, newest first."""
    asked = cast("TasksQuery", call.query)
    shown, cursor = await call.service.tasks(call.who, _filter(asked))
    return TasksAnswer(shown, cursor)


def _filter(asked: TasksQuery) -> TaskFilter:
    return TaskFilter(
        state=asked.state,
        capability=asked.capability,
        queue=asked.queue,
        label=_label(asked.label),
        before=None if asked.cursor is None else check_id("cursor", asked.cursor),
        limit=_page(asked.limit),
    )


def _label(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    key, colon, value = text.partition(":")
    if not key or not colon:
        raise Invalid(f"{text[:80]!r} is no label; write key:value", path="label")
    return key, value


def _page(limit: int) -> int:
    if not 1 <= limit <= PAGE_MAX:
        raise Invalid(f"use 1 to {PAGE_MAX}", path="limit")
    return limit


async def task(call: Call[None]) -> TaskView:
    """Show one task."""
    return await call.service.task(call.who, call.id("task_id"))


async def history(call: Call[None]) -> list[HistoryLine]:
    """Show everything ever recorded of a task."""
    asked = cast("HistoryQuery", call.query)
    facts = await call.service.history(call.who, call.id("task_id"), asked.after, _page(asked.limit))
    return [_line(fact) for fact in facts]


def _line(fact: Fact) -> HistoryLine:
    return HistoryLine(
        sequence=fact.position,
        at=fact.at,
        kind=fact.kind,
        generation=fact.generation,
        attempt_epoch=fact.attempt_epoch,
        event_id=fact.event_id,
        event_sequence=fact.sequence,
        answer=fact.answer,
        body=fact.body,
    )


async def cancel(call: Call[CancelRequest]) -> TaskView:
    """Cancel a task, or ask its holder to."""
    return await call.service.cancel(call.who, call.id("task_id"), call.request.revision)


async def retry(call: Call[RetryRequest]) -> TaskView:
    """Open a failed or cancelled task again."""
    asked = call.request
    return await call.service.retry(
        call.who, call.id("task_id"), afresh=asked.afresh, revision=asked.revision
    )


async def verdict(call: Call[VerdictRequest]) -> TaskView:
    """Decide a subject that is in doubt."""
    return await call.service.verdict(call.who, call.id("task_id"), call.request)


HANDLERS: dict[str, Handler] = {
    "submit": submit,
    "tasks": tasks,
    "task": task,
    "history": history,
    "cancel": cancel,
    "retry": retry,
    "verdict": verdict,
}
