"""Bytes to messages and back, with every limit of the protocol, and errors that name the field at fault.

What people and clients send is read strictly: an unknown field is a typo and never a silent default. What a
worker of a newer protocol sends, and every answer, is read leniently: what is not known here is left out.
"""

import re
from collections.abc import Iterable
from typing import TypeVar, cast

import msgspec

from tenure.core.errors import Invalid, Malformed, TooLarge
from tenure.wire.fields import has_open_struct, unknown_field, without_unknown
from tenure.wire.limits import BODY_BYTES_MAX, BODY_DEPTH_MAX

T = TypeVar("T")

JSON_TYPE = "application/json"
NO_JSON = "the body is no JSON in UTF-8"
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_LEFT_OVER = bytes(set(range(256)) - set(b"[]{}"))
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_AT = re.compile(r"(?s)(?P<text>.*?)(?: - at `\$?(?P<path>.*)`)?")
_FIELD = re.compile(r"Object (?P<what>contains unknown|missing required) field `(?P<name>.*)`", re.DOTALL)
_ENCODER = msgspec.json.Encoder()
_DECODERS: dict[object, msgspec.json.Decoder[object]] = {}


def encode(value: object) -> bytes:
    """Return a message as JSON; instants are written in UTC with `Z`."""
    return _ENCODER.encode(value)


def decode_request(body: bytes, form: type[T], *, strict: bool) -> T:
    """Return a request's body in its form.

    Raises:
        TooLarge: More bytes than a body may have.
        Malformed: No JSON, or not UTF-8; NaN, infinities and lone surrogates are neither.
        Invalid: Too deep, a NUL character, or a field that is missing, unknown or of another type.
    """
    if len(body) > BODY_BYTES_MAX:
        raise TooLarge(f"the body has {len(body):,} bytes; at most {BODY_BYTES_MAX:,}")
    check_depth(body)
    try:
        message = _decoder(form).decode(body) if strict else _decode_leniently(body, form)
        if strict or b"\\u0000" in body:
            _check_content(body, form, strict=strict)
    except msgspec.ValidationError as error:
        raise _malformed(body) or fault(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Malformed(f"{NO_JSON}: {error}") from None
    return message


def _malformed(body: bytes) -> Malformed | None:
    """Look at what a typed decoder skips or never reaches: what is no JSON at all comes first."""
    try:
        msgspec.json.decode(body)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Malformed(f"{NO_JSON}: {error}")
    return None


def decode_answer(body: bytes, form: type[T]) -> T:
    """Return an answer's body in its form; fields that are not known here are left out.

    Raises:
        msgspec.DecodeError: It cannot be read as that.
    """
    return _decode_leniently(body, form)


def convert_query(values: dict[str, str], form: type[T]) -> T:
    """Return query parameters in their form, or raise `Invalid` with the parameter's name."""
    try:
        return msgspec.convert(values, form, strict=False)
    except msgspec.ValidationError as error:
        raise fault(error) from None


def check_depth(body: bytes) -> None:
    """Raise `Invalid` if lists and objects lie inside each other more deeply than the protocol allows.

    Of the brackets outside of texts it removes innermost pairs; what is left after so many rounds is deeper.
    """
    if body.count(b"[") + body.count(b"{") <= BODY_DEPTH_MAX:
        return
    brackets = _TEXTS.sub(b"", body).translate(_ONE_KIND, _LEFT_OVER)
    for _ in range(BODY_DEPTH_MAX):
        if not brackets:
            return
        outer = brackets.replace(b"[]", b"")
        if len(outer) == len(brackets):
            raise Malformed(f"{NO_JSON}: brackets do not match")
        brackets = outer
    if brackets:
        raise Invalid(f"the body is deeper than {BODY_DEPTH_MAX} levels")


def refuse_unknown(body: bytes, form: type[object]) -> None:
    """Raise `Invalid` at the first field that the form does not know."""
    _refuse_unknown(msgspec.json.decode(body), form)


def _refuse_unknown(content: object, form: type[object]) -> None:
    path = unknown_field(content, form)
    if path is not None:
        raise _unknown(path)


def fault(error: msgspec.ValidationError) -> Invalid:
    """Return the refusal that says which field of a message is at fault, and how."""
    found = _AT.fullmatch(str(error))
    text, path = (found["text"], found["path"] or "") if found else (str(error), "")
    path = path.removeprefix(".")
    field = _FIELD.fullmatch(text)
    if field is None:
        return Invalid(text[:1].lower() + text[1:], path=path)
    below = f"{path}.{field['name']}" if path else field["name"]
    return _unknown(below) if "unknown" in field["what"] else Invalid("is missing", path=below)


def _unknown(path: str) -> Invalid:
    return Invalid("there is no such field", path=path)


def _decoder(form: type[T]) -> msgspec.json.Decoder[T]:
    decoder = _DECODERS.get(form)
    if decoder is None:
        decoder = _DECODERS[form] = msgspec.json.Decoder(form)
    return decoder  # pyright: ignore[reportReturnType] - the key is the form


def _decode_leniently(body: bytes, form: type[T]) -> T:
    try:
        return _decoder(form).decode(body)
    except msgspec.ValidationError:
        # Some structs refuse unknown fields by themselves, whoever reads them: read again without those.
        return msgspec.convert(without_unknown(msgspec.json.decode(body), form), form)


def _check_content(body: bytes, form: type[object], *, strict: bool) -> None:
    """Look at the plain content for what a typed decoder does not see."""
    nul = b"\\u0000" in body
    if not nul and not (strict and has_open_struct(form)):
        return
    content = msgspec.json.decode(body)
    if strict:
        _refuse_unknown(content, form)
    if nul and (path := _nul(content, "")) is not None:
        raise Invalid("holds a NUL character", path=path)


def _nul(content: object, path: str) -> str | None:
    if isinstance(content, str):
        return path if "\x00" in content else None
    steps: Iterable[tuple[str, object]] = ()
    if isinstance(content, list):
        steps = ((f"{path}[{index}]", item) for index, item in enumerate(cast("list[object]", content)))
    elif isinstance(content, dict):
        members = cast("dict[str, object]", content)
        if any("\x00" in key for key in members):
            return path
        steps = ((f"{path}.{key}" if path else key, item) for key, item in members.items())
    return next((found for below, item in steps if (found := _nul(item, below)) is not None), None)
