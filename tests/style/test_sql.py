"""Each named SQL statement is used, and its comment says what it is for."""

import re
from pathlib import PurePosixPath

import pytest

from tests.style.tree import Source, sources

STATEMENTS = sources("src/tenure/stores", suffix=".sql")
NAMED = [source for source in STATEMENTS if "/sql/" in source.path]


def store_code(source: Source) -> str:
    """Return the Python text of the store that a file of statements belongs to."""
    store = str(PurePosixPath(source.path).parent.parent)
    return "\n".join(code.text for code in sources(store))


@pytest.mark.parametrize("source", NAMED, ids=lambda source: source.path)
def test_each_statement_is_used(source: Source) -> None:
    code = store_code(source)
    names = re.findall(r"^-- name:\s*(\w+)", source.text, re.MULTILINE)
    unused = [name for name in names if not re.search(rf"\.{name}\b|[\"']{name}[\"']", code)]
    assert names, f"{source.path} holds no named statement"
    assert not unused, f"{source.path}: nobody uses {unused}"


@pytest.mark.parametrize("source", STATEMENTS, ids=lambda source: source.path)
def test_sql_looks_like_ours(source: Source) -> None:
    bare = re.sub(r"--[^\n]*|'(?:[^']|'')*'", "", source.text)
    loud = re.findall(r"\b(?:SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|CREATE|RETURNING|SET|VALUES)\b", bare)
    assert not loud, f"{source.path}: keywords are lower case"
    assert not re.search(r"select\s+\*", bare), f"{source.path}: name the columns"
    assert not re.search(r":now\b", bare), f"{source.path}: the clock is tenure_now(), never a parameter"
