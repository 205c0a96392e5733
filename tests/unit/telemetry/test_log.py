"""The log: one line per event, no tokens, no waiting."""

import io
import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tenure.telemetry.log import WAITING_MAX, LogObserver

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def log(stream: io.TextIOBase, *, json: bool = True, color: bool = False) -> LogObserver:
    return LogObserver(stream, lambda: NOON, lambda: 0.0, json=json, color=color)  # pyright: ignore[reportArgumentType] - a text stream


def lines_of(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_json_line() -> None:
    stream = io.StringIO()
    with log(stream) as observer:
        observer.tell("lease.lost", task_id="t1", generation=3, detail=None, error=OSError("gone\nfar"))
    assert lines_of(stream) == [
        {
            "at": "2026-01-02T12:00:00Z",
            "level": "warning",
            "event": "lease.lost",
            "task_id": "t1",
            "generation": 3,
            "error": "OSError: gone\nfar",
        }
    ]


def test_a_line_for_people_stays_one_line_and_does_not_steer_the_terminal() -> None:
    stream = io.StringIO()
    with log(stream, json=False) as observer:
        observer.tell("log.dropped", text="one\n  two\x1b[31m", lines=2)
    assert stream.getvalue().count("\n") == 1
    assert "one ⏎ two" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()
    assert "log.dropped: lines were dropped" in stream.getvalue()


def test_colour_only_when_asked_for() -> None:
    stream = io.StringIO()
    with log(stream, json=False, color=True) as observer:
        observer.tell("log.dropped", lines=2)
    assert "\x1b[" in stream.getvalue()


@pytest.mark.parametrize("json", [True, False])
def test_a_token_is_never_written(json: bool) -> None:
    """C118."""
    stream = io.StringIO()
    with log(stream, json=json) as observer:
        observer.tell("a", token="hush1", admin_token="hush2", authorization="Bearer hush3")
        observer.tell("b", error=ValueError("with tnr_s_hush4-_ inside"), where={"x": "tnr_c_hush5"})
    assert "hush" not in stream.getvalue()
    assert "tnr_s_…" in stream.getvalue()


def test_repeated_lines_are_counted_and_the_count_is_shown_at_the_end() -> None:
    stream = io.StringIO()
    with log(stream) as observer:
        for _ in range(5):
            observer.tell("delivery.failed", error=OSError("no"))
        observer.tell("delivery.failed", error=OSError("other"))
    assert [(line["error"], line.get("repeated")) for line in lines_of(stream)] == [
        ("OSError: no", None),
        ("OSError: other", None),
        ("OSError: no", 4),
    ]


def test_a_long_value_is_cut() -> None:
    stream = io.StringIO()
    with log(stream) as observer:
        observer.tell("a", text="x" * 100_000)
    assert len(stream.getvalue()) < 20_000


def test_telling_never_waits_for_a_reader_that_does_not_read() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as pipe:
        with os.fdopen(writer, "w") as stream:
            observer = log(stream)
            for number in range(WAITING_MAX + 2_000):
                observer.tell("a", number=number, text="x" * 100)
            lines: list[bytes] = []
            reading = threading.Thread(target=lambda: lines.extend(pipe))
            reading.start()
            observer.close()
        reading.join(10)
    told = [json.loads(line) for line in lines]
    dropped = sum(line["lines"] for line in told if line["event"] == "log.dropped")
    assert dropped > 0
    assert dropped + sum(1 for line in told if line["event"] == "a") == WAITING_MAX + 2_000


def test_a_reader_that_has_gone_ends_the_log_and_nothing_else(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    stream = os.fdopen(writer, "w")
    observer = log(stream)
    observer.tell("a")
    observer.close()
    observer.tell("b")
    with pytest.raises(BrokenPipeError):
        stream.close()
