"""Commands to workers and their acknowledgements; the command itself is `core.command`."""

from msgspec import Struct

from tenure.core.bounds import Count
from tenure.core.command import Ack, AckAnswer

COMMAND_EVENT = "command"
"""The stream's event that carries one command as JSON, its id the command's sequence number."""

BYE_EVENT = "bye"
"""The stream's last event: it ends on purpose, and nothing was lost."""


class AcksRequest(Struct, frozen=True):
    """Answers to commands, repeatable for ever, with the room that is left."""

    room: Count
    acks: list[Ack]


class AcksAnswer(Struct, frozen=True):
    """What each command is worth now."""

    acks: list[AckAnswer]
