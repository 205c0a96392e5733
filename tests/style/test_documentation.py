"""Public names and packages say what they promise."""

import ast
from collections.abc import Iterator

import pytest

from tests.style.tree import Function, Source, docstring_lines, sources

MAY_REEXPORT = {"src/tenure/__init__.py", "src/tenure/ports/__init__.py", "src/tenure/testing/__init__.py"}
PACKAGE_LINES_MAX = 10
PACKAGES = [source for source in sources("src") if source.path.endswith("/__init__.py")]


def public_names(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Function | ast.ClassDef]]:
    """Walk what a module offers: its public functions and classes and their public methods."""
    for node in body:
        if not isinstance(node, Function | ast.ClassDef) or node.name.startswith("_"):
            continue
        yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from public_names(node.body, f"{node.name}.")


def is_overload(node: Function | ast.ClassDef) -> bool:
    """Say whether this is one signature of several; the implementation carries the docstring."""
    return any("overload" in ast.dump(decorator) for decorator in node.decorator_list)


@pytest.mark.parametrize("source", sources("src"), ids=lambda source: source.path)
def test_every_public_name_is_documented(source: Source) -> None:
    tree = source.parsed()
    silent = [
        name for name, node in public_names(tree.body) if not docstring_lines(node) and not is_overload(node)
    ]
    assert ast.get_docstring(tree), f"{source.path} does not say what is inside"
    assert not silent, f"{source.path}: no docstring on {', '.join(silent)}"


@pytest.mark.parametrize("source", PACKAGES, ids=lambda source: source.path)
def test_a_package_says_what_is_in_it_and_hands_nothing_on(source: Source) -> None:
    assert docstring_lines(source.parsed()) <= PACKAGE_LINES_MAX or source.path in MAY_REEXPORT
    imports = [node for node in ast.walk(source.parsed()) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert not imports or source.path in MAY_REEXPORT, f"{source.path} re-exports; import from where it is"
