"""The drivers hold no storage: a host can bring its own."""

import ast

import pytest

from tests.style.tree import Source, sources

DRIVERS = sources("src/tenure/core", "src/tenure/ports", "src/tenure/worker", "src/tenure/service")
STORES = ("tenure.stores", "apsw", "sqlite3", "psycopg")


@pytest.mark.parametrize("source", DRIVERS, ids=lambda source: source.path)
def test_contracts_and_drivers_import_no_store(source: Source) -> None:
    """C050: reference stores live outside and depend on them, never the reverse."""
    for node in ast.walk(source.parsed()):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        assert not [name for name in names if name.startswith(STORES)]
