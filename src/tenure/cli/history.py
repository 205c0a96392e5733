"""A task's history as people read it: one line per thing ever recorded."""

from collections.abc import Iterable, Sequence

from tenure.cli.output import Output, cell
from tenure.core.effect import ATTEMPT_SUBJECT
from tenure.wire.tasks import HistoryLine


def print_history(out: Output, history: Sequence[HistoryLine]) -> None:
    """Print the lines in order: when, by which generation, what."""
    out.say("")
    rows = [(line.at, line.generation or None, line.kind, line.answer, _body(line)) for line in history]
    out.table(["at", "generation", "what", "answer", "more"], rows, nothing="no history")


def _body(line: HistoryLine) -> str:
    """Return the body as `name value` words; what is empty tells nothing."""
    told = ((name, value) for name, value in line.body.items() if value not in (None, "", [], {}, False))
    return cell(", ".join(f"{name} {cell(value)}" for name, value in told))


def applied(history: Iterable[HistoryLine]) -> list[str]:
    """Name the effects that were applied in the present run, by report or by verdict."""
    names: dict[str, None] = {}
    for line in history:
        body = line.body
        if line.kind == "retried" and body.get("afresh"):
            names.clear()
        elif line.kind == "effect" and body.get("state") == "applied":
            names[str(body.get("name"))] = None
        elif line.kind == "verdict" and body.get("verdict") == "happened":
            names[str(body.get("subject"))] = None
    names.pop(ATTEMPT_SUBJECT, None)
    return list(names)
