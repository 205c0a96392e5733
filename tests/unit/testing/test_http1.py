"""Message boundaries on a kept-alive connection, wherever the reads end."""

import pytest

from tenure.testing.http1 import Body, End, Framing, Head, Part, replies, requests

REQUESTS = (
    b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3;ext=1\r\nabc\r\nA\r\n0123\r\n6789\r\n0\r\nTrailer: x\r\n\r\n"
    b"GET /b?c=d HTTP/1.1\r\nHost: x\r\n\r\n"
    b"PUT /e HTTP/1.1\r\nContent-Length: 4\r\n\r\nGET "
    b"POST /f HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
)
REPLIES = (
    b"HTTP/1.1 100 Continue\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"
    b"HTTP/1.1 204 No Content\r\n\r\n"
    b"HTTP/1.1 200 OK\r\n\r\nuntil the end"
)


def parts(framing: Framing, content: bytes, size: int) -> list[Part]:
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    return [part for piece in pieces for part in framing.feed(piece)]


def payloads(found: list[Part]) -> list[bytes]:
    """The bodies, one for each head."""
    bodies: list[bytes] = []
    for part in found:
        if isinstance(part, Head):
            bodies.append(b"")
        elif isinstance(part, Body):
            bodies[-1] += part.payload
    return bodies


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
def test_requests_are_told_apart_and_no_byte_is_changed(size: int) -> None:
    found = parts(requests(), REQUESTS, size)
    assert b"".join(part.raw for part in found) == REQUESTS
    heads = [part for part in found if isinstance(part, Head)]
    assert [(head.method, head.target) for head in heads] == [
        ("POST", "/a"),
        ("GET", "/b?c=d"),
        ("PUT", "/e"),
        ("POST", "/f"),
    ]
    assert payloads(found) == [b"abc0123\r\n6789", b"", b"GET ", b""]
    assert sum(isinstance(part, End) for part in found) == len(heads)


@pytest.mark.parametrize("size", [1, 5, 10_000])
def test_replies_are_told_apart_and_no_byte_is_changed(size: int) -> None:
    found = parts(replies(lambda: "GET"), REPLIES, size)
    assert b"".join(part.raw for part in found) == REPLIES
    assert [part.status for part in found if isinstance(part, Head)] == [100, 200, 204, 200]
    assert payloads(found) == [b"", b"yes", b"", b"until the end"]


def test_a_reply_to_head_has_no_body_whatever_its_length_says() -> None:
    found = parts(
        replies(lambda: "HEAD"), b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", 4
    )
    assert [type(part) for part in found] == [Head, End, Head, End]


@pytest.mark.parametrize("content", [b"\x16\x03\x01 not http \r\n\r\n and more", b"x" * 70_000])
def test_what_is_not_http_goes_through(content: bytes) -> None:
    assert b"".join(part.raw for part in parts(requests(), content, 1000)) == content


def test_after_switching_protocols_everything_is_one_body() -> None:
    content = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nHTTP/1.1 is no head here\r\n\r\n"
    found = parts(replies(lambda: "GET"), content, 10)
    assert sum(isinstance(part, Head) for part in found) == 1
