"""The repository as the style tests see it: the files that are or would be committed, parsed once."""

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = Function | ast.ClassDef | ast.Module


@dataclass(frozen=True, slots=True)
class Source:
    """One text file with its path relative to the repository."""

    path: str
    text: str = field(repr=False)

    @property
    def lines(self) -> list[str]:
        """Return the text line by line."""
        return self.text.splitlines()

    def parsed(self) -> ast.Module:
        """Return the syntax tree of a Python file."""
        return _parsed(self.path, self.text)


@cache
def _parsed(path: str, text: str) -> ast.Module:
    return ast.parse(text, path)


@cache
def committed_paths() -> tuple[str, ...]:
    """List what git tracks and what it would track, without what it ignores."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    return tuple(sorted({name for name in listed.split("\0") if name and (ROOT / name).is_file()}))


@cache
def sources(*folders: str, suffix: str = ".py") -> tuple[Source, ...]:
    """Read the files with the suffix below the folders; all folders when none is named."""
    below = tuple(f"{folder}/" for folder in folders)
    chosen = [
        name for name in committed_paths() if name.endswith(suffix) and (not below or name.startswith(below))
    ]
    return tuple(Source(name, (ROOT / name).read_text(encoding="utf-8")) for name in chosen)


def functions(source: Source) -> Iterator[Function]:
    """Walk all functions of a file, nested ones too."""
    for node in ast.walk(source.parsed()):
        if isinstance(node, Function):
            yield node


def length(function: Function) -> int:
    """Count a function's lines without decorators and docstring: writing more down costs nothing."""
    last = function.end_lineno or function.lineno
    return last - function.lineno + 1 - docstring_lines(function)


def docstring_lines(node: Documented) -> int:
    """Count the lines of a docstring; none is zero."""
    if ast.get_docstring(node) is None:
        return 0
    first = node.body[0]
    return (first.end_lineno or first.lineno) - first.lineno + 1
