"""What makes the figures worth something: exactly once, durable, fenced; anything else ends the bench."""

from pathlib import Path

from bench.plant import Plant
from tenure.client.http import BlockingHttp
from tenure.core.errors import LeaseLost, Taken
from tenure.core.task import TaskSpec
from tenure.core.view import TaskView
from tenure.stores.sqlite.connection import StoreKind, open_writing
from tenure.system.clock import SystemClock
from tenure.wire.claims import ClaimGrant, ClaimRequest, CompleteRequest
from tenure.wire.endpoints import BY_NAME

SAMPLE = 100
"""Bound: histories that are read whole; every task is counted."""

LEASE_S = 0.5
FULL = 2
SCHEMAS = 1_000_000
"""Any schema of the store will do."""


class Dishonest(Exception):
    """The figures do not count, and why."""


def check_exactly_once(plant: Plant, tasks: list[TaskView], executions: int) -> int:
    """Every task is done with one settled result, and the executors counted as many executions.

    Returns how many were granted again after a start was refused or void, which costs time and executes
    nothing; their histories are all read, those of the others sampled.
    """
    unfinished = [f"{task.id} is {task.state}" for task in tasks if task.state != "done"]
    if unfinished:
        raise Dishonest(f"{len(unfinished)} tasks are not done: {unfinished[:3]}")
    if executions != len(tasks):
        raise Dishonest(f"the executors counted {executions} executions of {len(tasks)} tasks")
    again = [task for task in tasks if task.generation != 1]
    for task in [*again, *tasks[:: max(1, len(tasks) // SAMPLE)]]:
        kinds = [line.kind for line in plant.client.history(task.id)]
        if kinds.count("succeeded") != 1 or kinds.count("acknowledged") != 1 or "lost" in kinds:
            raise Dishonest(f"task {task.id} has the history {kinds}")
    return len(again)


def check_fencing(plant: Plant) -> str:
    """A completion with an older token must be refused, and one with the newest accepted; say how it went."""
    [submitted] = plant.client.submit_many([TaskSpec(capability="nobody-can", lease_ttl_s=LEASE_S)])
    http = BlockingHttp(plant.url)
    asked = ClaimRequest("claimer", LEASE_S)

    def claim() -> ClaimGrant | None:
        try:
            return http.call(
                BY_NAME["claim"], ClaimGrant, token=plant.token, request=asked, task_id=submitted.id
            )
        except Taken:
            return None

    def complete(held: ClaimGrant) -> TaskView:
        wanted = CompleteRequest(held.token)
        return http.call(
            BY_NAME["complete"], TaskView, token=plant.token, request=wanted, task_id=submitted.id
        )

    older = claim()
    newer: list[ClaimGrant] = []

    def taken_over() -> bool:
        newer.extend(filter(None, [claim()]))
        return bool(newer)

    plant.wait(taken_over, "the lease to end, and a takeover")
    if older is None:
        raise Dishonest("a new task could not be claimed")
    try:
        complete(older)
    except LeaseLost as refused:
        done = complete(newer[0])
        if done.state != "done" or done.generation != newer[0].generation:
            raise Dishonest(f"the newest claim could not complete: {done.state}") from refused
        return f"{type(refused).__name__}: {refused}"
    raise Dishonest("a completion with an older token was accepted")


def check_durable(store: Path) -> dict[str, object]:
    """Read the settings of a writing connection, opened as the server opens its own."""
    writing = open_writing(store, StoreKind.CONTROL_PLANE, wall=SystemClock().wall, newest=SCHEMAS)
    found: dict[str, object] = {
        "journal_mode": writing.run("pragma journal_mode")[0][0],
        "synchronous": writing.number("synchronous"),
    }
    writing.close()
    if found != {"journal_mode": "wal", "synchronous": FULL}:
        raise Dishonest(f"the store is not durable: {found}")
    return found
