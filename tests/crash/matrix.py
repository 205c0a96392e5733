"""The whole kill matrix: `python -m tests.crash.matrix`, which is `make crash`; exit 1 on any violation."""

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.crash.cells import CANNOT_OCCUR, Cell, all_cells, select
from tests.crash.chance import run_round
from tests.crash.course import Findings
from tests.crash.report import table, violations, write_report
from tests.crash.rig import ROOT
from tests.crash.trial import Outcome, run

JOBS = min(3, (os.cpu_count() or 1) + 1)
"""Most of a cell's time is waiting, so one more than there are processors."""

STORIES = ("tests/system/test_rogue_handlers.py", "tests/system/test_field_cases.py")
"""Stories with a long version, told in full beside the matrix."""


ROUNDS = 40
"""Rounds of blows at random moments beside the matrix."""

Trial = Callable[[], Findings]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the cells, write the report, and return the exit code."""
    said = _arguments(argv)
    cells = select(all_cells(), said.only)
    if not cells:
        print(f"no cell is called {said.only}; it is POINT,BLOW,KIND", file=sys.stderr)
        return 2
    left_out = {cell: CANNOT_OCCUR[cell] for cell in cells if cell in CANNOT_OCCUR}
    to_run = [cell for cell in cells if cell not in left_out]
    if said.list:
        print("\n".join(map(str, to_run)))
        return 0
    work = said.folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    started = time.monotonic()
    found = list(_run_all(_trials(to_run, said, work), work, said.jobs))
    outcomes = [one for one in found if isinstance(one, Outcome)]
    rounds = [one for one in found if not isinstance(one, Outcome)]
    stories = {} if said.only else {story: _tell(story) for story in STORIES}
    seconds = time.monotonic() - started
    report = said.folder / "crash-report.json"
    write_report(report, outcomes, rounds, left_out, stories, seconds=seconds, seed=said.seed)
    return _say(outcomes, rounds, left_out, stories, report, seconds)


class _Said(argparse.Namespace):
    """The command line, parsed."""

    only: str | None
    rounds: int | None
    seed: int
    jobs: int
    folder: Path
    list: bool


def _arguments(argv: Sequence[str] | None) -> _Said:
    parser = argparse.ArgumentParser(prog="python -m tests.crash.matrix", description=__doc__)
    parser.add_argument("--only", metavar="POINT,BLOW,KIND", help="some cells; an empty part means all")
    parser.add_argument(
        "--rounds", type=int, help=f"rounds of random blows (default {ROUNDS}, with --only 0)"
    )
    parser.add_argument("--seed", type=int, default=0, help="order of the cells, late holders, random blows")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"trials at once (default {JOBS})")
    parser.add_argument("--folder", type=Path, default=ROOT / "build", help="where report and logs go")
    parser.add_argument("--list", action="store_true", help="name the cells and run none")
    return parser.parse_args(argv, namespace=_Said())


def _trials(cells: Sequence[Cell], said: _Said, work: Path) -> list[Trial]:
    """Return what is to be run, in an order drawn by the seed; seed 0 holds no holder back for longer."""
    draw = random.Random(said.seed)
    rounds = said.rounds if said.rounds is not None else 0 if said.only else ROUNDS
    trials: list[Trial] = [
        partial(run, cell, work / _file(str(cell)), late=bool(said.seed) and draw.random() < 0.5)
        for cell in cells
    ]
    seeds = range(said.seed * 1_000, said.seed * 1_000 + rounds)
    trials += [partial(run_round, seed, work / f"chance-{seed}") for seed in seeds]
    draw.shuffle(trials)
    return trials


def _file(name: str) -> str:
    return name.replace(",", "-").replace(" ", "-")


def _run_all(trials: Sequence[Trial], work: Path, jobs: int) -> Iterator[Findings]:
    """Run trials side by side, and yield what each has found as it comes."""
    progress = _bar() if sys.stderr.isatty() else nullcontext()
    with progress as bar, ThreadPoolExecutor(jobs) as pool:
        shown = bar.add_task("trials", total=len(trials), bad=0) if bar else None
        bad = 0
        for done, future in enumerate(as_completed([pool.submit(trial) for trial in trials]), start=1):
            found = future.result()
            bad += not found.passed
            _keep_logs(found, work)
            if bar and shown is not None:
                bar.update(shown, completed=done, bad=bad)
            if not bar or not found.passed:
                _tell_one(found, done, len(trials))
            yield found


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[bad]} with violations"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )


def _keep_logs(found: Findings, work: Path) -> None:
    if found.logs:
        work.mkdir(parents=True, exist_ok=True)
        (work / f"{_file(found.name)}.log").write_text(found.logs)


def _tell_one(found: Findings, done: int, there_are: int) -> None:
    word = "ok" if found.passed else "; ".join(found.violations)
    print(f"{done:4}/{there_are} {found.name} {found.seconds:.1f} s: {word}", file=sys.stderr, flush=True)


def _tell(story: str) -> str:
    """Run a story's long version and say how it went."""
    print(f"telling {story} at length", file=sys.stderr, flush=True)
    options = ["-q", "-p", "no:randomly", "-o", "faulthandler_timeout=0"]
    command = [sys.executable, "-m", "pytest", *options, str(ROOT / story)]
    ended = subprocess.run(command, cwd=ROOT, env={**os.environ, "TENURE_LONG": "1"}, check=False)
    return "passed" if ended.returncode == 0 else f"failed with {ended.returncode}"


def _say(
    outcomes: Sequence[Outcome],
    rounds: Sequence[Findings],
    left_out: Mapping[Cell, str],
    stories: Mapping[str, str],
    report: Path,
    seconds: float,
) -> int:
    print("\n".join(table(outcomes)))
    for cell, reason in left_out.items():
        print(f"cannot occur: {cell}: {reason}")
    for story, how in stories.items():
        print(f"{story}: {how}")
    both = [*outcomes, *rounds]
    found = violations(both)
    print(
        f"{len(outcomes)} cells and {len(rounds)} rounds of chance, {sum(one.kills for one in both)} kills, "
        f"{sum(bool(one.unknown) for one in both)} with a verdict, {seconds:.0f} s, "
        f"{len(found)} violations; report in {report}"
    )
    for violation in found:
        print(f"violation: {violation}")
    return 1 if found or any(how != "passed" for how in stories.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
