"""How the end of a capability's code is told: results checked, errors bounded, tracebacks of user code only.

Whatever the code raises, exits and cancellations included, becomes an outcome.

Contracts: C060.
"""

from pathlib import Path
from traceback import StackSummary, TracebackException
from typing import Final, cast

from tenure.app.running import ASKED, Running
from tenure.app.values import to_json
from tenure.core.capability import Recovery
from tenure.core.effect import ATTEMPT_SUBJECT
from tenure.core.errors import Cancelled, CapabilityFailed, OutcomeUnknown, TenureError
from tenure.core.execution import Finished
from tenure.core.task import ErrorInfo

MESSAGE_MAX: Final = 4_000  # Bound: characters of an error's message
TRACEBACK_MAX: Final = 16_000  # Bound: characters of a traceback; its end says most
CHAIN_MAX: Final = 16  # Bound: causes of causes that are shown
_OURS: Final = str(Path(__file__).parent)
_CANCELLATIONS: Final = ("CancelledError",)  # By name, since asyncio is not loaded in every executor


def outcome_of_result(value: object, recovery: Recovery) -> Finished:
    """Return the outcome of code that returned: success, unless the result cannot be kept."""
    try:
        return Finished("succeeded", to_json(value, "result"))
    except TenureError as error:
        if recovery is Recovery.MANUAL:
            return _unknown(f"it was done and its result could not be kept: {error.text}")
        return Finished("failed", error=ErrorInfo(_name(error), _message(error), retry=False))


def outcome_of_bad_input(error: TenureError) -> Finished:
    """Return the outcome of an attempt whose input does not fit: another try would not help."""
    return Finished("failed", error=ErrorInfo(_name(error), _message(error), retry=False))


def outcome_of_error(error: BaseException, running: Running, recovery: Recovery) -> Finished:
    """Return the outcome of code that raised.

    Only `OutcomeUnknown` and, under `MANUAL`, everything that was not said on purpose is unknown; a
    cancellation counts as one only if it was asked for.
    """
    if isinstance(error, OutcomeUnknown):
        return Finished("unknown", subjects=error.subjects, note=_message(error))
    if running.is_cancelled and _is_cancellation(error):
        # Under MANUAL only the code itself can say that it stopped at a place where stopping is known.
        if recovery is not Recovery.MANUAL or (isinstance(error, Cancelled) and error.reason == ASKED):
            return Finished("cancelled")
        return _unknown("cancelled in the middle of it")
    if recovery is Recovery.MANUAL and not isinstance(error, CapabilityFailed):
        return _unknown(f"the code raised {_name(error)}: {_message(error)}")
    retry = error.again if isinstance(error, CapabilityFailed) else True
    return Finished("failed", error=ErrorInfo(_name(error), _message(error), _traceback(error), retry))


def _unknown(note: str) -> Finished:
    return Finished("unknown", subjects=(ATTEMPT_SUBJECT,), note=_bounded(note, MESSAGE_MAX))


def _is_cancellation(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return all(_is_cancellation(inner) for inner in group.exceptions)
    return isinstance(error, Cancelled) or type(error).__name__ in _CANCELLATIONS


def _name(error: BaseException) -> str:
    kind = type(error)
    if kind.__module__ == "builtins" or kind.__module__.startswith("tenure."):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException as second:  # noqa: BLE001 - user code: an error may not even be printable (C060)
        text = f"its message could not be read: {type(second).__name__}"
    return _bounded(text, MESSAGE_MAX)


def _traceback(error: BaseException) -> str:
    try:
        shown = TracebackException.from_exception(error)
        _trim(shown, 0)
        text = "".join(shown.format())
    except BaseException as second:  # noqa: BLE001 - user code runs while an error is shown (C060)
        text = f"the traceback could not be read: {type(second).__name__}"
    return _bounded(text, TRACEBACK_MAX)


def _trim(shown: TracebackException, depth: int) -> None:
    """Leave out our own frames, and causes beyond the bound."""
    shown.stack = StackSummary.from_list(
        [frame for frame in shown.stack if not frame.filename.startswith(_OURS)]
    )
    if depth >= CHAIN_MAX:
        shown.__cause__ = shown.__context__ = None
        shown.exceptions = None
        return
    for other in (shown.__cause__, shown.__context__, *(shown.exceptions or ())):
        if other is not None:
            _trim(other, depth + 1)


def _bounded(text: str, most: int) -> str:
    """Cut the beginning of what is too long, visibly, and replace what no JSON text can carry."""
    text = text.encode(errors="replace").decode().replace("\x00", "\N{REPLACEMENT CHARACTER}")
    if len(text) <= most:
        return text
    return f"… ({len(text) - most} characters cut)\n{text[-most:]}"
