"""Between the author's types and JSON: checked, bounded and the same in both directions. B29."""

import json
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import PurePath
from typing import Final, TypeVar, cast

import msgspec

from tenure.core.canonical import DEPTH_MAX, canonical
from tenure.core.errors import Invalid, TooLarge
from tenure.core.execution import VALUE_BYTES_MAX

T = TypeVar("T")

_MIB: Final = 1024 * 1024
_WRITER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_JSON_TYPES: Final = (
    "use None, bool, int, float, str, list, dict, dataclasses, Structs, pydantic models, enums or times"
)


def to_json(value: object, what: str) -> object:
    """Return the value in JSON's types, exactly as it will be kept.

    Raises:
        Invalid: It holds what JSON cannot carry; the text names the place.
        TooLarge: It is over the limit for one value. Nothing is ever cut.
    """
    if value is None or value is True or value is False:
        return value
    try:
        plain = msgspec.to_builtins(value, enc_hook=_write, str_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"{_reason(error)}; {_JSON_TYPES}", path=what) from error
    return _checked(plain, what)


def from_json(value: object, kind: type[T]) -> T:
    """Return the JSON value as the type says.

    Raises:
        msgspec.ValidationError: It does not fit; the text names the place as `$.field`.
    """
    return msgspec.convert(value, kind, dec_hook=read_custom, str_keys=True)


def read_custom(kind: type[T], value: object) -> T:
    """Return a value of a type that msgspec does not know: a pydantic model or a path."""
    validate = getattr(kind, "model_validate", None)
    if validate is not None:
        return validate(value)
    if isinstance(value, kind):
        return value
    if issubclass(kind, PurePath) and isinstance(value, str):
        return cast("T", kind(value))
    raise TypeError(f"{kind.__name__} cannot be made from JSON")


def _write(value: object) -> object:
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json")
    if isinstance(value, PathLike):
        return fspath(cast("PathLike[str]", value))
    for plain in (float, int, str):
        if isinstance(value, plain):
            return plain(value)
    if isinstance(value, Mapping):
        return dict(cast("Mapping[object, object]", value))
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _checked(plain: object, what: str) -> object:
    try:
        text = _WRITER.encode(plain)
        size = len(text.encode())
    except (ValueError, RecursionError):  # NaN, infinity, a lone surrogate, endless depth
        canonical(plain, what)
        raise
    if size > VALUE_BYTES_MAX:
        raise TooLarge(
            f"{what} is {size / _MIB:.1f} MiB as JSON and the limit is {VALUE_BYTES_MAX / _MIB:.1f} MiB; "
            "keep the content in a file or an object store and return where it is"
        )
    # With fewer opening brackets than levels are allowed, no value is too deep.
    suspect = "\\u0000" in text or text.count("[") + text.count("{") > DEPTH_MAX
    if suspect and _is_doubtful(plain, 0):
        canonical(plain, what)
    return plain


def _is_doubtful(plain: object, depth: int) -> bool:
    """Say whether it holds a NUL or is about as deep as allowed; `canonical` then decides."""
    if isinstance(plain, str):
        return "\x00" in plain
    if isinstance(plain, dict):
        members = cast("dict[str, object]", plain)
        if any("\x00" in key for key in members):
            return True
        children = members.values()
    elif isinstance(plain, list):
        children = cast("list[object]", plain)
    else:
        return False
    return depth >= DEPTH_MAX or any(_is_doubtful(child, depth + 1) for child in children)


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it contains itself or is too deep"
    return str(error)
