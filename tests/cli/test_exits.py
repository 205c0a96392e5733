"""Every error has its exit code and is said in one line."""

import pytest

from tenure.cli.exits import Exit, exit_of, hint, sentence
from tenure.core import errors
from tenure.core.errors import TenureError

SENTENCE = "what is wrong; what to do"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.Invalid("wrong", path="input"), 2),
        (errors.InvalidConfig("wrong", path="--app"), 2),
        (errors.NotFound(SENTENCE), 2),
        (errors.KeyConflict(SENTENCE), 2),
        (errors.TooLarge(SENTENCE), 2),
        (errors.Forked(SENTENCE), 2),
        (errors.Blocked(SENTENCE), 1),
        (errors.Terminal(SENTENCE), 1),
        (errors.Taken(SENTENCE), 1),
        (errors.StaleRevision(SENTENCE), 1),
        (errors.StoreUnavailable(SENTENCE), 1),
        (errors.DiskFull(SENTENCE), 1),
        (errors.CapabilityFailed(SENTENCE), 1),
        (errors.InvariantBroken(SENTENCE), 1),
        (errors.DeliveryFailed(SENTENCE), 3),
        (errors.Unavailable(SENTENCE), 3),
        (errors.Unauthenticated(SENTENCE), 4),
        (errors.Forbidden(SENTENCE), 4),
        (errors.OutcomeUnknown(SENTENCE), 5),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, TenureError) else str(value),
)
def test_an_error_has_its_exit_code(error: TenureError, code: int) -> None:
    assert exit_of(error) == code


def test_every_error_of_the_tree_has_an_exit_code_that_is_no_success() -> None:
    todo: list[type[TenureError]] = [TenureError]
    while todo:
        cls = todo.pop()
        todo.extend(cls.__subclasses__())
        assert exit_of(cls.__new__(cls)) is not Exit.DONE


def test_a_sentence_is_one_line() -> None:
    assert sentence(errors.NotFound("there is\n  no task\tx")) == "there is no task x"
    assert sentence(ValueError()) == "ValueError"


def test_a_bug_says_so() -> None:
    assert "bug in Tenure" in sentence(errors.InvariantBroken("a guard did not hold"))


def test_a_hint_is_given_only_where_it_adds_something() -> None:
    assert "TENURE_TOKEN" in str(hint(errors.Unauthenticated(SENTENCE)))
    assert hint(errors.NotFound(SENTENCE)) is None
