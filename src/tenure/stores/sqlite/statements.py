"""Named SQL statements: read from `.sql` files once, checked against the class that lists them.

A file holds statements under headers, each with at least one comment sentence that says what it is for:

    -- name: claim_renew
    -- Move the lease's end; only the bearer of the newest generation may. No row: the lease is lost. C019
    update task …;

A frozen dataclass beside it lists the same names, so that the type checker knows them:

    @dataclass(frozen=True, slots=True)
    class BoardSql:
        claim_renew: Statement

    SQL = load_statements(BoardSql, Path(__file__).parent / "sql" / "board.sql")
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tenure.core.errors import InvariantBroken

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Shape = TypeVar("Shape", bound="DataclassInstance")

_HEADER = re.compile(r"^-- name:(.*)$", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LEADING_COMMENT = re.compile(r"(?:\s*--[^\n]*\n)+")
_COMMENT_OR_STRING = re.compile(r"--[^\n]*|'(?:[^']|'')*'")
_PARAMETER = re.compile(r":([a-z][a-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL statement with its name, its purpose in a sentence and the parameters that it takes."""

    name: str
    text: str
    purpose: str
    parameters: frozenset[str]


def load_statements(shape: type[Shape], path: Path) -> Shape:
    """Return the file's statements as the dataclass that lists them.

    Raises:
        InvariantBroken: A header is malformed, a name is used twice, or file and class list different names.
    """
    found = parse_statements(path.read_text(encoding="utf-8"), path.name)
    listed = {field.name for field in fields(shape)}
    if differing := listed ^ found.keys():
        raise InvariantBroken(f"{path.name} and {shape.__name__} differ in {', '.join(sorted(differing))}")
    return shape(**found)


def parse_statements(text: str, source: str) -> dict[str, Statement]:
    """Split the text of a file at its headers; `source` is the file's name for messages."""
    statements: dict[str, Statement] = {}
    for name, body in _sections(text, source):
        if _NAME.fullmatch(name) is None:
            raise InvariantBroken(
                f"{source}: {name!r} is no name; use lower-case words joined by underscores"
            )
        if name in statements:
            raise InvariantBroken(f"{source}: the name {name!r} is used twice")
        statements[name] = _statement(name, body, source)
    return statements


def _sections(text: str, source: str) -> Iterator[tuple[str, str]]:
    preamble, *parts = _HEADER.split(text)
    if _COMMENT_OR_STRING.sub("", preamble).strip():
        raise InvariantBroken(f"{source}: there is text before the first `-- name:` header")
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        yield name.strip(), body


def _statement(name: str, body: str, source: str) -> Statement:
    comment = _LEADING_COMMENT.match(body)
    if comment is None:
        raise InvariantBroken(f"{source}: {name!r} has no comment that says what it is for")
    text = body[comment.end() :].strip()
    bare = _COMMENT_OR_STRING.sub("", text)
    # SQLite runs what follows a first statement only while its rows are read, so exactly one may stand here.
    if bare.count(";") != 1 or not bare.rstrip().endswith(";"):
        raise InvariantBroken(f"{source}: {name!r} is not exactly one statement ended by a semicolon")
    purpose = " ".join(
        line.strip().removeprefix("--").strip() for line in comment.group().strip().splitlines()
    )
    return Statement(name, text, purpose, frozenset(_PARAMETER.findall(bare)))
