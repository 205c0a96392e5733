"""Reading a batch of events so that one bad event never spoils it."""

from typing import Final

import msgspec
from msgspec import Struct

from tenure.core.errors import Invalid, TenureError
from tenure.core.event import Answer, Event, EventAnswer
from tenure.wire.codec import check_depth, decode_answer, decode_request, fault, refuse_unknown
from tenure.wire.events import EventName, EventsRequest, LooseEvents

_LOOSE: Final = msgspec.json.Decoder(LooseEvents)


class EventBatch(Struct, frozen=True):
    """The events that could be read, and the answers to those that could not, by their place in the batch."""

    room: int
    events: list[Event]
    refused: dict[int, EventAnswer] = {}

    def woven(self, answers: list[EventAnswer]) -> list[EventAnswer]:
        """Return all answers in the order of the batch."""
        left = iter(answers)
        count = len(self.events) + len(self.refused)
        return [self.refused[place] if place in self.refused else next(left) for place in range(count)]


def decode_events(body: bytes, *, strict: bool) -> EventBatch:
    """Return a batch of events; an unreadable one is answered `invalid` if at least its id can be read.

    Raises:
        Malformed, TooLarge: As `decode_request` does.
        Invalid: The batch itself, or an event without an id.
    """
    try:
        read = decode_request(body, EventsRequest, strict=strict)
    except Invalid as error:
        if type(error) is not Invalid:
            raise
        return _one_by_one(body, strict=strict)
    return EventBatch(read.room, read.events)


def _one_by_one(body: bytes, *, strict: bool) -> EventBatch:
    check_depth(body)
    try:
        loose = _LOOSE.decode(body)
    except msgspec.ValidationError as error:
        raise fault(error) from None
    if strict:
        refuse_unknown(body, LooseEvents)
    events: list[Event] = []
    refused: dict[int, EventAnswer] = {}
    for place, raw in enumerate(loose.events):
        one = bytes(raw)
        try:
            events.append(decode_request(one, Event, strict=strict))
        except TenureError as error:
            refused[place] = EventAnswer(_name(one, place), Answer.INVALID, error.text)
    return EventBatch(loose.room, events, refused)


def _name(one: bytes, place: int) -> str:
    try:
        return decode_answer(one, EventName).event_id
    except msgspec.DecodeError:
        raise Invalid("is no id", path=f"events[{place}].event_id") from None
