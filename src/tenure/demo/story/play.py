"""The stage: what the scripts see of the story while it runs, and the few things they may do to it."""

from collections.abc import Iterable, Mapping

from tenure.client.client import Client
from tenure.core.errors import Unavailable
from tenure.core.task import TaskState
from tenure.core.view import TaskView
from tenure.demo.journal import Record, read_journal
from tenure.demo.story.acts import Part, Props
from tenure.demo.story.chance import Chance
from tenure.demo.story.fleet import Fleet
from tenure.demo.story.screen import Screen


class Play:
    """The story at this moment."""

    def __init__(self, fleet: Fleet, client: Client, screen: Screen, chance: Chance, props: Props) -> None:
        """Take the running processes; nothing is submitted yet."""
        self.fleet = fleet
        self.client = client
        self.screen = screen
        self.chance = chance
        self.props = props
        self.parts: dict[str, Part] = {}
        self.tasks: dict[str, TaskView] = {}
        self.is_quiet = False
        """While true, nothing falls by chance: a script waits for one exact moment."""

    def submit(self, parts: Iterable[Part]) -> None:
        """Submit tasks; from here on they are part of the story."""
        added = {part.name: part for part in parts}
        self.client.submit_many([part.spec for part in added.values()])
        self.parts |= added

    def look(self) -> None:
        """Take a new look at the board; while the control plane is away the last one stays."""
        try:
            seen = {task.id: task for task in self.client.tasks()}
        except Unavailable:
            return
        self.tasks = {name: seen[name] for name in self.parts if name in seen}
        self.screen.show(self.tasks)

    def state(self, name: str) -> str:
        """Return a task's state as last seen."""
        task = self.tasks.get(name)
        return task.state if task is not None else ""

    def holder(self, name: str) -> str | None:
        """Return the worker that holds a task, as last seen."""
        task = self.tasks.get(name)
        return task.claim.agent if task is not None and task.claim is not None else None

    def share(self, name: str) -> float:
        """Return how much of a task is done, as far as it says, from 0 to 1."""
        task = self.tasks.get(name)
        if task is None:
            return 0.0
        if TaskState(task.state).is_settled:
            return 1.0
        progress = task.progress
        return (progress.completed or 0) / progress.total if progress is not None and progress.total else 0.0

    def total_share(self) -> float:
        """Return how much of everything is done."""
        return sum(map(self.share, self.parts)) / max(1, len(self.parts))

    def has_ended(self) -> bool:
        """Say whether every task has settled."""
        return len(self.tasks) == len(self.parts) and all(
            TaskState(task.state).is_settled for task in self.tasks.values()
        )

    def records(self) -> list[Record]:
        """Return what has taken effect at the remote service so far."""
        return read_journal(self.fleet.journal)

    def up(self) -> list[str]:
        """Return the workers that take work."""
        return [name for name in self.fleet.workers if self.fleet.is_up(name)]

    def tell(self, event: str, text: str, facts: Mapping[str, object] | None = None) -> None:
        """Say something on the screen."""
        self.screen.tell(event, text, **(facts or {}))
