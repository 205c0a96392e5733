"""Runs the story: submits, lets the scripts strike, waits for the end, and judges it."""

import threading
import time
from pathlib import Path
from typing import Final

from msgspec import Struct

from tenure.client.client import Client
from tenure.core.errors import TenureError
from tenure.demo.sources import installation
from tenure.demo.story import checks
from tenure.demo.story.acts import ORDER, SCENES, WALKED, Props, opening, payment, scene_name
from tenure.demo.story.chance import Chance
from tenure.demo.story.checks import Check
from tenure.demo.story.evidence import Evidence, evidence_of
from tenure.demo.story.fleet import Fleet
from tenure.demo.story.play import Play
from tenure.demo.story.screen import Screen
from tenure.demo.story.script import Script, scripts
from tenure.demo.truth import compute
from tenure.testing.processes import ProcessEnded, Processes

TICK_S: Final = 0.15
STORY_S: Final = 150.0
"""Bound: a story that takes longer has gone wrong; usually it takes half a minute."""


class CutShort(TenureError):
    """The story has not come to its end; the logs of its processes say more."""


class Outcome(Struct, frozen=True):
    """What the story came to."""

    evidence: list[Evidence]
    checks: list[Check]


class Story:
    """One telling of the story in an empty folder; its processes belong to the caller's set."""

    def __init__(self, folder: Path, seed: int, processes: Processes) -> None:
        """Start nothing yet."""
        self._folder = folder
        self._chance = Chance(seed)
        self._processes = processes
        self._fleet = Fleet(folder, processes)

    @property
    def url(self) -> str:
        """The control plane's address, once it runs."""
        return self._fleet.url

    @property
    def token(self) -> str:
        """The control plane's credential for people."""
        return self._fleet.admin_token

    def run(self, screen: Screen) -> Outcome:
        """Tell it to the end of the last task, and judge what is left behind.

        Raises:
            CutShort: A process ended by itself or did not come up, or it takes too long.
        """
        try:
            with screen:
                seed = self._chance.seed
                text = f"a control plane, two workers and a remote service start; seed {seed}"
                screen.tell("opened", text, seed=seed)
                with self._fleet.start() as client:
                    play = self._play(client, screen)
                    return Outcome(_evidence(play), _judge(play))
        except (ProcessEnded, TimeoutError) as error:
            raise CutShort(str(error).splitlines()[0]) from error

    def leave(self) -> Check:
        """Tell every process to leave, and say whether each did."""
        exits = self._fleet.leave()
        return checks.left_cleanly(exits, self._processes.close())

    def _play(self, client: Client, screen: Screen) -> Play:
        props = Props(installation(), self._folder / "work", self._folder / "reads", self._fleet.service_url)
        play = Play(self._fleet, client, screen, self._chance, props)
        play.submit(opening(props))
        _run(play, scripts(play), time.monotonic() + STORY_S)
        return play


def _run(play: Play, running: list[Script], until: float) -> None:
    """Ask each script at each tick, until all have said their lines and every task has settled."""
    pause = threading.Event()
    while running or not play.has_ended():
        play.look()
        running = [script for script in running if next(script, False) is None]
        play.fleet.check()
        if time.monotonic() > until:
            states = ", ".join(f"{name} {play.state(name)}" for name in play.parts)
            raise CutShort(f"the story has not ended in {STORY_S:g} s: {states}")
        pause.wait(TICK_S)
    play.look()


def _evidence(play: Play) -> list[Evidence]:
    unheard = {str(record["about"]) for record in play.records() if record["kind"] == "reply_lost"}
    return [
        evidence_of(part.rule, play.tasks[name], list(play.client.history(name)), unheard)
        for name, part in play.parts.items()
    ]


def _judge(play: Play) -> list[Check]:
    """Check what must be true, against what a reader from outside finds."""
    truth = compute(play.props.root, WALKED)
    records = play.records()
    reads = checks.parse_reads(play.props.reads.read_text())
    board = {task.id: task for task in play.client.tasks()}
    histories = {name: list(play.client.history(name)) for name in board}
    return [
        checks.all_accounted_for(list(play.parts), board),
        checks.settled_once(board, histories),
        checks.one_remote_render_each({scene: board[scene_name(scene)] for scene in SCENES}, records),
        checks.charged_once(ORDER, board[payment(play.props).name], records),
        checks.index_is_true(board["merge-index"], truth),
        checks.walk_is_true(board["walk"], truth),
        checks.read_within_window(reads, truth.walked),
    ]
