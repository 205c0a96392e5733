"""The event stream's parser on every cut, line ending and oddity; B14."""

import random
import re

import msgspec
import pytest

from tenure.core.errors import TooLarge
from tenure.wire.sse import KEEP_ALIVE, StreamEvent, StreamParser, write_event

COMMAND = {"task": {"input": {"text": "把这个做完 🎬🧪 – ä\nb\r\nc\u2028d"}}}
ENDINGS = [b"\n", b"\r\n", b"\r"]


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def read(*given: bytes, limit: int = 1_000_000) -> list[StreamEvent]:
    parser = StreamParser(limit)
    return [event for piece in given for event in parser.feed(piece)]


def with_endings(data: bytes, ending: bytes) -> bytes:
    return re.sub(rb"\r\n|\r|\n", ending.replace(b"\\", rb"\\"), data)


@pytest.mark.parametrize("ending", ENDINGS, ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
def test_commands_arrive_byte_identical_however_the_stream_is_cut(ending: bytes, size: int) -> None:
    """B14: one byte per read, CRLF, Chinese and emoji."""
    payload = msgspec.json.encode(COMMAND)
    sent = b"".join([KEEP_ALIVE, write_event("command", payload, 7), KEEP_ALIVE, write_event("bye", b"{}")])
    events = read(*pieces(with_endings(sent, ending), size))
    assert events == [StreamEvent("command", payload, "7"), StreamEvent("bye", b"{}", "7")]
    assert msgspec.json.decode(events[0].data) == COMMAND


def test_every_single_cut_gives_the_same_events() -> None:
    """B14: a cut inside a line end, a field name or a character is no border."""
    sent = b"\xef\xbb\xbfid: 1\r\nevent: a\r\ndata: \xf0\x9f\x8e\xac\r\n\r\ndata:x\rdata: y\r\rdata: z\n\n"
    whole = read(sent)
    assert whole == [
        StreamEvent("a", "🎬".encode(), "1"),
        StreamEvent("message", b"x\ny", "1"),
        StreamEvent("message", b"z", "1"),
    ]
    for cut in range(len(sent) + 1):
        assert read(sent[:cut], sent[cut:]) == whole, cut


def test_random_cuts_with_empty_reads_give_the_same_events() -> None:
    """B14."""
    chance = random.Random(14)
    sent = b"".join(write_event("command", msgspec.json.encode({"n": n, "t": "é🧪\r"}), n) for n in range(50))
    sent = with_endings(sent, b"\r\n")
    for _ in range(50):
        cuts = sorted(chance.choices(range(len(sent)), k=40))
        given = [sent[a:b] for a, b in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
        assert [event.id for event in read(*given)] == [str(n) for n in range(50)]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"data\n\n", [StreamEvent("message", b"")]),
        (b"data:\n\n", [StreamEvent("message", b"")]),
        (b"data:  two\n\n", [StreamEvent("message", b" two")]),
        (b"data: a: b\n\n", [StreamEvent("message", b"a: b")]),
        (b": comment\n\ndata: x\n\n", [StreamEvent("message", b"x")]),
        (b"event: alone\n\ndata: x\n\n", [StreamEvent("message", b"x")]),
        (b"foo: bar\nretry: 10\ndata: x\n\n", [StreamEvent("message", b"x")]),
        (b"id\ndata: x\n\n", [StreamEvent("message", b"x", "")]),
        (b"id: 1\n\nid: a\x00b\ndata: x\n\n", [StreamEvent("message", b"x", "1")]),
        (b"\n\n\ndata: x\n\n", [StreamEvent("message", b"x")]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: x\n\n", []),
        (b"data: unfinished", []),
        (b"data: unfinished\n", []),
        (b"", []),
    ],
)
def test_the_standard_s_oddities(sent: bytes, expected: list[StreamEvent]) -> None:
    """B14: no space, no value, several data lines, comments, NUL ids, an unfinished event."""
    assert read(sent) == expected
    assert read(*pieces(sent, 1)) == expected


@pytest.mark.parametrize("size", [1, 100_000])
@pytest.mark.parametrize(
    "sent", [b"data: " + b"x" * 2_000, b"data: x\n" * 500, b"x" * 2_000 + b"\n", b": " + b"x" * 2_000]
)
def test_an_event_over_the_limit_is_refused_before_it_fills_memory(sent: bytes, size: int) -> None:
    """B14."""
    with pytest.raises(TooLarge, match=r"more than 1,000 bytes"):
        read(*pieces(sent, size), limit=1_000)


def test_an_event_at_the_limit_passes() -> None:
    assert read(b"data: " + b"x" * 900 + b"\n\n", limit=1_000)[0].data == b"x" * 900
    many = b"data: 12345\n\n" * 1_000
    assert len(read(*pieces(many, 13), limit=100)) == 1_000
