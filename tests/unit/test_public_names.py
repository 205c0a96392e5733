"""The names that users write: all there, loaded late, and the same for checkers and programs."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tenure


@pytest.mark.parametrize("name", tenure.__all__)
def test_a_public_name_is_there(name: str) -> None:
    assert getattr(tenure, name) is not None
    assert name in dir(tenure)


def test_a_checker_sees_the_same_names_from_the_same_homes() -> None:
    tree = ast.parse(Path(inspect.getfile(tenure)).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    homes = {
        alias.name: node.module
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(homes) == tenure.__all__
    for name, home in homes.items():
        assert getattr(import_module(home or ""), name) is getattr(tenure, name)


def test_another_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'tenure' has no attribute 'nonsense'"):
        tenure.nonsense  # noqa: B018 - asking for it is the test


def test_the_package_itself_loads_nothing() -> None:
    code = "import sys, tenure; print(*[name for name in sys.modules if name.startswith('tenure')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tenure"]
