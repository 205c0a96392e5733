"""Tasks as people and programs see them, built from the board.

The ledger and the holder's last sign of life.
"""

from collections.abc import Sequence
from datetime import datetime

from tenure.core.checkpoint import Progress
from tenure.core.effect import ATTEMPT_SUBJECT, Effect
from tenure.core.task import Task, TaskSpec, TaskState
from tenure.core.verdict import may_still_act
from tenure.core.view import ClaimView, SubjectView, TaskView
from tenure.ports.store import Transaction
from tenure.service.holders import Holders


def view(tx: Transaction, task: Task) -> TaskView:
    """Return one task as the protocol's Task."""
    return views(tx, [task])[0]


def views(tx: Transaction, tasks: Sequence[Task]) -> list[TaskView]:
    """Return tasks as the protocol's Task, in the given order; never with a token."""
    specs = tx.board.specs([t.id for t in tasks])
    progress = tx.upkeep.progress([t.id for t in tasks])
    doubtful = [t.id for t in tasks if t.subjects]
    ledger = tx.ledger.effects(doubtful) if doubtful else {}
    holders, now = Holders(tx, ledger), tx.now()
    return [
        _view(t, specs[t.id], progress.get(t.id), _subjects(t, ledger.get(t.id, []), holders, now), now)
        for t in tasks
    ]


def _view(
    task: Task, spec: TaskSpec, progress: Progress | None, unknown: list[SubjectView], now: datetime
) -> TaskView:
    return TaskView(
        id=task.id,
        capability=task.capability,
        version=task.version,
        queue=task.queue,
        priority=task.priority,
        not_before=task.not_before,
        revision=task.revision,
        generation=task.generation,
        run=task.run,
        attempts=task.attempts,
        losses=task.losses,
        interruptions=task.interruptions,
        cancel_requested=task.cancel_requested,
        created_at=task.created_at,
        updated_at=task.updated_at,
        started_at=task.started_at,
        finished_at=task.finished_at,
        result=task.result,
        error=task.error,
        state=str(task.state),
        input=spec.input,
        key=spec.key,
        requires=spec.requires,
        resources=spec.resources,
        depends_on=spec.depends_on,
        timeout_s=spec.timeout_s,
        silence_s=spec.silence_s,
        lease_ttl_s=spec.lease_ttl_s,
        max_attempts=spec.max_attempts,
        max_losses=spec.max_losses,
        backoff=spec.backoff,
        concurrency_key=spec.concurrency_key,
        concurrency_limit=spec.concurrency_limit,
        fairness_key=spec.fairness_key,
        on_dependency_failure=spec.on_dependency_failure,
        labels=spec.labels,
        deadline=spec.deadline,
        claim=_claim(task, now),
        progress=progress,
        unknown=unknown,
    )


def _claim(task: Task, now: datetime) -> ClaimView | None:
    holder = task.holder
    if holder is None or task.state is not TaskState.CLAIMED:
        return None
    return ClaimView(
        agent=holder.agent,
        instance_id=holder.instance_id,
        generation=holder.generation,
        until=holder.until,
        ended=not holder.lease_is_live(now),
    )


def _subjects(task: Task, ledger: Sequence[Effect], holders: Holders, now: datetime) -> list[SubjectView]:
    entries = {e.name: e for e in ledger}
    return [_subject(task, name, entries.get(name), holders, now) for name in task.subjects]


def _subject(task: Task, name: str, effect: Effect | None, holders: Holders, now: datetime) -> SubjectView:
    claim = task.claim
    evidence: dict[str, object] = {}
    if claim is not None:
        evidence = {
            "lease_until": claim.until,
            "ended": str(claim.ended) if claim.ended else None,
            "losses": task.losses,
        }
    if effect is None or name == ATTEMPT_SUBJECT:
        return SubjectView(
            subject=name,
            generation=claim.generation if claim else None,
            agent=claim.agent if claim else None,
            evidence=evidence,
            may_still_act=may_still_act(task, None, now),
        )
    return SubjectView(
        subject=name,
        request_id=effect.request_id,
        params=effect.params,
        generation=effect.generation,
        agent=effect.agent,
        witnessed_at=effect.witnessed_at,
        evidence=evidence | {"state": str(effect.state), "settled_by": list(effect.settled_by)},
        may_still_act=may_still_act(task, effect, now, holders.of(effect)),
    )
