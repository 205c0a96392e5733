"""What can be kept as JSON: checked when it is handed over, never altered, never cut. B29."""

import pytest

from tenure.app.values import to_json
from tenure.core.errors import Invalid, TooLarge
from tenure.core.execution import VALUE_BYTES_MAX

QUOTES = 2


@pytest.mark.parametrize("size", [VALUE_BYTES_MAX - 1, VALUE_BYTES_MAX])
def test_a_value_up_to_the_limit_is_kept_exactly(size: int) -> None:
    """B29."""
    text = "x" * (size - QUOTES)
    assert to_json(text, "result") == text


@pytest.mark.parametrize("size", [VALUE_BYTES_MAX + 1, 50 * 1024 * 1024])
def test_a_value_beyond_the_limit_is_refused_with_the_way_out(size: int) -> None:
    """B29."""
    with pytest.raises(
        TooLarge, match=r"result is .* MiB as JSON and the limit is 3.9 MiB; keep the content"
    ):
        to_json("x" * (size - QUOTES), "result")


def test_the_limit_counts_bytes_and_not_characters() -> None:
    """B29."""
    with pytest.raises(TooLarge):
        to_json("é" * (VALUE_BYTES_MAX // 2), "result")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (float("nan"), "result: nan is no JSON number"),
        ({"a": [1, float("-inf")]}, r"result.a\[1\]: -inf"),
        ("\ud800", "result: holds a lone surrogate"),
        ({"k": "a\x00b"}, "result.k: holds a NUL"),
        ({"a\x00": 1}, "holds a NUL"),
        ({(1, 2): 3}, "result: "),
        (object(), "result: object is no JSON value; use None, bool"),
        ({"deep": {"deeper": object()}}, "object is no JSON value"),
    ],
)
def test_what_json_cannot_carry_is_refused_by_its_place(value: object, says: str) -> None:
    with pytest.raises(Invalid, match=says):
        to_json(value, "result")


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def test_depth_is_bounded_as_on_the_wire() -> None:
    assert to_json(nested(100), "result") == nested(100)
    for levels in (101, 2_000, 50_000):
        with pytest.raises(Invalid, match="deep"):
            to_json(nested(levels), "result")


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(Invalid, match="contains itself"):
        to_json(value, "result")


@pytest.mark.parametrize(
    "value", [10**40, -(10**40), "\\u0000", "line\u2028", 1e300, {"1": "a"}, [[], {}], ""]
)
def test_what_json_can_carry_stays_what_it_is(value: object) -> None:
    assert to_json(value, "result") == value
