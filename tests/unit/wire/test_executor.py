"""Frames between a supervisor and its executors: whole, in pieces, and not of this protocol."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.capability import Recovery
from tenure.core.checkpoint import Progress
from tenure.core.errors import TooLarge
from tenure.core.execution import (
    BeginEffect,
    EffectStanding,
    EndEffect,
    Finished,
    ManifestEntry,
    Saved,
    Work,
)
from tenure.core.task import ErrorInfo
from tenure.wire import executor as frames
from tenure.wire.executor import (
    Advance,
    Begin,
    Cancel,
    Declared,
    Down,
    Durable,
    End,
    Ended,
    FindStep,
    Found,
    Held,
    HoldLease,
    LeaseMoved,
    Refusal,
    Run,
    SaveCheckpoint,
    SaveStep,
    Standing,
    Stop,
    Unimportable,
    Up,
    encode_frame,
    read_down,
    read_up,
)

UP: list[Up] = [
    Declared([ManifestEntry("x", "1", Recovery.QUERY, "", {"type": "object"}, "shared", "0a")]),
    Unimportable("media.py:1: no"),
    Begin(1, "t.1", BeginEffect("act", "0a", {"n": 1}, ("find",), absent=True)),
    End(2, "t.1", EndEffect("act", "applied", [1, None])),
    FindStep(3, "t.1", "read"),
    SaveStep(4, "t.1", Saved("read", "step", "r")),
    SaveCheckpoint(5, "t.1", {"items": 3}, portable=False),
    HoldLease(6, "t.1", 2.5),
    Advance("t.1", Progress(completed=1, total=2)),
    Ended("t.1", Finished("failed", error=ErrorInfo("E", "m"))),
]
DOWN: list[Down] = [
    Run(Work("t.1", "t", 1, 1, 1, "x", "1", {"a": []}, "process", fenced_at_boot=3.5)),
    Cancel("t.1"),
    LeaseMoved("t.1", 4.5),
    Stop(),
    Standing(1, EffectStanding("in_doubt", "t.1.act", predecessor="ended", age_s=2.0)),
    Found(3, Saved("read", "step", None)),
    Found(3, None),
    Durable(4),
    Held(6, held=True),
    Refusal(7, "unavailable", "disk full"),
]


def test_every_message_is_carried_both_ways() -> None:
    assert {type(message) for message in UP} == set(get_args(Up))
    assert {type(message) for message in DOWN} == set(get_args(Down))
    assert read_up().feed(b"".join(map(encode_frame, UP))) == UP
    assert read_down().feed(b"".join(map(encode_frame, DOWN))) == DOWN


@given(st.lists(st.integers(1, 200), min_size=1))
def test_frames_may_come_in_any_pieces(sizes: list[int]) -> None:
    data, reader, messages = b"".join(map(encode_frame, UP)), read_up(), list[Up]()
    start = turn = 0
    while start < len(data):
        size = sizes[turn % len(sizes)]
        messages += reader.feed(data[start : start + size])
        start, turn = start + size, turn + 1
    assert messages == UP


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, {"a": [10**40, {"b": -(10**40)}], "c": "x"}])
def test_integers_of_any_size_are_carried(value: object) -> None:
    sent = SaveCheckpoint(1, "t.1", value, portable=True)
    assert read_up().feed(encode_frame(sent)) == [sent]


def test_a_frame_is_bounded_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "FRAME_BYTES_MAX", 100)
    with pytest.raises(TooLarge):
        encode_frame(Unimportable("x" * 100))
    with pytest.raises(ValueError, match="over the limit"):
        read_up().feed((101).to_bytes(4, "big"))


@pytest.mark.parametrize(
    "body",
    [b"\xc1", b"\x93\x63\x01\x02", b"\xa1x", encode_frame(Stop())[4:], b"\xc7\x01\x07x"],
    ids=["no MessagePack", "no such tag", "no message", "wrong direction", "unknown extension"],
)
def test_what_is_no_message_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_up().feed(len(body).to_bytes(4, "big") + body)
