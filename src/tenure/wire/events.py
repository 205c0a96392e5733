"""Effects to be witnessed and events to be settled, in batches, fenced by the claim tokens inside."""

import msgspec
from msgspec import Struct

from tenure.core.bounds import Count
from tenure.core.effect import WitnessAnswer, WitnessRequest
from tenure.core.event import Event, EventAnswer

TASK_EVENT = "task"
"""The event of a task's stream that carries the whole task."""


class EffectsRequest(Struct, frozen=True):
    """Questions whether effects may begin, answered in one transaction."""

    effects: list[WitnessRequest]


class EffectsAnswer(Struct, frozen=True):
    """The answers in the order of the questions."""

    effects: list[WitnessAnswer]


class EventsRequest(Struct, frozen=True):
    """Facts that a worker reports, with the room that is left."""

    room: Count
    events: list[Event]


class EventsAnswer(Struct, frozen=True):
    """What became of each event, in their order; each answer means that the fact is durable."""

    answers: list[EventAnswer]


class LooseEvents(Struct, frozen=True):
    """The same batch with unread events: one bad event must not spoil its batch."""

    room: Count
    events: list[msgspec.Raw]


class EventName(Struct, frozen=True):
    """As much of a bad event as its answer needs."""

    event_id: str
