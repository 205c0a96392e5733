"""Declaring capabilities: what is refused, in which words, and what is handed on."""

import subprocess
import sys
from typing import cast

import pytest

import tenure.testing
from tenure import App, AsyncAttempt, Attempt, Recovery
from tenure.app.app import declaration_of
from tenure.core.capability import Isolation
from tenure.core.errors import InvalidConfig


def app() -> App:
    return App("media")


def test_a_rule_is_required_and_the_error_explains_the_four() -> None:
    """D22: there is no default."""
    with pytest.raises(InvalidConfig) as refused:
        app().capability("thumbnail")
    for word in ("thumbnail", "RECOMPUTE", "RESUME", "QUERY", "MANUAL"):
        assert word in refused.value.text


@pytest.mark.parametrize("window", ["", "  "])
def test_resume_says_its_window_in_words(window: str) -> None:
    """D22 C077: what the gap behind a checkpoint may repeat is part of the declaration."""
    with pytest.raises(InvalidConfig, match="window="):
        app().capability("walk", recovery=Recovery.RESUME, window=window)


def test_a_rule_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="'again' is no recovery rule"):
        app().capability("walk", recovery=cast("Recovery", "again"))


def test_a_name_and_version_are_declared_once() -> None:
    media = app()

    @media.capability("render", recovery=Recovery.QUERY)
    def first(attempt: Attempt) -> None:
        """Version 1."""

    @media.capability("render", version="2", recovery=Recovery.QUERY)
    def second(attempt: Attempt) -> None:
        """Version 2."""

    with pytest.raises(InvalidConfig, match="version 2 is declared twice"):
        media.capability("render", version="2", recovery=Recovery.QUERY)
    assert list(media.capabilities) == [("render", "1"), ("render", "2")]


@pytest.mark.parametrize("name", ["", "a b", "-x", "x" * 129])
def test_a_name_is_an_id(name: str) -> None:
    with pytest.raises(InvalidConfig, match="is no id"):
        app().capability(name, recovery=Recovery.MANUAL)


def test_an_isolation_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="use 'process' or 'shared'"):
        app().capability("x", recovery=Recovery.MANUAL, isolation=cast("Isolation", "thread"))


def test_the_wrong_kind_of_attempt_is_refused_with_a_sentence() -> None:
    def plain(attempt: AsyncAttempt) -> None: ...

    async def awaited(attempt: Attempt) -> None: ...

    declare = app().capability("x", recovery=Recovery.QUERY)
    with pytest.raises(InvalidConfig, match="a plain function is given an Attempt"):
        declare(plain)
    with pytest.raises(InvalidConfig, match="an async function is given an AsyncAttempt"):
        declare(awaited)


def test_what_cannot_serve_is_refused() -> None:
    def without_attempt() -> None: ...

    def open_ended(attempt: Attempt, *urls: str) -> None: ...

    def free(attempt: Attempt, **options: str) -> None: ...

    def nameless(attempt: Attempt, url: str, /) -> None: ...

    def again_and_again(attempt: Attempt) -> object:
        yield 1

    refused = {
        without_attempt: "first parameter",
        open_ended: "urls",
        free: "options",
        nameless: "takes no name",
        again_and_again: "yield",
    }
    for function, says in refused.items():
        with pytest.raises(InvalidConfig, match=says):
            app().capability("x", recovery=Recovery.QUERY)(function)
    with pytest.raises(InvalidConfig, match="is no function"):
        app().capability("x", recovery=Recovery.QUERY)(print)


def test_the_function_stays_a_plain_callable_and_carries_its_declaration() -> None:
    """C061: a plain function serves as a handler."""
    media = app()

    @media.capability("add", version="3", recovery=Recovery.RECOMPUTE)
    def add(attempt: Attempt, left: int, right: int = 1) -> int:
        attempt.progress(1, total=1)
        return left + right

    assert add(tenure.testing.attempt(), 2, right=3) == 5
    declared = declaration_of(add)
    assert declared is not None
    assert (declared.name, declared.version, declared.isolation) == ("add", "3", "process")
    assert declared.signature.write({"left": 2}) == {"left": 2}
    assert declared.signature.read_result(5) == 5
    assert declaration_of(print) is None


def test_the_manifest_says_what_a_worker_registers() -> None:
    """C074 C093: rule, window, schema and isolation; the digest covers what unfinished attempts depend on."""
    media = app()

    @media.capability("walk", recovery=Recovery.RESUME, window="the last file twice")
    async def walk(attempt: AsyncAttempt, root: str) -> None: ...

    [entry] = media.manifest()
    assert (entry.recovery, entry.window, entry.isolation) == (
        Recovery.RESUME,
        "the last file twice",
        "shared",
    )
    assert entry.input_schema["required"] == ["root"]
    digests = {entry.digest}
    for recovery, window in ((Recovery.RECOMPUTE, ""), (Recovery.RESUME, "worded anew")):
        other = app()
        other.capability("walk", recovery=recovery, window=window)(walk)
        digests.add(other.manifest()[0].digest)
    assert len(digests) == 2  # the rule changes it, other words for the window do not


def test_an_app_without_capabilities_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="declares no capability"):
        app().manifest()


def test_a_type_may_be_defined_further_down() -> None:
    source = """
from __future__ import annotations
from dataclasses import dataclass
from tenure import App, Attempt, AsyncAttempt, Recovery
app = App("late")
@app.capability("x", recovery=Recovery.QUERY)
def x(attempt: Attempt, where: Place) -> Place: ...
@dataclass
class Place:
    path: str
print(app.manifest()[0].input_schema["$defs"]["Place"]["required"])
@app.capability("y", recovery=Recovery.QUERY)
def y(attempt: AsyncAttempt, where: Nowhere) -> None: ...
try:
    app.manifest()
except Exception as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", source], check=True, capture_output=True, text=True).stdout
    assert said.startswith("['path']\ny: the hint 'Nowhere' of y is not defined at run time")
