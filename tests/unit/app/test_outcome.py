"""How the code of a capability ended, whatever it raised. C060."""

import asyncio

import pytest

from tenure import Attempt, Failed, Recovery
from tenure.app import outcome
from tenure.app.app import App, declaration_of
from tenure.app.serving import call_plain
from tenure.core.errors import Cancelled, OutcomeUnknown
from tenure.core.execution import VALUE_BYTES_MAX, Finished
from tests.unit.app.acting import Scene


class Unprintable(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt


def ended(raised: BaseException | None, rule: Recovery = Recovery.QUERY, *, cancel: bool = False) -> Finished:
    """Execute a capability that raises."""
    app = App("test")

    @app.capability("x", recovery=rule, window="none")
    def x(attempt: Attempt) -> int:
        if raised is not None:
            raise raised
        return 7

    scene = Scene("plain")
    if cancel:
        scene.running.cancel()
    declared = declaration_of(x)
    assert declared is not None
    return call_plain(declared, scene.running)


ANY = [
    ValueError("v"),
    SystemExit(3),
    KeyboardInterrupt(),
    GeneratorExit(),
    asyncio.CancelledError(),
    MemoryError(),
    ExceptionGroup("g", [ValueError("v")]),
    Unprintable(),
]


@pytest.mark.parametrize("raised", ANY, ids=lambda error: type(error).__name__)
def test_any_exception_is_a_failed_try(raised: BaseException) -> None:
    """C060: exits and cancellations that nobody asked for as well."""
    finished = ended(raised)
    assert finished.outcome == "failed"
    assert finished.error is not None
    assert type(raised).__name__ in finished.error.type
    assert finished.error.retry
    assert "test_outcome.py" in finished.error.traceback


@pytest.mark.parametrize("raised", ANY, ids=lambda error: type(error).__name__)
def test_under_manual_any_exception_is_unknown(raised: BaseException) -> None:
    finished = ended(raised, Recovery.MANUAL)
    assert (finished.outcome, finished.subjects) == ("unknown", ("attempt",))
    assert type(raised).__name__ in finished.note


@pytest.mark.parametrize("rule", Recovery)
def test_only_what_is_said_on_purpose_is_a_failure_under_every_rule(rule: Recovery) -> None:
    finished = ended(Failed("the farm said no", retry=False), rule)
    assert finished.outcome == "failed"
    assert finished.error is not None
    assert (finished.error.type, finished.error.message, finished.error.retry) == (
        "Failed",
        "the farm said no",
        False,
    )


@pytest.mark.parametrize("rule", Recovery)
def test_a_doubt_is_unknown_with_its_subjects_under_every_rule(rule: Recovery) -> None:
    finished = ended(OutcomeUnknown("may have happened", subjects=("charge",)), rule)
    assert (finished.outcome, finished.subjects) == ("unknown", ("charge",))


@pytest.mark.parametrize(
    ("raised", "rule", "says"),
    [
        (Cancelled("c"), Recovery.QUERY, "cancelled"),
        (asyncio.CancelledError(), Recovery.RESUME, "cancelled"),
        (Cancelled("c"), Recovery.MANUAL, "unknown"),
        (asyncio.CancelledError(), Recovery.MANUAL, "unknown"),
        (Cancelled("c", reason="asked"), Recovery.MANUAL, "cancelled"),
        (BaseExceptionGroup("g", [asyncio.CancelledError()]), Recovery.QUERY, "cancelled"),
        (BaseExceptionGroup("g", [asyncio.CancelledError(), ValueError()]), Recovery.QUERY, "failed"),
        (ValueError("v"), Recovery.QUERY, "failed"),
        (None, Recovery.QUERY, "succeeded"),
        (None, Recovery.MANUAL, "succeeded"),
    ],
)
def test_a_cancel_that_was_asked_for(raised: BaseException | None, rule: Recovery, says: str) -> None:
    """C055 C073: a result that beats the cancel stays; under MANUAL the code says where it stopped."""
    assert ended(raised, rule, cancel=True).outcome == says


def test_an_unasked_cancellation_is_a_failed_try() -> None:
    assert ended(Cancelled("c")).outcome == "failed"


def test_messages_and_tracebacks_are_bounded_and_say_what_is_missing() -> None:
    """B29: cut visibly, never silently."""

    def deep(levels: int) -> None:
        if levels:
            deep(levels - 1)
        raise ValueError("x" * 100_000)

    with pytest.raises(ValueError, match="x") as raised:
        deep(500)
    error = ended(raised.value).error
    assert error is not None
    assert len(error.message) < outcome.MESSAGE_MAX + 100
    assert error.message.startswith("… (96000 characters cut)")
    assert len(error.traceback) < outcome.TRACEBACK_MAX + 100


def test_a_message_holds_nothing_that_json_cannot_carry() -> None:
    error = ended(ValueError("a\x00b\ud800c")).error
    assert error is not None
    assert error.message == "a\N{REPLACEMENT CHARACTER}b?c"


def test_a_traceback_shows_the_authors_code_alone() -> None:
    error = ended(ValueError("v")).error
    assert error is not None
    assert "raise raised" in error.traceback
    assert "tenure/app" not in error.traceback


def test_long_chains_of_causes_are_cut() -> None:
    error = ValueError("0")
    for number in range(1, 2_000):
        following = ValueError(str(number))
        following.__cause__ = error
        error = following
    info = ended(error).error
    assert info is not None
    assert info.traceback.count("ValueError") <= outcome.CHAIN_MAX + 1


@pytest.mark.parametrize("rule", [Recovery.QUERY, Recovery.MANUAL])
def test_a_result_that_cannot_be_kept_is_told_at_once(rule: Recovery) -> None:
    """B29: a failed try without another; under MANUAL it was done, so nobody may do it again by itself."""
    finished = outcome.outcome_of_result("x" * VALUE_BYTES_MAX, rule)
    if rule is Recovery.MANUAL:
        assert finished.outcome == "unknown"
        assert "could not be kept" in finished.note
        return
    assert finished.outcome == "failed"
    assert finished.error is not None
    assert (finished.error.type, finished.error.retry) == ("TooLarge", False)


def test_an_input_that_does_not_fit_is_a_failed_try_without_another() -> None:
    app = App("test")

    @app.capability("x", recovery=Recovery.QUERY)
    def x(attempt: Attempt, needed: int) -> None: ...

    declared = declaration_of(x)
    assert declared is not None
    error = call_plain(declared, Scene("plain").running).error
    assert error is not None
    assert (error.type, error.retry) == ("Invalid", False)
    assert error.message == "input.needed: is missing; x takes needed"
