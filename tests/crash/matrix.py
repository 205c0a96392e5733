"""The whole kill matrix: `python -m tests.crash.matrix`, which is `make crash`; exit 1 on any violation."""

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.crash.cells import Cell, all_cells, impossible, select
from tests.crash.report import table, violations, write_report
from tests.crash.rig import ROOT
from tests.crash.trial import Outcome, run

JOBS = min(3, (os.cpu_count() or 1) + 1)
"""Most of a cell's time is waiting, so one more than there are processors."""

STORIES = ("tests/system/test_rogue_handlers.py",)
"""Stories with a long version, told in full beside the matrix."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the cells, write the report, and return the exit code."""
    said = _arguments(argv)
    cells = select(all_cells(), said.only)
    if not cells:
        print(f"no cell is called {said.only}; it is POINT,BLOW,KIND", file=sys.stderr)
        return 2
    left_out = {cell: reason for cell in cells if (reason := impossible(cell)) is not None}
    to_run = [cell for cell in cells if cell not in left_out]
    random.Random(said.seed).shuffle(to_run)
    if said.list:
        print("\n".join(map(str, sorted(to_run))))
        return 0
    started = time.monotonic()
    work = said.folder / "cells"
    shutil.rmtree(work, ignore_errors=True)
    outcomes = list(_run_all(to_run, work, said.jobs))
    stories = {} if said.only else {story: _tell(story) for story in STORIES}
    seconds = time.monotonic() - started
    report = said.folder.parent / "crash-report.json"
    write_report(report, outcomes, left_out, stories, seconds=seconds, seed=said.seed)
    return _say(outcomes, left_out, stories, report, seconds)


class _Said(argparse.Namespace):
    """The command line, parsed."""

    only: str | None
    seed: int
    jobs: int
    folder: Path
    list: bool


def _arguments(argv: Sequence[str] | None) -> _Said:
    parser = argparse.ArgumentParser(prog="python -m tests.crash.matrix", description=__doc__)
    parser.add_argument("--only", metavar="POINT,BLOW,KIND", help="some cells; an empty part means all")
    parser.add_argument("--seed", type=int, default=0, help="order of the cells")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"cells at once (default {JOBS})")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "crash", help="logs of what failed")
    parser.add_argument("--list", action="store_true", help="name the cells and run none")
    return parser.parse_args(argv, namespace=_Said())


def _run_all(cells: Sequence[Cell], work: Path, jobs: int) -> Iterable[Outcome]:
    """Run cells side by side, and yield each outcome as it comes."""
    progress = _bar() if sys.stderr.isatty() else nullcontext()
    with progress as bar, ThreadPoolExecutor(jobs) as pool:
        bar_id = bar.add_task("cells", total=len(cells), bad=0) if bar else None
        waiting: set[Future[Outcome]] = {
            pool.submit(run, cell, work / str(cell).replace(",", "-")) for cell in cells
        }
        done, bad = 0, 0
        try:
            while waiting:
                ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for outcome in (future.result() for future in ended):
                    done, bad = done + 1, bad + (not outcome.passed)
                    _keep_logs(outcome, work)
                    if bar and bar_id is not None:
                        bar.update(bar_id, completed=done, bad=bad)
                    if not bar or not outcome.passed:
                        _tell_one(outcome, done, len(cells))
                    yield outcome
        finally:
            for future in waiting:
                future.cancel()


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[bad]} with violations"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )


def _keep_logs(outcome: Outcome, work: Path) -> None:
    if outcome.logs:
        work.mkdir(parents=True, exist_ok=True)
        (work / f"{str(outcome.cell).replace(',', '-')}.log").write_text(outcome.logs)


def _tell_one(outcome: Outcome, done: int, there_are: int) -> None:
    word = "ok" if outcome.passed else "; ".join(outcome.violations)
    print(f"{done:4}/{there_are} {outcome.cell} {outcome.seconds:.1f} s: {word}", file=sys.stderr, flush=True)


def _tell(story: str) -> str:
    """Run a story's long version and say how it went."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", str(ROOT / story)]
    ended = subprocess.run(command, cwd=ROOT, env={**os.environ, "TENURE_LONG": "1"}, check=False)
    return "passed" if ended.returncode == 0 else f"failed with {ended.returncode}"


def _say(
    outcomes: Sequence[Outcome],
    left_out: dict[Cell, str],
    stories: dict[str, str],
    report: Path,
    seconds: float,
) -> int:
    print("\n".join(table(outcomes)))
    for cell, reason in left_out.items():
        print(f"cannot occur: {cell}: {reason}")
    for story, how in stories.items():
        print(f"{story}: {how}")
    found = violations(outcomes)
    print(
        f"{len(outcomes)} cells, {sum(one.kills for one in outcomes)} kills, "
        f"{sum(one.unknown for one in outcomes)} decided by a verdict, {seconds:.0f} s, "
        f"{len(found)} violations; report in {report}"
    )
    for violation in found:
        print(f"violation: {violation}")
    return 1 if found or any(how != "passed" for how in stories.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
