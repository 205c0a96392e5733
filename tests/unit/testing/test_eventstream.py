"""Editing an event stream on its way, wherever the pieces end."""

import pytest

from tenure.testing.eventstream import EventStream

STREAM = b": awake\n\nid: 1\ndata: a\ndata: b\n\n\n: awake\n\ndata: c\n\n"


def passed(size: int, ending: bytes | None, events_max: int | None) -> bytes:
    stream = EventStream()
    pieces = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]
    return b"".join(stream.take(piece, ending=ending, events_max=events_max) for piece in pieces)


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_lines_get_other_ends(size: int) -> None:
    assert passed(size, b"\r\n", None) == STREAM.replace(b"\n", b"\r\n")
    assert passed(size, None, None) == STREAM


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_so_many_events_pass_and_comments_are_none(size: int) -> None:
    assert passed(size, None, 1) == b": awake\n\nid: 1\ndata: a\ndata: b\n\n"
    assert passed(size, None, 2) == STREAM
    assert passed(size, None, 0) == b""
