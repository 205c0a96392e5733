"""What a store's writing thread warns about is told."""

from pathlib import Path

from tenure.stores.sqlite.checkpoints import LogBlocked
from tenure.stores.sqlite.writer import NoticeLost
from tenure.wiring.warnings import teller


class Log:
    """Keeps what is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, object]]] = []

    def tell(self, name: str, **fields: object) -> None:
        self.told.append((name, fields))


def test_each_warning_is_an_event() -> None:
    log, error = Log(), ValueError("x")
    warn = teller(log)
    warn(LogBlocked(Path("a.db"), 10, 5))
    warn(NoticeLost(error))
    assert log.told == [
        ("store.log_blocked", {"path": "a.db", "size_bytes": 10}),
        ("store.notice_lost", {"error": error}),
    ]
