"""Whether a worker takes a command: duplicate, then conflict, then drain, then capability, then capacity.

Contracts: C064 C065 C111 to C114.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from tenure.core.capability import Capability, fits, match_capability
from tenure.core.command import Ack, Command, CommandKind, RejectReason


class House(Struct, frozen=True):
    """What the worker can take now; usage counts every attempt in its local store that is not final."""

    instance_id: str
    capabilities: Sequence[Capability]
    slots_free: int
    resources_free: Mapping[str, float]
    drained: bool
    stopping: bool


class InboxRow(Struct, frozen=True):
    """What the inbox remembers of a command: its digest and how it was first answered."""

    command_id: str
    kind: CommandKind
    digest: str
    accepted: bool
    reason: RejectReason | None = None
    detail: str = ""


def decide_command(command: Command, seen: InboxRow | None, house: House) -> Ack:
    """Return the acknowledgement that a command gets; an accepted new one is saved before it is sent.

    The duplicate check comes before everything else, so that a repeated command is acknowledged again in
    every state, also while draining or full. A refusal is an explicit answer, never silence.
    """
    if command.computed_digest() != command.digest:
        return _no(command, "conflict", "the command's digest is not that of its content")
    if seen is not None:
        if seen.digest != command.digest:
            return _no(command, "conflict", "the same command id came before with other content")
        return Ack(command.command_id, seen.accepted, seen.reason, seen.detail)
    if command.instance_id != house.instance_id:
        return _no(command, "conflict", f"the command is for instance {command.instance_id}")
    return _admit_start(command, house) if command.kind is CommandKind.START else Ack(command.command_id)


def _admit_start(command: Command, house: House) -> Ack:
    task = command.task
    if task is None or task.id is None or command.token is None or command.generation is None:
        return _no(command, "invalid_input", "a start needs task, generation and token")
    if match_capability(house.capabilities, task.capability, task.version) is None:
        return _no(
            command, "unsupported", f"{task.capability} {task.version or 'any version'} is not declared here"
        )
    if house.drained or house.stopping:
        return _no(
            command, "draining", "this worker is drained" if house.drained else "this worker is stopping"
        )
    if house.slots_free < 1:
        return _no(command, "capacity", "no slot and no backlog is free")
    if not fits(task.resources, house.resources_free):
        return _no(command, "capacity", "a resource that the task needs is not free")
    return Ack(command.command_id)


def _no(command: Command, reason: RejectReason, detail: str) -> Ack:
    return Ack(command.command_id, accepted=False, reason=reason, detail=detail)
