"""What a store's writing thread wants somebody to know, as events of the catalogue."""

from collections.abc import Callable

from tenure.ports.observer import Observer
from tenure.stores.sqlite.checkpoints import LogBlocked
from tenure.stores.sqlite.writer import NoticeLost


def teller(observer: Observer) -> Callable[[LogBlocked | NoticeLost], None]:
    """Return what a writer is given to warn with."""

    def warn(warning: LogBlocked | NoticeLost) -> None:
        match warning:
            case LogBlocked():
                observer.tell("store.log_blocked", path=str(warning.path), size_bytes=warning.size_bytes)
            case NoticeLost():
                observer.tell("store.notice_lost", error=warning.error)

    return warn
