"""The figures in words: each round as it comes, then medians with their spread, and how it was measured."""

import platform
import sys
from collections.abc import Callable, Sequence
from statistics import median

import apsw
import psutil

from bench.rounds import Round

METHOD = """\
how: real processes as a user starts them (tenure server on SQLite, one tenure worker), all on this machine,
     with default durability. The board is filled in bulk while the worker is marked drained; the clock runs
     from the moment before the mark goes until the last finished_at of the store. Processor time and memory
     are the operating system's, per process and divided by the tasks. Latency: one submission at a time on
     an idle pair, from before the call until the handler's first line. Disk: appends of 128 bytes with
     fdatasync, one after the other, before each round. Checked in each round: every task done, by one
     execution (histories are sampled), as many executions counted by the executors as there were tasks, a
     stale completion refused, WAL with synchronous=FULL; anything else fails the bench."""


def machine() -> dict[str, object]:
    """Return what the figures were measured on."""
    return {
        "processors": psutil.cpu_count(),
        "system": platform.platform(terse=True),
        "python": sys.version.split()[0],
        "sqlite": apsw.sqlite_lib_version(),
    }


def round_line(name: str, measured: Round) -> str:
    """Return one round in one line."""
    drain = measured.drain
    cpu = " + ".join(f"{part} {ms:.2f}" for part, ms in drain.cpu_ms.items())
    line = (
        f"{name}: {drain.per_s:,.0f} tasks/s ({drain.tasks:,} in {drain.seconds:.1f} s), "
        f"cpu {drain.cpu_ms_total:.2f} ms/task ({cpu}), bulk submission {drain.submit_per_s:,.0f}/s"
    )
    if measured.latency is not None:
        line += f", latency p50 {measured.latency.p50_ms:.1f} ms p99 {measured.latency.p99_ms:.1f} ms"
    again = f", {drain.granted_again} granted again" if drain.granted_again else ""
    return f"{line}{again}; disk {measured.syncs_per_s:,.0f} syncs/s"


def summary(name: str, rounds: Sequence[Round]) -> list[str]:
    """Return medians and spreads of some rounds."""
    lines = [
        _spread(f"{name}, tasks/s", rounds, lambda r: r.drain.per_s, ",.0f"),
        _spread(f"{name}, cpu ms per task, all processes", rounds, lambda r: r.drain.cpu_ms_total, ".2f"),
        _spread(f"{name}, bulk submission, tasks/s", rounds, lambda r: r.drain.submit_per_s, ",.0f"),
    ]
    for part in rounds[0].drain.rss_idle_mib:
        idle = median(r.drain.rss_idle_mib[part] for r in rounds)
        after = median(r.drain.rss_after_mib.get(part, 0.0) for r in rounds)
        lines.append(
            f"{name}, memory of {part}: {idle:.0f} MiB idle with a full board, {after:.0f} MiB after"
        )
    timed = [r for r in rounds if r.latency is not None]
    if timed:
        lines.append(
            _spread("idle latency p50, ms", timed, lambda r: r.latency.p50_ms if r.latency else 0, ".1f")
        )
        lines.append(
            _spread("idle latency p99, ms", timed, lambda r: r.latency.p99_ms if r.latency else 0, ".1f")
        )
    lines.append(_spread("disk, syncs/s", rounds, lambda r: r.syncs_per_s, ",.0f"))
    return lines


def _spread(name: str, rounds: Sequence[Round], of: Callable[[Round], float], form: str) -> str:
    values = [of(measured) for measured in rounds]
    return f"{name}: {median(values):{form}} ({min(values):{form}} to {max(values):{form}})"
