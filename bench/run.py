"""Measures this installation: `python -m bench.run [--full] [--tasks N] [--rounds N] [--json]`.

Prints each round as it comes; with `--json` one document at the end. Exit code 1: the figures do not count,
because something was done twice, not at all, not durably or not fenced.
"""

import argparse
import sys
from collections.abc import Sequence
from statistics import median
from typing import TypedDict, cast

import msgspec

from bench import report
from bench.honesty import Dishonest
from bench.rounds import Round, alone_round, shared_round

TASKS, ALONE_TASKS, SINGLES = 20_000, 2_000, 300
SLOTS, ALONE_SLOTS = 64, 2
ROUNDS, ROUNDS_FULL = 3, 5


class Arguments(TypedDict):
    """The command line, parsed."""

    tasks: int
    alone: int
    singles: int
    slots: int
    rounds: int | None
    full: bool
    json: bool


def arguments(argv: Sequence[str]) -> Arguments:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="bench", description="Measure this installation.")
    parser.add_argument("--tasks", type=int, default=TASKS, help="no-op tasks per round")
    parser.add_argument(
        "--alone", type=int, default=ALONE_TASKS, help="the same in process isolation; 0: none"
    )
    parser.add_argument("--singles", type=int, default=SINGLES, help="single submissions for the latency")
    parser.add_argument("--slots", type=int, default=SLOTS, help="attempts at once, shared")
    parser.add_argument("--rounds", type=int, help=f"instead of {ROUNDS}")
    parser.add_argument("--full", action="store_true", help=f"{ROUNDS_FULL} rounds")
    parser.add_argument("--json", action="store_true", help="one JSON document, at the end")
    return cast("Arguments", cast("object", vars(parser.parse_args(argv))))


def main() -> int:
    """Measure, print, and say whether the figures count."""
    asked = arguments(sys.argv[1:])
    say = _nothing if asked["json"] else _line
    say(f"on {report.machine()}")
    shared: list[Round] = []
    alone: list[Round] = []
    try:
        for number in range(asked["rounds"] or (ROUNDS_FULL if asked["full"] else ROUNDS)):
            shared.append(shared_round(asked["tasks"], asked["singles"], asked["slots"]))
            say(report.round_line(f"round {number + 1}, shared", shared[-1]))
            if asked["alone"]:
                alone.append(alone_round(asked["alone"], ALONE_SLOTS))
                say(report.round_line(f"round {number + 1}, process", alone[-1]))
    except Dishonest as found:
        print(f"bench: {found}", file=sys.stderr)
        return 1
    if asked["json"]:
        print(msgspec.json.encode(document(asked, shared, alone)).decode())
        return 0
    say("")
    for line in [*report.summary("shared", shared), *(report.summary("process", alone) if alone else [])]:
        say(line)
    say(f"stale completion: {shared[0].refusal}\n{report.METHOD}")
    return 0


def _line(text: str) -> None:
    print(text, flush=True)


def _nothing(_text: str) -> None:
    """Say nothing: programs read the document."""


def document(asked: Arguments, shared: Sequence[Round], alone: Sequence[Round]) -> dict[str, object]:
    """Return everything for programs."""
    return {
        "machine": report.machine(),
        "asked": asked,
        "shared": shared,
        "process": alone,
        "median_per_s": median(r.drain.per_s for r in shared),
        "method": report.METHOD,
    }


if __name__ == "__main__":
    sys.exit(main())
