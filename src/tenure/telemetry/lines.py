"""One event as one line: JSON for machines, words for people; never a token, never a line break inside."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Final

import msgspec

from tenure.telemetry.catalogue import kind_of

Fields = dict[str, object]
Render = Callable[[str, Fields, datetime, int], str]

HIDDEN: Final = "…"
TEXT_MAX: Final = 16_000  # Bound: one value in a line
_SECRET_NAMES: Final = re.compile(
    r"(?:.*_)?(?:tokens?|authorization|credential|password|secret)", re.IGNORECASE
)
_TOKENS: Final = re.compile(r"tnr_([a-z]+)_[A-Za-z0-9_-]+")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def json_lines() -> Render:
    """Return a renderer of one JSON document per line."""
    encoder = msgspec.json.Encoder()

    def render(name: str, fields: Fields, at: datetime, repeated: int) -> str:
        document: Fields = {"at": at, "level": kind_of(name).level, "event": name, **plain(fields)}
        if repeated:
            document["repeated"] = repeated
        return encoder.encode(document).decode()

    return render


def text_lines(*, color: bool) -> Render:
    """Return a renderer for people, coloured or not."""
    from structlog.dev import ConsoleRenderer

    console = ConsoleRenderer(colors=color, sort_keys=False, pad_event_to=0, pad_level=False)

    def render(name: str, fields: Fields, at: datetime, repeated: int) -> str:
        kind = kind_of(name)
        line: Fields = {
            "timestamp": f"{at.astimezone():%H:%M:%S}",
            "level": kind.level,
            "event": f"{name}: {kind.says}" if kind.says else name,
        }
        shown = {key: _one_line(value) for key, value in plain(fields).items()}
        return console(None, "", line | shown | ({"repeated": repeated} if repeated else {}))

    return render


def plain(fields: Fields) -> Fields:
    """Return the fields as JSON values, with tokens hidden and long texts cut."""
    return {
        name: HIDDEN if _SECRET_NAMES.fullmatch(name) else _plain(value)
        for name, value in fields.items()
        if value is not None
    }


def _plain(value: object) -> object:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        text = str(value)
    elif isinstance(value, BaseException):
        text = f"{type(value).__name__}: {value}"
    else:
        text = str(value)
    return _TOKENS.sub(rf"tnr_\1_{HIDDEN}", text)[:TEXT_MAX]


def _one_line(value: object) -> object:
    """Replace what would break the line or steer the terminal."""
    if not isinstance(value, str):
        return value
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", re.sub(r"\s*[\r\n]\s*", " ⏎ ", value.strip()))
