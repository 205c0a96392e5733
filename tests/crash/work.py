"""The capabilities under the kill matrix, one per way to recover: `tests.crash.work:app`.

Each passes every boundary once: a checkpoint, an effect, a result. They differ in what their rule allows: the
effect of `recompute` may be repeated under its id, that of `resume` and `query` can be looked up, and nobody
can tell afterwards what became of that of `query-blind` and `manual`.
"""

from pathlib import Path
from typing import TypedDict, cast

from tenure import ABSENT, Absent, App, AsyncAttempt, Attempt, Recovery
from tests.crash.world import World

app = App("crash")

ITEMS = 3
EFFECT = "act"


class Reached(TypedDict):
    """The checkpoint: how many items are done."""

    items: int


class Done(TypedDict):
    """The result, the same however often anything died."""

    label: str
    receipt: str


@app.capability("recompute", version="1", recovery=Recovery.RECOMPUTE)
def recompute(attempt: Attempt, folder: str, label: str) -> Done:
    """Compute; what it hands over is the same thing however often it is handed over."""
    world = World(Path(folder))
    attempt.checkpoint(Reached(items=0))
    receipt = attempt.effect(EFFECT, {"label": label}, apply=world.act, idempotent=True, returns=str)
    return Done(label=label, receipt=receipt)


@app.capability("resume", version="1", recovery=Recovery.RESUME, window="the last item may be done twice")
def resume(attempt: Attempt, folder: str, label: str) -> Done:
    """Do items one by one with a checkpoint behind each, then publish."""
    world = World(Path(folder))
    saved = cast("Reached | None", attempt.resumed_from)
    for item in range(saved["items"] if saved else 0, ITEMS):
        world.note("item", f"{attempt.task_id}:{item}")
        attempt.checkpoint(Reached(items=item + 1))

    def find(request_id: str) -> str | Absent:
        return world.find(request_id) or ABSENT

    receipt = attempt.effect(EFFECT, {"label": label}, apply=world.act, find=find)
    return Done(label=label, receipt=receipt)


@app.capability("query", version="1", recovery=Recovery.QUERY)
async def query(attempt: AsyncAttempt, folder: str, label: str) -> Done:
    """Act once where it can be asked what became of it."""
    world = World(Path(folder))
    await attempt.checkpoint(Reached(items=0))

    def find(request_id: str) -> str | Absent:
        return world.find(request_id) or ABSENT

    receipt = await attempt.effect(EFFECT, {"label": label}, apply=world.act, find=find)
    return Done(label=label, receipt=receipt)


@app.capability("query-blind", version="1", recovery=Recovery.QUERY)
def query_blind(attempt: Attempt, folder: str, label: str) -> Done:
    """Act once where nobody can be asked."""
    world = World(Path(folder))
    attempt.checkpoint(Reached(items=0))
    receipt = attempt.effect(EFFECT, {"label": label}, apply=world.act, returns=str)
    return Done(label=label, receipt=receipt)


@app.capability("manual", version="1", recovery=Recovery.MANUAL)
def manual(attempt: Attempt, folder: str, label: str) -> Done:
    """Act once, in code of which nobody says what else it does."""
    world = World(Path(folder))
    attempt.checkpoint(Reached(items=0))
    receipt = attempt.effect(EFFECT, {"label": label}, apply=world.act, returns=str)
    return Done(label=label, receipt=receipt)
