"""Notices within one process: hints by topic, safe from any thread."""

import threading
from collections.abc import Callable


class LocalNotices:
    """Wakes the waiters of a topic in this process; keeps the `Notices` port's promises."""

    def __init__(self) -> None:
        """Begin with nobody waiting."""
        self._lock = threading.Lock()
        self._waiters: dict[str, list[Callable[[], None]]] = {}

    def tell(self, topic: str) -> None:
        """Wake the topic's waiters."""
        for wake in tuple(self._waiters.get(topic, ())):
            wake()

    def subscribe(self, topic: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` on each notice until the returned function is called."""
        with self._lock:
            self._waiters[topic] = [*self._waiters.get(topic, ()), wake]

        def leave() -> None:
            with self._lock:
                left = [w for w in self._waiters.get(topic, ()) if w is not wake]
                if left:
                    self._waiters[topic] = left
                else:
                    self._waiters.pop(topic, None)

        return leave
