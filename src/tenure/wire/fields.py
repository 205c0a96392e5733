"""Which fields a message's form knows, all the way down: to refuse the others, or to leave them out."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

from msgspec import inspect


class Known:
    """What is known below one place of a message: named fields, items of a list, or values of a map."""

    def __init__(self) -> None:
        """Know nothing yet; recursive forms refer back to it while it is filled."""
        self.fields: dict[str, Known | None] | None = None
        self.items: Known | None = None
        self.guards = False

    @property
    def is_plain(self) -> bool:
        """Say whether nothing below needs a look."""
        return self.fields is None and self.items is None


@cache
def known(form: object) -> Known | None:
    """Return what a form knows, or None where anything may stand."""
    return _known(inspect.type_info(form), {})


@cache
def has_open_struct(form: object) -> bool:
    """Say whether some struct in the form takes unknown fields silently when it is decoded."""
    return _has_open(known(form), set())


def unknown_field(content: object, form: object) -> str | None:
    """Return the path of the first field that the form does not know, or None."""
    return _first_unknown(content, known(form), "")


def without_unknown(content: object, form: object) -> object:
    """Return the content without the fields that the form does not know."""
    return _pruned(content, known(form))


def _known(info: inspect.Type, seen: dict[type, Known]) -> Known | None:
    match info:
        case inspect.StructType():
            return _struct(info, seen)
        case inspect.UnionType():
            found = (_known(option, seen) for option in info.types)
            return next((k for k in found if k is not None), None)
        case inspect.Metadata():
            return _known(info.type, seen)
        case inspect.ListType() | inspect.VarTupleType():
            return _wrapped(_known(info.item_type, seen))
        case inspect.DictType():
            return _wrapped(_known(info.value_type, seen))
        case _:
            return None


def _struct(info: inspect.StructType, seen: dict[type, Known]) -> Known:
    if info.cls in seen:
        return seen[info.cls]
    struct = seen[info.cls] = Known()
    struct.guards = info.forbid_unknown_fields
    struct.fields = {field.encode_name: _known(field.type, seen) for field in info.fields}
    return struct


def _wrapped(item: Known | None) -> Known | None:
    if item is None:
        return None
    outer = Known()
    outer.items = item
    return outer


def _has_open(place: Known | None, seen: set[int]) -> bool:
    if place is None or id(place) in seen:
        return False
    seen.add(id(place))
    if place.fields is not None:
        return not place.guards or any(_has_open(below, seen) for below in place.fields.values())
    return _has_open(place.items, seen)


def _first_unknown(content: object, place: Known | None, path: str) -> str | None:
    if place is None:
        return None
    for step, item, below in _below(content, place):
        here = f"{path}{step}" if step.startswith("[") or path else step.removeprefix(".")
        if below is _UNKNOWN:
            return here
        found = _first_unknown(item, below, here)
        if found is not None:
            return found
    return None


_UNKNOWN = Known()


def _below(content: object, place: Known) -> list[tuple[str, object, Known | None]]:
    """Return the steps down from here, each with what stands there and what is known of it."""
    if isinstance(content, Mapping):
        members = cast("Mapping[str, object]", content)
        if place.fields is None:
            return [(f".{key}", item, place.items) for key, item in members.items()]
        return [(f".{key}", item, place.fields.get(key, _UNKNOWN)) for key, item in members.items()]
    if isinstance(content, Sequence) and not isinstance(content, str):
        rows = cast("Sequence[object]", content)
        return [(f"[{index}]", item, place.items) for index, item in enumerate(rows)]
    return []


def _pruned(content: object, place: Known | None) -> object:
    if place is None:
        return content
    if isinstance(content, Mapping):
        members = cast("Mapping[str, object]", content)
        fields = place.fields
        if fields is None:
            return {key: _pruned(item, place.items) for key, item in members.items()}
        return {key: _pruned(item, fields[key]) for key, item in members.items() if key in fields}
    if isinstance(content, list):
        return [_pruned(item, place.items) for item in cast("list[object]", content)]
    return content
