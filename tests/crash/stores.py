"""Reading the stores' files from outside, beside their owners or after them."""

# pyright: reportUnknownMemberType=false
# Reason: apsw's types name a `Buffer` that Python has from 3.12 on.

from pathlib import Path
from typing import cast

import apsw

BUSY_MS = 2_000

Row = tuple[str | int | float | None, ...]
"""What a store answers; no column that is looked at holds bytes."""


def query(file: Path, sql: str, bindings: tuple[str | int, ...] = ()) -> list[Row]:
    """Ask a store's file from outside, without ever writing to it."""
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.setbusytimeout(BUSY_MS)
        return cast("list[Row]", connection.execute(sql, bindings).fetchall())
    finally:
        connection.close()
