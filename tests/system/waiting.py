"""What the stories wait for, and how they look at the heartbeats that went through the proxy."""

from collections.abc import Callable
from itertools import pairwise

from tenure.core.view import TaskView
from tests.crash.rig import WAIT_S, Rig, until
from tests.crash.world import World

HEARTBEAT = r"/workers/[^/]+/heartbeat"


def is_settled(task: TaskView) -> bool:
    """Say whether nothing more happens to a task by itself."""
    return task.state in {"done", "failed", "cancelled"}


def wait_done(rig: Rig, task_id: str, timeout_s: float = WAIT_S) -> TaskView:
    """Return the task once it is settled, which must be done."""
    task = rig.wait_task(task_id, is_settled, "to be settled", timeout_s)
    assert task.state == "done", task
    return task


def wait_state(rig: Rig, task_id: str, state: str, timeout_s: float = WAIT_S) -> TaskView:
    """Return the task once it is in a state."""
    return rig.wait_task(task_id, lambda task: task.state == state, f"to be {state}", timeout_s)


def wait_began(rig: Rig, world: World, name: str, timeout_s: float = WAIT_S) -> None:
    """Return once a handler has said that it began."""
    until(lambda: world.count("began", name), f"{name} to begin", timeout_s)


def longest_gap_s(rig: Rig, since_s: float, to_s: float) -> float:
    """Return the longest time between two heartbeats that were answered, within a span of time."""
    beats = [one.at_s for one in rig.proxy.requests("POST", HEARTBEAT) if one.status == 200]
    instants = [since_s, *(at for at in beats if since_s < at < to_s), to_s]
    return max(after - before for before, after in pairwise(instants))


def held_to(rig: Rig, holds: Callable[[], bool], seconds: float) -> bool:
    """Say whether something kept on holding for so long; looked at again and again."""
    try:
        until(lambda: not holds(), "it to end", seconds)
    except TimeoutError:
        return True
    return False
