"""`tenure demo`: the main story on real processes, shown live, then its table of evidence and its checks."""

import secrets
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tenure.cli.exits import Exit
from tenure.cli.options import for_programs
from tenure.cli.output import Output

if TYPE_CHECKING:
    from tenure.demo.story.checks import Check
    from tenure.demo.story.evidence import Evidence

SEEDS: Final = 10_000


@click.command()
@click.option("--seed", type=click.IntRange(0, 2**32), metavar="N", help="Repeat the chance of another run.")
@click.option("--keep", is_flag=True, help="Keep the folder with its stores, logs and journal.")
@click.option("--stay", is_flag=True, help="Leave everything running at the end, until Ctrl-C.")
@for_programs
def demo(out: Output, seed: int | None, keep: bool, stay: bool) -> Exit:
    """Run real work on real processes, kill them again and again, and judge what comes out.

    A control plane on SQLite, two workers and a remote service index and walk the sources of this Python,
    have scenes rendered and an order charged. They die on the way, at chosen moments and by chance. It takes
    about half a minute, needs no network and no root, and leaves nothing running. The exit code is 1 if a
    check does not hold; then the folder is kept.
    """
    folder = Path(tempfile.mkdtemp(prefix="tenure-demo-"))
    is_kept = True
    try:
        ok = _tell(out, folder, secrets.randbelow(SEEDS) if seed is None else seed, stay=stay)
        is_kept = keep or not ok
    except KeyboardInterrupt:
        is_kept = keep
        raise
    finally:
        if is_kept:
            _say(out, "kept", f"stores, logs and journal are in {folder}", folder=str(folder))
        else:
            shutil.rmtree(folder)
    return Exit.DONE if ok else Exit.FAILED


def _tell(out: Output, folder: Path, seed: int, *, stay: bool) -> bool:
    """Tell the story and print its end; return whether every check held."""
    from tenure.cli.stage import screen_for
    from tenure.demo.story.story import Story
    from tenure.testing.processes import Processes

    began = time.monotonic()
    with Processes(folder / "logs") as processes:
        story = Story(folder, seed, processes)
        outcome = story.run(screen_for(out))
        _print_evidence(out, outcome.evidence)
        for check in outcome.checks:
            _print_check(out, check)
        if stay:
            _stay(out, story.url, story.token)
        last = story.leave()
    _print_check(out, last)
    ok = all(check.ok for check in [*outcome.checks, last])
    seconds = time.monotonic() - began
    held = "every check holds" if ok else "a check has FAILED"
    _say(out, "ended", f"{held}; {seconds:.0f} s, seed {seed}", ok=ok, seconds=round(seconds, 1), seed=seed)
    return ok


def _print_evidence(out: Output, evidence: "list[Evidence]") -> None:
    if out.json:
        out.line({"event": "evidence", "evidence": evidence})
        return
    out.say("")
    heads = ["task", "state", "generations", "losses", "re-used", "re-run", "found", "decided"]
    out.table(heads, [_row(one) for one in evidence])
    out.say("")


def _row(one: "Evidence") -> list[object]:
    words = ("; ".join(part) for part in (one.reused, one.rerun, one.found, one.decided))
    return [one.task, one.state, f"{one.generations} ({', '.join(one.holders)})", one.losses, *words]


def _print_check(out: Output, check: "Check") -> None:
    if out.json:
        out.line({"event": "check", "claim": check.claim, "ok": check.ok, "detail": check.detail})
        return
    out.say(f"{'ok    ' if check.ok else 'FAILED'}  {check.claim}: {check.detail}")


def _stay(out: Output, url: str, token: str) -> None:
    text = f"the control plane answers at {url} with TENURE_TOKEN={token}, until Ctrl-C"
    _say(out, "staying", text, url=url, token=token)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        return


def _say(out: Output, event: str, text: str, **facts: object) -> None:
    if out.json:
        out.line({"event": event, "text": text, **facts})
    else:
        out.say(text)
