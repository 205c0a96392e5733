"""Builders of core entities in any state; a test says only what matters to it."""

from datetime import UTC, datetime, timedelta

from tenure.core.backoff import Backoff
from tenure.core.capability import Recovery
from tenure.core.claim import Claim, ClaimEnd
from tenure.core.effect import Effect, EffectState, WitnessRequest
from tenure.core.task import Task, TaskState

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TTL_S = 30.0


def a_claim(generation: int = 1, **fields: object) -> Claim:
    """Return a live, pulled claim under QUERY."""
    stated: dict[str, object] = {
        "task_id": "t1",
        "generation": generation,
        "token_hash": f"hash-{generation}",
        "agent": "w1",
        "granted_at": NOW,
        "until": NOW + timedelta(seconds=TTL_S),
        "ttl_s": TTL_S,
        "rule": Recovery.QUERY,
        "instance_id": "i1",
    }
    return Claim(**(stated | fields))  # pyright: ignore[reportArgumentType] - a builder takes any field


def a_task(state: TaskState = TaskState.CLAIMED, claim: Claim | None = None, **fields: object) -> Task:
    """Return a task in a state; a claimed or unknown one has a claim of its generation."""
    if claim is None and state in (TaskState.CLAIMED, TaskState.UNKNOWN):
        claim = a_claim(ended=ClaimEnd.UNKNOWN if state is TaskState.UNKNOWN else None)
    stated: dict[str, object] = {
        "id": "t1",
        "capability": "charge",
        "version": None,
        "queue": "default",
        "priority": 0,
        "state": state,
        "revision": 5,
        "generation": claim.generation if claim else 0,
        "run": 1,
        "attempts": 0,
        "losses": 0,
        "interruptions": 0,
        "max_attempts": 3,
        "max_losses": 3,
        "backoff": Backoff(),
        "lease_ttl_s": TTL_S,
        "created_at": NOW,
        "updated_at": NOW,
        "claim": claim,
        "subjects": ("charge",) if state is TaskState.UNKNOWN else (),
    }
    return Task(**(stated | fields))  # pyright: ignore[reportArgumentType] - a builder takes any field


def an_effect(state: EffectState = EffectState.INTENDED, **fields: object) -> Effect:
    """Return a witnessed effect that nothing but a person can settle."""
    stated: dict[str, object] = {
        "task_id": "t1",
        "run": 1,
        "name": "charge",
        "request_id": "t1.1.charge",
        "digest": "d",
        "state": state,
        "generation": 1,
        "epoch": 1,
        "agent": "w1",
        "witnessed_at": NOW,
    }
    return Effect(**(stated | fields))  # pyright: ignore[reportArgumentType] - a builder takes any field


def an_ask(**fields: object) -> WitnessRequest:
    """Return a question for a permit by the first execution."""
    stated: dict[str, object] = {
        "task_id": "t1",
        "token": "x",
        "attempt_epoch": 1,
        "name": "charge",
        "request_id": "t1.1.charge",
        "digest": "d",
    }
    return WitnessRequest(**(stated | fields))  # pyright: ignore[reportArgumentType] - a builder takes any field
