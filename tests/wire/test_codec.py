"""Reading bytes: exact numbers, depth, unknown fields, instants, and what a newer side may add."""

import random
from datetime import UTC, datetime
from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from tenure.core.backoff import Backoff
from tenure.core.command import Command, CommandKind
from tenure.core.errors import Invalid, Malformed, TooLarge
from tenure.core.registration import RegisterRequest
from tenure.core.task import TaskSpec
from tenure.core.view import TaskView
from tenure.wire.codec import check_depth, decode_answer, decode_request, encode
from tenure.wire.endpoints import ENDPOINTS, Endpoint
from tenure.wire.fields import has_open_struct, unknown_field, without_unknown
from tenure.wire.limits import BODY_BYTES_MAX
from tenure.wire.tasks import SubmitRequest
from tests.wire.examples import REQUESTS, example

NUMBERS = [0, -1, 2**53, 2**63, 2**64, -(2**64), 10**300, 0.1, 1e22, 5e-324, 1.7976931348623157e308]


class Free(Struct):
    """A form that takes anything in one field."""

    value: object


@pytest.mark.parametrize("number", NUMBERS, ids=str)
def test_numbers_are_kept_exactly(number: float) -> None:
    read = decode_request(encode({"value": [number]}), Free, strict=True)
    assert read.value == [number]
    assert encode(read) == encode({"value": [number]})


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize("levels", [1, 50, 99, 100])
def test_up_to_a_hundred_levels_pass(levels: int) -> None:
    check_depth(nested(levels))
    wide = b"[" + b",".join([nested(levels - 1)] * 200) + b"]" if levels > 1 else nested(1)
    check_depth(wide)


@pytest.mark.parametrize("levels", [101, 102, 1_000, 100_000])
def test_more_than_a_hundred_levels_are_refused(levels: int) -> None:
    with pytest.raises(Invalid, match="deeper than 100"):
        check_depth(nested(levels))
    with pytest.raises(Invalid, match="deeper than 100"):
        check_depth(b"[" + nested(5) + b"," + nested(levels) + b"]")


def depth(value: object) -> int:
    if isinstance(value, dict):
        value = list(cast("dict[str, object]", value).values())
    return 1 + max(map(depth, cast("list[object]", value)), default=0) if isinstance(value, list) else 0


TEXTS = st.text('[]{}"\\\n', max_size=4)
VALUES = st.recursive(
    TEXTS | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
)


@given(VALUES, st.integers(94, 102))
def test_the_depth_is_that_of_the_value_whatever_texts_hold(value: object, wraps: int) -> None:
    wrapped: object = value
    for layer in range(wraps):
        wrapped = [1, wrapped] if layer % 2 else {'"]': wrapped}
    body = msgspec.json.encode(wrapped)
    if depth(value) + wraps <= 100:
        check_depth(body)
    else:
        with pytest.raises(Invalid, match="deeper than 100"):
            check_depth(body)


def test_the_size_is_checked_to_the_byte() -> None:
    """B29: limit - 1, limit, limit + 1."""
    frame = len(encode({"value": ""}))
    for size in (BODY_BYTES_MAX - 1, BODY_BYTES_MAX):
        text = "x" * (size - frame)
        assert decode_request(encode({"value": text}), Free, strict=True).value == text
    with pytest.raises(TooLarge):
        decode_request(encode({"value": "x" * (BODY_BYTES_MAX - frame + 1)}), Free, strict=True)


@pytest.mark.parametrize("text", ["2026-01-01T00:00:00", "2026-01-01", "yesterday", 5, 1.5, True])
def test_an_instant_needs_its_offset(text: object) -> None:
    body = encode({"tasks": [{"capability": "a", "not_before": text}]})
    with pytest.raises(Invalid) as refusal:
        decode_request(body, SubmitRequest, strict=True)
    assert refusal.value.path == "tasks[0].not_before"


def test_instants_are_written_in_utc() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
    assert encode({"at": at}) == b'{"at":"2026-01-02T03:04:05.678901Z"}'


def test_a_field_is_named_down_to_its_place() -> None:
    bodies: dict[str, object] = {
        "tasks[1].backoff.facter": {
            "tasks": [{"capability": "a"}, {"capability": "a", "backoff": {"facter": 2}}]
        },
        "tasks[0].inptu": {"tasks": [{"capability": "a", "inptu": 1}]},
        "tasks[0].labels[...]": {"tasks": [{"capability": "a", "labels": {"a": 5}}]},
        "tasks[0].capability": {"tasks": [{}]},
    }
    for path, body in bodies.items():
        with pytest.raises(Invalid) as refusal:
            decode_request(encode(body), SubmitRequest, strict=True)
        assert refusal.value.path == path


def test_what_is_no_json_comes_before_what_does_not_fit() -> None:
    for body in (b'{"x": "\xff", "tasks": 5}', b'{"tasks": 5, "x": "\\ud800"}', b'{"tasks": 5'):
        with pytest.raises(Malformed):
            decode_request(body, SubmitRequest, strict=True)


def test_a_newer_side_may_add_fields_everywhere() -> None:
    """Clients leave out what they do not know, also in structs that refuse it from people."""
    command = msgspec.to_builtins(Command("c", "i", CommandKind.START, "d", task=TaskSpec("add", id="t")))
    command["mood"] = 1
    command["task"]["colour"] = "red"
    command["task"]["backoff"]["curve"] = "s"
    assert decode_answer(encode(command), Command).task == TaskSpec("add", id="t")
    with pytest.raises(msgspec.ValidationError):
        decode_answer(encode({**command, "kind": "dance"}), Command)


@pytest.mark.parametrize("endpoint", [e for e in ENDPOINTS if e.request], ids=lambda e: e.name)
def test_a_good_example_is_read_both_ways(endpoint: Endpoint) -> None:
    request = REQUESTS[endpoint.name]
    for strict in (True, False):
        assert decode_request(encode(example(endpoint)), type(request), strict=strict) == request


def test_forms_know_their_fields() -> None:
    assert not has_open_struct(SubmitRequest)
    assert has_open_struct(RegisterRequest)
    assert has_open_struct(list[TaskView])
    assert not has_open_struct(Backoff)
    assert unknown_field({"value": {"anything": 1}}, Free) is None
    assert unknown_field([{"value": 1}, {"valeu": 1}], list[Free]) == "[1].valeu"
    assert without_unknown({"value": {"a": 1}, "b": 2}, Free) == {"value": {"a": 1}}


def test_random_bytes_are_refused_and_nothing_else() -> None:
    chance = random.Random(29)
    good = encode(example(next(e for e in ENDPOINTS if e.name == "submit")))
    for _ in range(3_000):
        body = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            body[chance.randrange(len(body))] = chance.randrange(256)
        try:
            decode_request(bytes(body), SubmitRequest, strict=True)
        except (Invalid, TooLarge):
            continue
