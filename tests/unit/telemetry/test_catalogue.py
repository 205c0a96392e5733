"""The catalogue of events: what is told is listed, and what is listed is told."""

import ast
import re

import pytest

from tenure.telemetry.catalogue import CATALOGUE
from tests.style.tree import sources

NAME = re.compile(r"[a-z_]+\.[a-z_]+")


def told() -> dict[str, str]:
    """Find the names of events in the code, each with a file that tells it."""
    found: dict[str, str] = {}
    for source in sources("src/tenure"):
        for node in ast.walk(source.parsed()):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name) and node.args:
                name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
                first = node.args[0]
                texts = [part.value for part in ast.walk(first) if isinstance(part, ast.Constant)]
                if name in ("tell", "_tell", "_line"):
                    found |= {str(text): source.path for text in texts if NAME.fullmatch(str(text))}
    return found


def test_every_event_that_is_told_is_listed() -> None:
    missing = {name: path for name, path in told().items() if name not in CATALOGUE}
    assert not missing


def test_every_event_that_is_listed_is_told() -> None:
    text = "".join(s.text for s in sources("src/tenure") if not s.path.endswith("telemetry/catalogue.py"))
    assert not [name for name in CATALOGUE if f'"{name}"' not in text]


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_name_is_an_object_and_what_happened_to_it(name: str) -> None:
    assert NAME.fullmatch(name)
