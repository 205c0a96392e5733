"""How a store's file is made, recognised and opened, and which settings every connection keeps.

A file is made whole under another name and only then given its own, so a file under its own name is never
half made: an empty one is a damaged one, and is refused like a foreign one, never replaced.
"""

# pyright: reportUnknownMemberType=false
# Reason: apsw's types name a `Buffer` that Python has from 3.12 on.

import os
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TypeAlias

import apsw

from tenure.core.errors import InvalidConfig, StoreUnavailable
from tenure.core.instants import to_micros
from tenure.stores.sqlite.database import Database, Value, damaged, translated

Wall: TypeAlias = Callable[[], datetime]
Setting: TypeAlias = tuple[str, str, Value]

SQLITE_MIN = (3, 51, 3)  # older ones may damage a file when two connections write or checkpoint at one moment
LOG_BYTES_MAX = 64 * 2**20  # Bound: the write-ahead log is cut back to this once no reader holds it
CHECKED_BYTES_MAX = 64 * 2**20  # Bound: larger files are not read through at start
BUSY_S = 10.0  # Bound: how long a statement waits for another process's transaction

_STATEMENTS_KEPT = 512
_CACHE_KIB = 16_384

# Each is set, read back and compared: SQLite answers a wish that it cannot fulfil with the old value.
_COMMON: tuple[Setting, ...] = (
    ("foreign_keys", "on", 1),
    ("trusted_schema", "off", 0),
    ("cell_size_check", "on", 1),
    ("temp_store", "memory", 2),
    ("cache_size", str(-_CACHE_KIB), -_CACHE_KIB),
)
_DURABLE: tuple[Setting, ...] = (
    ("journal_mode", "wal", "wal"),
    ("synchronous", "full", 2),
    ("fullfsync", "on", 1),
    ("journal_size_limit", str(LOG_BYTES_MAX), LOG_BYTES_MAX),
)


class StoreKind(Enum):
    """Whose tables a file holds; the number stands in the file's header as its application id."""

    CONTROL_PLANE = 0x54454E43  # "TENC"
    WORKER = 0x54454E57  # "TENW"

    @property
    def words(self) -> str:
        """Name the kind in a sentence."""
        return "control plane's store" if self is StoreKind.CONTROL_PLANE else "worker's local store"


def open_writing(
    path: Path, kind: StoreKind, *, wall: Wall, newest: int, busy_s: float = BUSY_S, vfs: str | None = None
) -> Database:
    """Open a store's file for its one writer, after making it if nothing is there.

    Args:
        path: The file; its folder exists and is private (see `folder`).
        wall: The clock behind the SQL function `tenure_now()`.
        newest: The newest schema version that this release knows; a newer file is refused unwritten.
        busy_s: How long a statement waits for another process to end its transaction.
        vfs: The file layer; a test puts its own.

    Raises:
        InvalidConfig: The file is another program's, another kind's or a newer release's.
        StoreUnavailable: The file is damaged, busy or cannot be read; it was left as it is.
    """
    path = path.absolute()
    require_sqlite()
    with _translating(path):
        if not path.exists():
            _create(path, kind, vfs)
        _inspect(path, kind, newest, busy_s)
        connection = _connect(path, apsw.SQLITE_OPEN_READWRITE, busy_s, vfs)
        path.chmod(0o600)
        connection.wal_autocheckpoint(0)
        _set(connection, _COMMON + _DURABLE, path)
        _register_clock(connection, wall)
        return Database(connection, path, busy_s)


def open_reading(path: Path, kind: StoreKind, *, wall: Wall, newest: int, busy_s: float = BUSY_S) -> Database:
    """Open a store's file for looking only: for tools beside its owner, and for the owner's own queries.

    Raises:
        InvalidConfig: The file is not there, another program's, another kind's or of another version.
        StoreUnavailable: The file is damaged, busy or cannot be read.
    """
    path = path.absolute()
    require_sqlite()
    if not path.exists():
        raise InvalidConfig(f"there is no {kind.words} at {path}")
    with _translating(path):
        version = _inspect(path, kind, newest, busy_s)
        if version < newest:
            raise InvalidConfig(f"{path} has schema {version}, older than {newest}; start its owner once")
        connection = _connect(path, apsw.SQLITE_OPEN_READONLY, busy_s)
        _set(connection, (*_COMMON, ("query_only", "on", 1)), path)
        _register_clock(connection, wall)
        return Database(connection, path, busy_s)


