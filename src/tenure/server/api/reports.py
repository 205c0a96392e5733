"""What workers report: effects to be witnessed and events to be settled."""

from tenure.server.call import Call, Handler
from tenure.wire.batches import EventBatch
from tenure.wire.events import EffectsAnswer, EffectsRequest, EventsAnswer


async def effects(call: Call[EffectsRequest]) -> EffectsAnswer:
    """Ask whether effects may begin."""
    return EffectsAnswer(await call.service.witness(call.who, call.request.effects))


async def events(call: Call[EventBatch]) -> EventsAnswer:
    """Report facts; those that cannot be read are answered in their places."""
    batch = call.request
    answers = await call.service.report(call.who, batch.room, batch.events)
    return EventsAnswer(batch.woven(answers) if batch.refused else answers)


HANDLERS: dict[str, Handler] = {"effects": effects, "events": events}
