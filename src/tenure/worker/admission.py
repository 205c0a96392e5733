"""Takes commands into the inbox: judged, answered and saved in one transaction with what they bring about.

Capacity is counted from the local store in that same transaction, so no two commands pass it together. C114
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from tenure.core.admission import House, InboxRow, decide_command
from tenure.core.attempt import Attempt, AttemptState
from tenure.core.capability import Capability
from tenure.core.command import Ack, Command, CommandKind
from tenure.core.effect import Evidence
from tenure.core.errors import InvariantBroken
from tenure.core.ids import attempt_id
from tenure.ports.local import InstanceRow, LocalTransaction


class Frontage(Struct, frozen=True):
    """What this worker can take, apart from what is counted in the transaction."""

    instance_id: str
    capabilities: Sequence[Capability]
    capacity: int
    resources: dict[str, float]
    is_stopping: bool
    at: datetime


class Admitted(Struct, frozen=True):
    """What a group of commands came to: the answers, and what changed here."""

    acks: list[Ack]
    attempts: list[Attempt]
    cancelled: list[Attempt]
    identity: InstanceRow | None


def admit(tx: LocalTransaction, commands: Sequence[Command], front: Frontage) -> Admitted:
    """Judge commands in the order they came, and save each with what it brings about. C062, C063, C073."""
    return _Admission(tx, commands, front).run()


def refuse_unsaved(commands: Sequence[Command], seen: dict[str, InboxRow]) -> list[Ack]:
    """Answer what can be answered although nothing can be saved: duplicates, and no to new starts (D28).

    Everything else stays unanswered, so that it is offered again.
    """
    acks = [
        Ack(row.command_id, row.accepted, row.reason, row.detail)
        for command in commands
        if (row := seen.get(command.command_id)) is not None and row.digest == command.digest
    ]
    return acks + [
        Ack(command.command_id, accepted=False, reason="capacity", detail="the disk is full")
        for command in commands
        if command.command_id not in seen and command.kind is CommandKind.START
    ]


class _Admission:
    """One transaction's worth of commands."""

    def __init__(self, tx: LocalTransaction, commands: Sequence[Command], front: Frontage) -> None:
        self._tx = tx
        self._commands = commands
        self._front = front
        self._seen = tx.inbox.seen([command.command_id for command in commands])
        self._identity = tx.identity.read() or InstanceRow(front.instance_id)
        usage = tx.attempts.usage()
        self._slots_free = front.capacity - usage.attempts
        taken = usage.resources
        self._free = {name: amount - taken.get(name, 0.0) for name, amount in front.resources.items()}
        self._attempts: dict[str, Attempt] = {}
        self._cancelled: dict[str, Attempt] = {}
        self._remembered: list[tuple[Command, InboxRow]] = []

    def run(self) -> Admitted:
        before = self._identity
        acks = [self._take(command) for command in self._commands]
        self._tx.inbox.add(self._remembered)
        self._tx.attempts.add(list(self._attempts.values()))
        self._tx.attempts.save(list(self._cancelled.values()))
        if self._identity != before:
            self._tx.identity.write(self._identity)
        # As they are saved: an epoch begins where those of the task's earlier attempts ended.
        added = self._tx.attempts.load(list(self._attempts)) if self._attempts else {}
        changed = self._identity if self._identity != before else None
        return Admitted(acks, list(added.values()), list(self._cancelled.values()), changed)

    def _take(self, command: Command) -> Ack:
        known = self._seen.get(command.command_id)
        ack = decide_command(command, known, self._house())
        if known is None and ack.accepted and command.kind is CommandKind.FIND:
            ack = _cannot_find(command)
        if known is not None or ack.reason == "conflict":
            return ack  # A conflict is no first sight of the command: the id may belong to another one
        row = InboxRow(command.command_id, command.kind, command.digest, ack.accepted, ack.reason, ack.detail)
        self._seen[command.command_id] = row
        self._remembered.append((command, row))
        if ack.accepted:
            self._act(command)
        return ack

    def _house(self) -> House:
        return House(
            instance_id=self._front.instance_id,
            capabilities=self._front.capabilities,
            slots_free=self._slots_free,
            resources_free=self._free,
            drained=self._identity.drained,
            stopping=self._front.is_stopping,
        )

    def _act(self, command: Command) -> None:
        match command.kind:
            case CommandKind.START:
                self._add(new_attempt(command, self._front.at))
            case CommandKind.CANCEL:
                self._cancel(command)
            case CommandKind.DRAIN | CommandKind.UNDRAIN:
                self._mark_drained(command)
            case CommandKind.FORGET:
                if command.attempt_id is not None:
                    self._tx.attempts.forget([command.attempt_id])
            case CommandKind.FIND:
                pass  # Refused above

    def _add(self, attempt: Attempt) -> None:
        self._attempts[attempt.id] = attempt
        self._slots_free -= 1
        for name, amount in attempt.spec.resources.items():
            self._free[name] -= amount

    def _cancel(self, command: Command) -> None:
        """Save a cancel where there is anything to cancel; after completion it is a recorded no-op. C073."""
        id_ = command.attempt_id or ""
        if id_ in self._attempts:
            self._attempts[id_] = msgspec.structs.replace(self._attempts[id_], cancel_requested=True)
            return
        attempt = self._cancelled.get(id_) or self._tx.attempts.load([id_]).get(id_)
        if attempt is not None and not attempt.state.is_final:
            self._cancelled[id_] = msgspec.structs.replace(attempt, cancel_requested=True)

    def _mark_drained(self, command: Command) -> None:
        """Take a person's mark, unless a newer one is known. C111."""
        number = command.body.get("number")
        if isinstance(number, int):
            drained = command.kind is CommandKind.DRAIN
            self._identity = marked(self._identity, drained=drained, number=number)


def marked(identity: InstanceRow, *, drained: bool, number: int) -> InstanceRow:
    """Return the identity with a drained mark, if its number is the higher one. C111."""
    if number <= identity.drained_number:
        return identity
    return msgspec.structs.replace(identity, drained=drained, drained_number=number)


def new_attempt(command: Command, at: datetime) -> Attempt:
    """Return the pending attempt of an admitted start, with what earlier attempts left behind."""
    task, evidence = command.task, command.evidence or Evidence()
    if task is None or task.id is None or command.generation is None or command.token is None:
        raise InvariantBroken("a start without task, generation or token was admitted")
    saved = evidence.checkpoint
    return Attempt(
        id=attempt_id(task.id, command.generation),
        task_id=task.id,
        generation=command.generation,
        run=command.run,
        token=command.token,
        state=AttemptState.PENDING,
        epoch=0,
        spec=task,
        received_at=at,
        losses=command.losses,
        evidence=evidence,
        checkpoint=None if saved is None else saved.value,
        checkpoint_saved=saved is not None,
        checkpoint_portable=saved is None or saved.portable,
        command_id=command.command_id,
    )


def _cannot_find(command: Command) -> Ack:
    """Say no: an effect's `find` lives inside its capability's code, which runs only in an attempt."""
    detail = "this worker looks effects up only while it executes their task"
    return Ack(command.command_id, accepted=False, reason="unsupported", detail=detail)
