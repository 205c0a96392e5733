"""Carries out the effect protocol with calls that block, for plain functions."""

import inspect
from collections.abc import Callable, Coroutine
from typing import TypeVar, cast

from tenure.app.effects import Action, Ask, Call, Called, Effect, Ensure, Pause, Tell, perform
from tenure.app.reply import Reply
from tenure.app.running import Running
from tenure.core.errors import Invalid, Unavailable
from tenure.core.faultpoints import FaultPoint

T = TypeVar("T")


def saved(running: Running, reply: Reply[T]) -> T:
    """Wait for an answer; one that says that the local store has failed ends the effects of the run. C078."""
    try:
        return reply.result()
    except Unavailable as error:
        running.broken = error
        raise


def perform_blocking(running: Running, effect: Effect) -> object:
    """Perform an effect; a cancel waits until what has begun is saved."""
    running.enter_effect()
    try:
        steps = perform(effect, running)
        told: object = None
        while True:
            try:
                action = steps.send(told)
            except StopIteration as end:
                return cast("object", end.value)
            told = _carry_out(running, action)
    finally:
        running.leave_effect()


def _carry_out(running: Running, action: Action) -> object:
    desk, attempt_id = running.around.desk, running.work.attempt_id
    match action:
        case Ask():
            return saved(running, desk.begin_effect(attempt_id, action.wanted))
        case Tell():
            return saved(running, desk.end_effect(attempt_id, action.ended))
        case Ensure():
            return running.holds_for(action.seconds) or saved(
                running, desk.hold_lease(attempt_id, action.seconds)
            )
        case Pause():
            return not running.cancelled.wait(action.seconds)
        case Call():
            reply = running.around.threads.call(marked(running, action))
            reply.wait(action.timeout_s)
            return Called(reply, f"{action.what} has not returned within {action.timeout_s:g} s")


def marked(running: Running, call: Call) -> Callable[[], object]:
    """Return the author's function with the fault points around it, as it is called on a thread."""
    faults, task_id = running.around.faults, running.work.task_id
    is_apply = call.what == "apply"

    def called() -> object:
        if is_apply:
            faults.reach(FaultPoint.INSIDE_APPLY, task_id)
        result = call.function(call.request_id)
        if inspect.isawaitable(result):
            if isinstance(result, Coroutine):
                cast("Coroutine[object, object, object]", result).close()
            raise Invalid(
                f"{call.what} of an Attempt is a plain function; for an awaited one write the capability "
                "with `async def` and an AsyncAttempt"
            )
        if is_apply:
            faults.reach(FaultPoint.APPLIED, task_id)
        return result

    return called
