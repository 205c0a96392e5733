"""Rows of tasks and claims into entities, and back.

The columns of a row and the values of a change stand in the order of the statement that they belong to.
"""

from typing import Literal

from msgspec import Struct

from tenure.core.backoff import Backoff
from tenure.core.capability import Recovery
from tenure.core.claim import Claim, ClaimEnd
from tenure.core.instants import from_micros, to_micros
from tenure.core.task import Ending, ErrorInfo, Task, TaskState
from tenure.ports.board import NewTask
from tenure.stores.sqlite.control.columns import (
    JsonColumn,
    instant_or_none,
    json_if_any,
    json_or_null,
    json_text,
    micros,
    nothing,
    same_text,
)
from tenure.stores.sqlite.database import Row, Value


class Policy(Struct, frozen=True, omit_defaults=True):
    """What a submitter states about failing; written once, and mostly left at its defaults."""

    lease_ttl_s: float = 30.0
    max_attempts: int = 3
    max_losses: int = 3
    backoff: Backoff = Backoff()
    on_dependency_failure: Literal["block", "cancel"] = "block"


USUAL = Policy()
ANYTHING = JsonColumn(object, nothing)
NAMES = JsonColumn(tuple[str, ...], tuple[str, ...])
WORDS = JsonColumn(dict[str, str], dict[str, str])
AMOUNTS = JsonColumn(dict[str, float], dict[str, float])
CONTENT = JsonColumn(dict[str, object], dict[str, object])
_POLICY = JsonColumn(Policy, lambda: USUAL)
_ENDING = JsonColumn(Ending, nothing)
_ERROR = JsonColumn(ErrorInfo, nothing)
_STATES = {str(state): state for state in TaskState}
_RULES = {str(rule): rule for rule in Recovery}
_ENDS = {str(end): end for end in ClaimEnd}
_TASK_COLUMNS = 27


def demand_of(task: Task) -> tuple[str, str, str | None, str | None]:
    """Return what a task asks of a worker: queue, capability, version, requirements."""
    return task.queue, task.capability, task.version, same_text(task.requires)


def new_task_values(number: int, demand: int, new: NewTask) -> tuple[Value, ...]:
    """Return the values of `task_add`."""
    task = new.task
    policy = Policy(
        task.lease_ttl_s, task.max_attempts, task.max_losses, task.backoff, task.on_dependency_failure
    )
    return (
        number,
        task.id,
        demand,
        task.priority,
        task.state.value,
        task.revision,
        task.generation,
        task.run,
        task.attempts,
        task.losses,
        task.interruptions,
        task.cancel_requested,
        to_micros(task.created_at),
        to_micros(task.updated_at),
        micros(task.not_before),
        micros(task.deadline),
        micros(task.started_at),
        micros(task.finished_at),
        None if policy == USUAL else json_text(policy),
        json_if_any(task.resources),
        *_story(task),
    )


def task_values(number: int, loaded_revision: int, task: Task) -> tuple[Value, ...]:
    """Return the values of `task_save`; what a submitter stated never changes and is not among them."""
    return (
        task.state.value,
        task.revision,
        task.generation,
        task.run,
        task.attempts,
        task.losses,
        task.interruptions,
        task.cancel_requested,
        to_micros(task.updated_at),
        micros(task.not_before),
        micros(task.started_at),
        micros(task.finished_at),
        *_story(task),
        number,
        loaded_revision,
    )


def _story(task: Task) -> tuple[Value, ...]:
    return (
        json_if_any(task.subjects),
        json_or_null(task.ending),
        json_or_null(task.error),
        json_or_null(task.result),
    )


def task_of(row: Row) -> Task:
    """Return the task of a row of `task_load`; its number stands first and is left out."""
    policy = _POLICY.read(row[14])
    return Task(
        id=row[1],
        capability=row[2],
        version=row[3],
        queue=row[4],
        requires=WORDS.read(row[5]),
        priority=row[6],
        state=_STATES[row[7]],
        revision=row[8],
        generation=row[9],
        run=row[10],
        attempts=row[11],
        losses=row[12],
        interruptions=row[13],
        max_attempts=policy.max_attempts,
        max_losses=policy.max_losses,
        backoff=policy.backoff,
        lease_ttl_s=policy.lease_ttl_s,
        on_dependency_failure=policy.on_dependency_failure,
        created_at=from_micros(row[15]),
        updated_at=from_micros(row[16]),
        not_before=instant_or_none(row[17]),
        deadline=instant_or_none(row[18]),
        started_at=instant_or_none(row[19]),
        finished_at=instant_or_none(row[20]),
        cancel_requested=bool(row[21]),
        resources=AMOUNTS.read(row[22]),
        subjects=NAMES.read(row[23]),
        ending=_ENDING.read(row[24]),
        result=ANYTHING.read(row[25]),
        error=_ERROR.read(row[26]),
        claim=None if row[_TASK_COLUMNS] is None else claim_of(row[1], row[_TASK_COLUMNS:]),
    )


def claim_of(task_id: str, row: Row) -> Claim:
    """Return the claim of the columns of a claim, which begin with its generation."""
    return Claim(
        task_id=task_id,
        generation=row[0],
        token_hash=row[1],
        agent=row[2],
        granted_at=from_micros(row[3]),
        until=from_micros(row[4]),
        ttl_s=row[5],
        rule=None if row[6] is None else _RULES[row[6]],
        instance_id=row[7],
        session=row[8],
        pushed=bool(row[9]),
        acknowledged=bool(row[10]),
        request_id=row[11],
        epoch=row[12],
        lost_epoch=row[13],
        ended=None if row[14] is None else _ENDS[row[14]],
        ended_at=instant_or_none(row[15]),
    )


def new_claim_values(number: int, claim: Claim) -> tuple[Value, ...]:
    """Return the values of `claim_add`."""
    return (
        number,
        claim.generation,
        claim.token_hash,
        claim.agent,
        to_micros(claim.granted_at),
        to_micros(claim.until),
        claim.ttl_s,
        claim.rule,
        claim.instance_id,
        claim.session,
        claim.pushed,
        claim.acknowledged,
        claim.request_id,
        claim.epoch,
        claim.lost_epoch,
        claim.ended,
        micros(claim.ended_at),
    )


def claim_values(number: int, claim: Claim) -> tuple[Value, ...]:
    """Return the values of `claim_save`."""
    return (
        claim.session,
        claim.acknowledged,
        claim.epoch,
        claim.lost_epoch,
        claim.ended,
        micros(claim.ended_at),
        number,
        claim.generation,
    )
