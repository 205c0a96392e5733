"""Canonical JSON (RFC 8785, integers written out in full) and SHA-256 digests over it. C065."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from tenure.core.errors import Invalid

type_of_json = "null, true, false, number, string, list or object with string keys"
DEPTH_MAX: Final = 100

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def canonical(value: object, path: str = "") -> str:
    """Return the canonical text of a JSON value, or raise `Invalid` naming the place at fault.

    Refused: NaN, infinities, NUL, lone surrogates, keys that are not strings, anything deeper than 100
    levels.
    """
    parts: list[str] = []
    try:
        _write(value, parts, 0)
    except Invalid as fault:
        raise (_inside(path, fault) if path else fault) from None
    return "".join(parts)


def digest(value: object, path: str = "") -> str:
    """Return the lower-case hex SHA-256 of the canonical form."""
    return hashlib.sha256(canonical(value, path).encode()).hexdigest()


def digest_text(text: str) -> str:
    """Return the lower-case hex SHA-256 of a text; how tokens are kept at rest (D26)."""
    return hashlib.sha256(text.encode()).hexdigest()


def _write(value: object, parts: list[str], depth: int) -> None:
    if value is None:
        parts.append("null")
    elif value is True:
        parts.append("true")
    elif value is False:
        parts.append("false")
    elif isinstance(value, str):
        parts.append(_text(value))
    elif isinstance(value, int):
        parts.append(str(int(value)))
    elif isinstance(value, float):
        parts.append(_number(value))
    elif depth == DEPTH_MAX and isinstance(value, list | tuple | dict):
        raise Invalid(f"deeper than {DEPTH_MAX} levels")
    elif isinstance(value, list | tuple):
        _write_items(cast("Sequence[object]", value), parts, depth)
    elif isinstance(value, dict):
        _write_members(cast("dict[object, object]", value), parts, depth)
    else:
        raise Invalid(f"{type(value).__name__} is no JSON value; use {type_of_json}")


def _write_items(items: Sequence[object], parts: list[str], depth: int) -> None:
    parts.append("[" if items else "[]")
    index = 0
    try:
        for index, item in enumerate(items):  # noqa: B007 - names the place of a fault
            _write(item, parts, depth + 1)
            parts.append(",")
    except Invalid as fault:
        raise _inside(f"[{index}]", fault) from None
    if items:
        parts[-1] = "]"


def _write_members(members: Mapping[object, object], parts: list[str], depth: int) -> None:
    parts.append("{" if members else "{}")
    for key in _sorted(members):
        parts.append(_text(key))
        parts.append(":")
        try:
            _write(members[key], parts, depth + 1)
        except Invalid as fault:
            raise _inside(key, fault) from None
        parts.append(",")
    if members:
        parts[-1] = "}"


def _inside(place: str, fault: Invalid) -> Invalid:
    """Return the fault as seen from one level further out; paths are made only where something is wrong."""
    joint = "." if fault.path and not fault.path.startswith("[") else ""
    return Invalid(fault.fault, path=f"{place}{joint}{fault.path}")


def _sorted(members: Iterable[object]) -> list[str]:
    """Return the keys in the order of their UTF-16 code units."""
    keys: list[str] = []
    for key in members:
        if not isinstance(key, str):
            raise Invalid(f"the key {key!r} is no string")
        keys.append(key)
    if all(map(str.isascii, keys)):
        return sorted(keys)  # The same order, found without encoding each
    return sorted(keys, key=lambda key: _checked(key).encode("utf-16-be"))


def _checked(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Invalid("holds a lone surrogate, which no JSON text can carry") from None
    if "\x00" in text:
        raise Invalid("holds a NUL character")
    return text


def _text(text: str) -> str:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    checked = _checked(text)
    return '"' + "".join(_ESCAPES.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in checked) + '"'


def _number(value: float) -> str:
    """Write a float as ECMAScript does: the shortest digits that read back to the same number."""
    if not math.isfinite(value):
        raise Invalid(f"{value} is no JSON number")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return sign + _place(digits, point)


def _place(digits: str, point: int) -> str:
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    exponent = point - 1
    shown = f"e{'+' if exponent > 0 else '-'}{abs(exponent)}"
    return digits[0] + (f".{digits[1:]}" if count > 1 else "") + shown
