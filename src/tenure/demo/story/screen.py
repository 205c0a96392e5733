"""What the story needs of whoever shows it, and a screen for those that nobody watches."""

from collections.abc import Mapping
from typing import Protocol

from tenure.core.view import TaskView


class Screen(Protocol):
    """Where the story is shown while it runs; used as a context around it."""

    def tell(self, event: str, text: str, **facts: object) -> None:
        """Say one sentence; `event` and `facts` say the same to programs."""
        ...

    def show(self, tasks: Mapping[str, TaskView]) -> None:
        """Show the tasks as they are now, in the order in which they were submitted."""
        ...

    def __enter__(self) -> object:
        """Begin to show."""
        ...

    def __exit__(self, *_: object) -> None:
        """Leave the last picture."""
        ...
