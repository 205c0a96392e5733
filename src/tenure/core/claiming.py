"""Who may be granted a task: open ones, ended leases, and what the janitor does to a lease that ended.

Contracts: D1, D2, D19, D21.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from tenure.core.capability import Recovery
from tenure.core.claim import Claim, ClaimEnd
from tenure.core.effect import ATTEMPT_SUBJECT, Effect
from tenure.core.errors import Blocked, OutcomeUnknown, Refused, Taken, Terminal
from tenure.core.settlement import doubt, too_many_losses, unsettled_subjects
from tenure.core.task import Task, TaskState, TaskStep


class Grantee(Struct, frozen=True):
    """Who is granted a task, and the digest of the token minted for it."""

    agent: str
    token_hash: str
    ttl_s: float
    rule: Recovery | None = None
    instance_id: str | None = None
    session: int | None = None
    pushed: bool = False
    request_id: str | None = None


def grant(task: Task, to: Grantee, now: datetime) -> Task:
    """Return the task granted as a new generation; a takeover of acknowledged work counts one loss.

    The loss is not counted again where the newest execution was already reported dead, nor for a start that
    was never acknowledged, nor when the same agent repeats its own request. Contracts: C010, C012, C013.
    """
    before = task.holder
    repeated = before is not None and to.request_id is not None and before.request_id == to.request_id
    reported = before is not None and before.epoch > 0 and before.lost_epoch >= before.epoch
    lost = before is not None and before.acknowledged and not repeated and not reported
    generation = task.generation + 1
    claim = Claim(
        task_id=task.id,
        generation=generation,
        token_hash=to.token_hash,
        agent=to.agent,
        granted_at=now,
        until=now + timedelta(seconds=to.ttl_s),
        ttl_s=to.ttl_s,
        rule=to.rule,
        instance_id=to.instance_id,
        session=to.session,
        pushed=to.pushed,
        acknowledged=not to.pushed,
        request_id=to.request_id,
    )
    return task.after(
        TaskStep.GRANT,
        now,
        generation=generation,
        claim=claim,
        losses=task.losses + (1 if lost else 0),
        started_at=task.started_at or now,
        not_before=None,
    )


def refusal(
    task: Task, ledger: Sequence[Effect], *, dependencies_done: bool, calm: bool, now: datetime
) -> Refused | OutcomeUnknown | None:
    """Return why an explicit claim is refused, or None if it may be granted. C011 C014 C015 C016."""
    match task.state:
        case TaskState.DONE | TaskState.CANCELLED:
            return Terminal(f"task {task.id} is {task.state}")
        case TaskState.UNKNOWN:
            return OutcomeUnknown(f"task {task.id} waits for a verdict", subjects=task.subjects)
        case TaskState.CLAIMED:
            holder = task.holder
            if holder is not None and (holder.lease_is_live(now) or not calm):
                return Taken(f"task {task.id} is held by {holder.agent} until {holder.until.isoformat()}")
            return _unsettled(task, ledger)
        case TaskState.FAILED | TaskState.OPEN | TaskState.BLOCKED:
            if not dependencies_done:
                return Blocked(f"task {task.id} waits for its dependencies", reason="dependency")
            if task.not_before is not None and now < task.not_before:
                return Blocked(f"task {task.id} is due at {task.not_before.isoformat()}", reason="not_due")
            return _unsettled(task, ledger)


def _unsettled(task: Task, ledger: Sequence[Effect]) -> OutcomeUnknown | None:
    rule = task.claim.rule if task.claim else None
    if rule is Recovery.MANUAL and task.state is TaskState.CLAIMED:
        return OutcomeUnknown(f"task {task.id} is manual and its holder vanished")
    subjects = unsettled_subjects(ledger, rule)
    return OutcomeUnknown(f"task {task.id} has effects in doubt", subjects=subjects) if subjects else None


def ended_lease(task: Task, ledger: Sequence[Effect], now: datetime) -> Task | None:
    """Return what an ended lease makes of its task, or None: it stays claimed and may be taken over.

    The caller has checked calm and that the lease ended. Unknown, failed and cancelled are all that the
    janitor does; it never reopens acknowledged work. A claim without a rule belongs to its host, except for a
    cancel. C042 C116.
    """
    claim = task.holder
    if claim is None:
        return None
    if claim.pushed and not claim.acknowledged:
        return void_start(task, now)
    doubts = unsettled_subjects(ledger, claim.rule)
    if claim.rule is None:
        return _cancelled(task, claim, now) if task.cancel_requested and not doubts else None
    if claim.rule is Recovery.MANUAL:
        return doubt(task, claim, (ATTEMPT_SUBJECT, *doubts), None, ClaimEnd.LOST, now)
    if doubts:
        return doubt(task, claim, doubts, None, ClaimEnd.LOST, now)
    if task.cancel_requested:
        in_doubt = tuple(e.name for e in ledger if e.is_in_doubt)
        return (
            doubt(task, claim, in_doubt, None, ClaimEnd.LOST, now)
            if in_doubt
            else _cancelled(task, claim, now)
        )
    reported = claim.epoch > 0 and claim.lost_epoch >= claim.epoch
    if not reported and task.losses + 1 >= task.max_losses:
        counted = msgspec.structs.replace(task, losses=task.losses + 1)
        return too_many_losses(counted, claim, ledger, now)
    return None


def void_start(task: Task, now: datetime) -> Task:
    """Return the task of a start command that was never acknowledged.

    Open or cancelled, nothing counted (D20).
    """
    claim = task.holder
    voided = None if claim is None else msgspec.structs.replace(claim, ended=ClaimEnd.VOID, ended_at=now)
    step = TaskStep.CANCEL if task.cancel_requested else TaskStep.GIVE_BACK
    # The generation is raised so that an acknowledgement still under way finds its token older.
    return task.after(step, now, claim=voided, generation=task.generation + 1)


def _cancelled(task: Task, claim: Claim, now: datetime) -> Task:
    ended = msgspec.structs.replace(claim, ended=ClaimEnd.CANCELLED, ended_at=now)
    return task.after(TaskStep.CANCEL, now, claim=ended)
