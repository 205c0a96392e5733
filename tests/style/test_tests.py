"""Tests wait for facts, never for time."""

import ast

import pytest

from tests.style.tree import Source, sources

SLEEPERS = {"time.sleep", "sleep", "anyio.sleep", "asyncio.sleep"}
WORK_MARK = "# work:"  # A capability or a service under test whose very work takes time says so on the line


def sleeps(source: Source) -> list[int]:
    """Find the lines that let time pass; `sleep(0)` only lets others run."""
    calls = [node for node in ast.walk(source.parsed()) if isinstance(node, ast.Call)]
    found = [call for call in calls if ast.unparse(call.func) in SLEEPERS]
    waiting = [call.lineno for call in found if not (call.args and ast.unparse(call.args[0]) == "0")]
    return [number for number in waiting if WORK_MARK not in source.lines[number - 1]]


@pytest.mark.parametrize("source", sources("tests"), ids=lambda source: source.path)
def test_no_test_sleeps(source: Source) -> None:
    assert not sleeps(source), f"{source.path} sleeps on lines {sleeps(source)}; wait for a fact with a bound"
