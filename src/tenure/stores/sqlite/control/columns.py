"""What a column holds for what Python has: instants as microseconds, JSON as text, and null for nothing."""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Generic, TypeVar

import msgspec

from tenure.core.instants import from_micros, to_micros

T = TypeVar("T")
Empty = TypeVar("Empty")

_ENCODER = msgspec.json.Encoder()
_CANONICAL = msgspec.json.Encoder(order="deterministic")


def json_text(value: object) -> str:
    """Return a value as JSON; how lists of ids and of rows travel into a statement, too."""
    return _ENCODER.encode(value).decode()


def json_or_null(value: object) -> str | None:
    """Return a value as JSON, or null for None; what is empty is a value."""
    return None if value is None else _ENCODER.encode(value).decode()


def json_if_any(values: Collection[object]) -> str | None:
    """Return what a collection holds as JSON, or null if it is empty."""
    return _ENCODER.encode(values).decode() if values else None


def same_text(value: object) -> str | None:
    """Return the one text of an object, whatever the order of its keys, or null if it is empty."""
    return _CANONICAL.encode(value).decode() if value else None


def micros(instant: datetime | None) -> int | None:
    """Return an instant as the store keeps it."""
    return None if instant is None else to_micros(instant)


def instant_or_none(value: int | None) -> datetime | None:
    """Return the instant that the store kept."""
    return None if value is None else from_micros(value)


def nothing() -> None:
    """Return what null stands for in most columns."""


class JsonColumn(Generic[T, Empty]):
    """A column of JSON of one form; its decoder is made once."""

    def __init__(self, form: type[T], empty: Callable[[], Empty]) -> None:
        """Say what the column holds, and what null stands for; that is made anew for each reader."""
        self._decode = msgspec.json.Decoder(form).decode
        self._empty = empty

    def read(self, text: str | None) -> T | Empty:
        """Return what the text says."""
        return self._empty() if text is None else self._decode(text)
