"""Canonical JSON (RFC 8785, integers written out in full) and SHA-256 digests over it. C065."""

import hashlib
import math
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
    _write(value, parts, path, 0)
    return "".join(parts)


def digest(value: object, path: str = "") -> str:
    """Return the lower-case hex SHA-256 of the canonical form."""
    return hashlib.sha256(canonical(value, path).encode()).hexdigest()


def digest_text(text: str) -> str:
    """Return the lower-case hex SHA-256 of a text; how tokens are kept at rest (D26)."""
    return hashlib.sha256(text.encode()).hexdigest()


def _write(value: object, parts: list[str], path: str, depth: int) -> None:  # noqa: C901, PLR0912 - one arm per JSON type
    if depth > DEPTH_MAX:
        raise Invalid(f"deeper than {DEPTH_MAX} levels", path=path)
    if value is None:
        parts.append("null")
    elif value is True:
        parts.append("true")
    elif value is False:
        parts.append("false")
    elif isinstance(value, str):
        parts.append(_text(value, path))
    elif isinstance(value, int):
        parts.append(str(int(value)))
    elif isinstance(value, float):
        parts.append(_number(value, path))
    elif isinstance(value, list | tuple):
        parts.append("[")
        for index, item in enumerate(cast("list[object]", value)):
            if index:
                parts.append(",")
            _write(item, parts, f"{path}[{index}]", depth + 1)
        parts.append("]")
    elif isinstance(value, dict):
        parts.append("{")
        members = cast("dict[str, object]", value)
        for index, key in enumerate(sorted(members, key=lambda k: _sort_key(k, path))):
            if index:
                parts.append(",")
            parts.append(_text(key, path))
            parts.append(":")
            _write(members[key], parts, f"{path}.{key}" if path else key, depth + 1)
        parts.append("}")
    else:
        raise Invalid(f"{type(value).__name__} is no JSON value; use {type_of_json}", path=path)


def _sort_key(key: object, path: str) -> bytes:
    if not isinstance(key, str):
        raise Invalid(f"the key {key!r} is no string", path=path)
    return _checked(key, path).encode("utf-16-be")


def _checked(text: str, path: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Invalid("holds a lone surrogate, which no JSON text can carry", path=path) from None
    if "\x00" in text:
        raise Invalid("holds a NUL character", path=path)
    return text


def _text(text: str, path: str) -> str:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    checked = _checked(text, path)
    return '"' + "".join(_ESCAPES.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in checked) + '"'


def _number(value: float, path: str) -> str:
    """Write a float as ECMAScript does: the shortest digits that read back to the same number."""
    if not math.isfinite(value):
        raise Invalid(f"{value} is no JSON number", path=path)
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