def require_sqlite() -> None:
    """Raise `InvalidConfig` if the SQLite in use is one that may damage a file (reliability, finding 5)."""
    version = apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")) < SQLITE_MIN:
        raise InvalidConfig(f"SQLite {version} may damage files; install apsw 3.51.3 or newer")


@contextmanager
def _translating(path: Path) -> Generator[None]:
    try:
        yield
    except apsw.Error as error:
        raise translated(error, path) from error
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be used: {error.strerror}", reason="broken") from error


def _create(path: Path, kind: StoreKind, vfs: str | None) -> None:
    """Make the file whole under another name, then give it its own."""
    if leftover := next((found for found in _companions(path) if found.exists()), None):
        raise damaged(path, f"is gone, but {leftover.name} beside it is not")
    # 1. Make the draft. A crash up to step 3 leaves a draft, which the next start makes anew.
    draft = path.with_name(path.name + ".new")
    for found in (draft, *_companions(draft)):
        found.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(apsw.Connection(str(draft), apsw.SQLITE_OPEN_READWRITE, vfs)) as connection:
        _set(connection, (*_DURABLE, ("application_id", str(kind.value), kind.value)), draft)
        # Asked again after the first write: the answer before it may be a wish only (finding 4).
        _set(connection, _DURABLE, draft)
        # Asked for by name, since an error of the checkpoint that closing makes would stay unheard.
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    # 2. Have its bytes on the disk before its name. 3. Name it. 4. Have the name on the disk too.
    _sync(draft)
    draft.rename(path)
    _sync(path.parent)


def _companions(path: Path) -> list[Path]:
    return [path.with_name(path.name + ending) for ending in ("-wal", "-journal", "-shm")]


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _inspect(path: Path, kind: StoreKind, newest: int, busy_s: float) -> int:
    """Return the schema version of a file that may be opened, as seen through a read-only connection."""
    size_bytes = path.stat().st_size
    if size_bytes == 0:
        raise damaged(path, "is empty")
    with closing(_connect(path, apsw.SQLITE_OPEN_READONLY, busy_s)) as connection:
        application, version = connection.pragma("application_id"), int(connection.pragma("user_version"))
        if application != kind.value:
            others = (f"a {other.words}" for other in StoreKind if other.value == application)
            whose = next(others, "another program's")
            raise InvalidConfig(f"{path} is {whose}, not a {kind.words}; choose another path")
        if version > newest:
            raise InvalidConfig(f"{path} has schema {version}, newer than {newest}; use the newer release")
        if size_bytes <= CHECKED_BYTES_MAX and (found := connection.pragma("quick_check", 1)) != "ok":
            raise damaged(path, f"is damaged ({found.splitlines()[-1]})")
    return version


def _connect(path: Path, flags: int, busy_s: float, vfs: str | None = None) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags, vfs, statementcachesize=_STATEMENTS_KEPT)
    connection.set_busy_timeout(int(busy_s * 1000))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
    # A connection that dies of an error writes nothing more, not even when it is closed.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    return connection


def _register_clock(connection: apsw.Connection, wall: Wall) -> None:
    def tenure_now(*_: object) -> int:
        return to_micros(wall())

    # Innocuous, since triggers and defaults may use it while the schema is not trusted with anything else.
    connection.create_scalar_function("tenure_now", tenure_now, 0, flags=apsw.SQLITE_INNOCUOUS)


def _set(connection: apsw.Connection, settings: tuple[Setting, ...], path: Path) -> None:
    for name, wanted, expected in settings:
        connection.execute(f"pragma {name}={wanted}").fetchall()
        if (found := connection.pragma(name)) != expected:
            raise StoreUnavailable(f"{path} does not keep {name}={wanted}, but {found!r}", reason="broken")
