"""Tasks and lines of history with everything filled in that a test does not care about."""

from datetime import UTC, datetime

import msgspec

from tenure.core.backoff import Backoff
from tenure.core.view import TaskView
from tenure.wire.tasks import HistoryLine

AT = datetime(2026, 1, 1, tzinfo=UTC)


def view(generation: int = 1, **changes: object) -> TaskView:
    made = TaskView(
        id="t",
        capability="c",
        version=None,
        input={},
        key=None,
        queue="default",
        priority=0,
        requires={},
        resources={},
        depends_on=[],
        not_before=None,
        timeout_s=None,
        silence_s=None,
        deadline=None,
        lease_ttl_s=30,
        max_attempts=3,
        max_losses=3,
        backoff=Backoff(),
        concurrency_key=None,
        concurrency_limit=None,
        fairness_key=None,
        on_dependency_failure="block",
        labels={},
        revision=1,
        state="done",
        generation=generation,
        run=1,
        attempts=0,
        losses=0,
        interruptions=0,
        cancel_requested=False,
        created_at=AT,
        updated_at=AT,
        started_at=AT,
        finished_at=AT,
    )
    return msgspec.structs.replace(made, **changes)


def line(kind: str, epoch: int = 0, generation: int = 1, **body: object) -> HistoryLine:
    answer = "accepted" if epoch and kind != "witnessed" else None
    return HistoryLine(1, AT, kind, generation, attempt_epoch=epoch, answer=answer, body=body)
