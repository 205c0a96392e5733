"""Attempts, commands and events with everything filled in that a test does not care about."""

import msgspec

from tenure.core.attempt import Attempt, AttemptState, LocalEffect, LocalEffectState
from tenure.core.command import Command, CommandKind, command_digest
from tenure.core.effect import request_id
from tenure.core.event import Event, EventKind
from tenure.core.ids import attempt_id
from tenure.core.task import TaskSpec
from tests.support.worker.clock import START

INSTANCE = "instance-1"


def spec(task_id: str = "task-1", capability: str = "add", **changes: object) -> TaskSpec:
    return msgspec.structs.replace(TaskSpec(capability=capability, id=task_id, version="1"), **changes)


def attempt(task_id: str = "task-1", generation: int = 1, **changes: object) -> Attempt:
    id_ = attempt_id(task_id, generation)
    made = Attempt(
        id=id_,
        task_id=task_id,
        generation=generation,
        run=1,
        token=f"tnr_c_{id_}",
        state=AttemptState.PENDING,
        epoch=0,
        spec=spec(task_id),
        received_at=START,
        command_id=id_,
    )
    return msgspec.structs.replace(made, **changes)


def start(task: TaskSpec | None = None, generation: int = 1, **changes: object) -> Command:
    task = task or spec()
    assert task.id is not None
    id_ = attempt_id(task.id, generation)
    work = (task.capability, task.version, task.input)
    made = Command(
        command_id=id_,
        instance_id=INSTANCE,
        kind=CommandKind.START,
        digest=command_digest(CommandKind.START, task.id, generation, work, {}),
        task=task,
        attempt_id=id_,
        generation=generation,
        token=f"tnr_c_{id_}",
    )
    return msgspec.structs.replace(made, **changes)


def order(command_id: str, kind: CommandKind, task_id: str | None = None, **body: object) -> Command:
    """A command that is no start; about a task it names the first generation."""
    generation = 1 if task_id is not None else None
    return Command(
        command_id=command_id,
        instance_id=INSTANCE,
        kind=kind,
        digest=command_digest(kind, task_id, generation, None, body),
        attempt_id=attempt_id(task_id, 1) if task_id is not None else None,
        generation=generation,
        body=body,
    )


def event(number: int, kind: EventKind = EventKind.SUCCEEDED, task_id: str = "task-1") -> Event:
    id_ = attempt_id(task_id, 1)
    return Event(
        event_id=f"event-{number}",
        sequence=number,
        task_id=task_id,
        attempt_id=id_,
        generation=1,
        token=f"tnr_c_{id_}",
        attempt_epoch=1,
        kind=kind,
        at=START,
        body={"result": number} if kind is EventKind.SUCCEEDED else {"value": number, "portable": True},
    )


def effect(name: str = "pay", **changes: object) -> LocalEffect:
    made = LocalEffect(
        task_id="task-1",
        run=1,
        name=name,
        request_id=request_id("task-1", 1, name),
        digest="digest-of-params",
        state=LocalEffectState.INTENDED,
        epoch=1,
        generation=1,
    )
    return msgspec.structs.replace(made, **changes)
