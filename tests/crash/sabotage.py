"""A capability that lies, saying that its act may be repeated; the rig must see what comes of it."""

from pathlib import Path

from tenure import App, AsyncAttempt, Attempt, Recovery
from tests.crash.work import EFFECT, Done
from tests.crash.work import recompute as honest
from tests.crash.world import World

app = App("crash")


@app.capability("query", version="1", recovery=Recovery.QUERY)
async def query(attempt: AsyncAttempt, folder: str, label: str) -> Done:
    """Act as often as it is entered."""
    world = World(Path(folder))
    receipt = await attempt.effect(EFFECT, {"label": label}, apply=world.act, idempotent=True, returns=str)
    return Done(label=label, receipt=receipt)


@app.capability("recompute", version="1", recovery=Recovery.RECOMPUTE)
def recompute(attempt: Attempt, folder: str, label: str) -> Done:
    """Be as honest as the others."""
    return honest(attempt, folder, label)
