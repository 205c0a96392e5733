"""What a capability says of an effect or a step, checked before anything is asked."""

import math
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from datetime import timedelta
from typing import Final, Union, cast, get_args, get_origin, get_type_hints

from msgspec import Struct

from tenure.app.effects import Effect
from tenure.app.errors import Absent
from tenure.app.values import to_json
from tenure.core.canonical import digest
from tenure.core.effect import ATTEMPT_SUBJECT, EFFECT_NAME_MAX, SettledBy
from tenure.core.errors import Invalid
from tenure.core.execution import BeginEffect

Duration = float | timedelta
"""Seconds, or a timedelta."""

TIMEOUT: Final = timedelta(seconds=60)
QUIET: Final = timedelta(minutes=5)

_AWAITED: Final = (Awaitable, Coroutine, Generator)


class Terms(Struct, frozen=True):
    """How an effect is settled; the keyword arguments of `Attempt.effect`."""

    idempotent: bool
    timeout: Duration
    quiet: Duration
    remembers_for: Duration | None
    witness: bool
    returns: type | None


def effect_of(
    name: str,
    params: object,
    apply: Callable[[str], object],
    find: Callable[[str], object] | None,
    terms: Terms,
) -> Effect:
    """Return the effect, or raise `Invalid` that names what is wrong."""
    check_name("effect", name)
    for path, function in (("apply", apply), ("find", find)):
        if function is not None and not callable(function):
            kind = type(function).__name__
            raise Invalid(f"{kind} cannot be called; give a function of the request id", path=path)
    if not terms.witness and not terms.idempotent:
        raise Invalid("only an effect with idempotent=True can do without its witness", path="witness")
    kept = to_json(params, "params")
    settled_by: list[SettledBy] = []
    if find is not None:
        settled_by.append("find")
    if terms.idempotent:
        settled_by.append("idempotent")
    return Effect(
        BeginEffect(name, digest(kept, "params"), kept, tuple(settled_by), terms.witness),
        apply,
        find,
        terms.returns or type_of_result(find) or type_of_result(apply),
        seconds_of("timeout", terms.timeout),
        seconds_of("quiet", terms.quiet),
        None if terms.remembers_for is None else seconds_of("remembers_for", terms.remembers_for),
    )


def check_name(kind: str, name: str) -> None:
    """Raise `Invalid` if it is no name for a ledger entry."""
    if not name or len(name) > EFFECT_NAME_MAX or not name.isprintable():
        raise Invalid(f"{name[:40]!r} is no name; use 1 to {EFFECT_NAME_MAX} printable characters", path=kind)
    if name == ATTEMPT_SUBJECT:
        raise Invalid(f"{name!r} names the attempt as a whole; choose another name", path=kind)


def seconds_of(path: str, duration: Duration) -> float:
    """Return the length in seconds, or raise `Invalid`; zero is no time and never means forever."""
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if not (math.isfinite(seconds) and seconds > 0):
        raise Invalid(f"{seconds:g} s is no length; use more than 0", path=path)
    return seconds


def type_of_result(function: Callable[..., object] | None) -> type | None:
    """Return what the function says it returns, without `Absent` and None; None: it does not say."""
    try:
        hint: object = get_type_hints(function).get("return") if function is not None else None
    except (NameError, TypeError):
        return None  # a hint for checkers only, or something that carries none
    if get_origin(hint) in _AWAITED:
        hint = get_args(hint)[-1]
    if get_origin(hint) in (Union, types.UnionType):
        rest = tuple(part for part in get_args(hint) if part not in (Absent, type(None)))
        hint = Union[rest] if rest else None  # noqa: UP007 - made at run time, for which `|` has no spelling
    return None if hint in (None, type(None), object, Absent) else cast("type", hint)
