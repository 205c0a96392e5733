"""Inputs and results: the author's types on one side, JSON on the other. C074."""

import enum
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Annotated, Self, TypedDict

import msgspec
import pytest

from tenure.app.signature import Signature
from tenure.core.errors import Invalid, InvalidConfig


class Color(enum.Enum):
    RED = "red"


@dataclass
class Place:
    path: str
    tags: list[str] = field(default_factory=list[str])


class Point(msgspec.Struct):
    x: int


class Size(TypedDict):
    width: int


class Model:
    """What a pydantic model looks like from outside; Tenure does not depend on pydantic."""

    def __init__(self, value: int) -> None:
        self.value = value

    @classmethod
    def model_validate(cls, given: dict[str, int]) -> Self:
        if "value" not in given:
            raise ValueError("value: field required")
        return cls(given["value"])

    def model_dump(self, mode: str) -> dict[str, int]:
        return {"value": self.value}

    @classmethod
    def model_json_schema(cls) -> dict[str, object]:
        return {"type": "object", "title": "Model"}


NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
SOMEWHERE = PurePosixPath("/some/where")


def convert(
    attempt: object,
    place: Place,
    point: Point,
    size: Size,
    model: Model,
    color: Color,
    at: datetime,
    path: PurePosixPath = SOMEWHERE,
    *,
    level: Annotated[int, msgspec.Meta(ge=1)] = 1,
    names: dict[int, str] | None = None,
    anything: object = None,
) -> Place: ...


GOOD: dict[str, object] = {
    "place": {"path": "a", "tags": ["t"]},
    "point": {"x": 1},
    "size": {"width": 3},
    "model": {"value": 7},
    "color": "red",
    "at": "2026-01-02T12:00:00Z",
}
SIGNATURE = Signature("convert", convert)


def test_an_input_becomes_the_types_of_the_hints() -> None:
    given = SIGNATURE.read({**GOOD, "path": "/x", "names": {"1": "one"}, "anything": [1, None]})
    model = given.pop("model")
    assert isinstance(model, Model)
    assert model.value == 7
    assert given == {
        "place": Place("a", ["t"]),
        "point": Point(1),
        "size": {"width": 3},
        "color": Color.RED,
        "at": NOON,
        "path": PurePosixPath("/x"),
        "names": {1: "one"},
        "anything": [1, None],
    }


def test_what_is_left_out_keeps_the_functions_own_default() -> None:
    assert SIGNATURE.read(GOOD).keys() == GOOD.keys()


def test_a_submission_writes_what_the_executor_reads() -> None:
    written = SIGNATURE.write(
        {
            "place": Place("a", ["t"]),
            "point": Point(1),
            "size": Size(width=3),
            "model": Model(7),
            "color": Color.RED,
            "at": NOON,
        }
    )
    assert written == GOOD


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"zoom": 1}, "input.zoom: is not known; convert takes place, point"),
        ({"place": {}}, "input.place.path: is missing"),
        ({"place": {"path": 1}}, "input.place.path: expected str, got int"),
        ({"place": {"path": "a", "tags": ["b", 2]}}, r"input.place.tags\[1\]: expected str, got int"),
        ({"model": {}}, "input.model: value: field required"),
        ({"color": "blue"}, "input.color: no known value: 'blue'"),
        ({"at": "noon"}, "input.at: "),
        ({"level": 0}, "input.level: expected int >= 1"),
        ({"level": "1"}, "input.level: expected int, got str"),
        ({"path": 3}, "input.path: "),
    ],
)
def test_an_input_that_does_not_fit_is_refused_by_the_name_of_the_field(
    changes: dict[str, object], says: str
) -> None:
    with pytest.raises(Invalid, match=says):
        SIGNATURE.read({**GOOD, **changes})


@pytest.mark.parametrize("value", [None, 3, [], "x"])
def test_an_input_is_an_object(value: object) -> None:
    with pytest.raises(Invalid, match=r"input: expected object, got .*; convert takes place"):
        SIGNATURE.read(value)


def test_a_missing_member_is_named_with_what_is_taken() -> None:
    with pytest.raises(Invalid, match=r"input.place: is missing; convert takes place, point") as refused:
        SIGNATURE.read({})
    assert refused.value.path == "input.place"


def test_the_schema_describes_the_input() -> None:
    schema = SIGNATURE.schema
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["place", "point", "size", "model", "color", "at"]
    assert properties["level"] == {"type": "integer", "minimum": 1, "default": 1}
    assert properties["path"] == {"type": "string", "default": "/some/where"}
    assert msgspec.json.decode(msgspec.json.encode(schema)) == schema


def test_a_type_that_json_cannot_fill_is_refused_by_the_name_of_the_parameter() -> None:
    class Handle: ...

    def takes(attempt: object, name: str, handle: Handle) -> None: ...

    with pytest.raises(InvalidConfig, match="parameter 'handle' is of type Handle"):
        _ = Signature("takes", takes).schema


def test_a_result_is_read_back_as_what_the_function_says() -> None:
    assert SIGNATURE.read_result({"path": "a"}) == Place("a")
    with pytest.raises(Invalid, match="result: "):
        SIGNATURE.read_result({"nothing": 1})
