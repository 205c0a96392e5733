"""Hostile input at every endpoint of the table: the documented problem, and nothing stored."""

from collections.abc import Iterator
from typing import cast

import httpx2
import msgspec
import pytest

from tenure.wire.endpoints import Endpoint
from tenure.wire.limits import BODY_BYTES_MAX
from tenure.wire.problems import PROBLEM_TYPE, STATUS, Problem
from tests.wire.examples import CLOSED, WITH_BODY, Json, example, path_of, token_of
from tests.wire.served import Served, Worker

WRONG: list[object] = [
    None,
    True,
    -1,
    10**30,
    1.5,
    "",
    "a\x00b",
    "\u202e",
    [],
    {},
    [[]],
    {"a": {}},
    "x" * 5_000,
]
MALFORMED = [
    b"{",
    b"{}}",
    b"not json",
    b"'a'",
    b'{"a": NaN}',
    b'{"a": Infinity}',
    b'{"a": "\xff"}',
    b'{"a": "\xed\xa0\x80"}',
    b'{"a": "\\ud800"}',
    b'{"a": "\\udc00\\ud800"}',
    b'{"a": "tab\there"}',
    b"\xef\xbb\xbf{}",
    b"\xff\xfe{\x00}\x00",
    b'{"a": 01}',
    b'{"a": 1,}',
    b"[" * 200,
    b"[" * 100_000,
]


@pytest.fixture(scope="module")
def worker(served: Served) -> Worker:
    return served.register("w-real")


def named(endpoints: list[Endpoint]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("endpoint", endpoints, ids=[endpoint.name for endpoint in endpoints])


def refused(answer: httpx2.Response, endpoint: Endpoint, *codes: str) -> Problem:
    """Check that an answer is a problem that the table documents for this call, and one of these."""
    problem = msgspec.json.decode(answer.content, type=Problem)
    assert answer.headers["content-type"] == PROBLEM_TYPE
    assert problem.code in endpoint.all_problems, f"{endpoint.name} does not document {problem}"
    assert answer.status_code == problem.status == STATUS[problem.code]
    assert not codes or problem.code in codes, problem
    assert "tnr_" not in answer.text
    return problem


class Sender:
    """Sends bodies to one endpoint as somebody who may call it, and watches that nothing is stored."""

    def __init__(self, served: Served, worker: Worker, endpoint: Endpoint) -> None:
        self.served = served
        self.endpoint = endpoint
        self.path = path_of(endpoint, worker)
        self.token = token_of(endpoint, served, worker)

    def refused(self, body: object, *codes: str, **headers: str) -> Problem:
        before = self.served.kept()
        answer = self.served.post(self.path, body, self.token, **headers)
        problem = refused(answer, self.endpoint, *codes)
        assert self.served.kept() == before
        return problem


@pytest.fixture
def sender(served: Served, worker: Worker, endpoint: Endpoint) -> Sender:
    return Sender(served, worker, endpoint)


@named(WITH_BODY)
def test_what_is_no_json_is_malformed(sender: Sender) -> None:
    for body in MALFORMED:
        sender.refused(body, "malformed")


@named(WITH_BODY)
def test_another_media_type_is_malformed(sender: Sender, endpoint: Endpoint) -> None:
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""):
        sender.refused(example(endpoint), "malformed", **{"content-type": media_type})


@named(WITH_BODY)
def test_the_media_type_may_carry_a_parameter(sender: Sender) -> None:
    sender.refused(b"[]", "invalid", **{"content-type": "Application/JSON; charset=utf-8"})


@named(WITH_BODY)
def test_a_body_is_needed_unless_everything_has_a_default(sender: Sender, endpoint: Endpoint) -> None:
    sender.refused(b"", *(["not_found"] if endpoint.body_optional else ["malformed"]))


@named(WITH_BODY)
def test_another_top_is_invalid(sender: Sender) -> None:
    for body in (b"null", b"[]", b"5", b'"text"', b"true"):
        sender.refused(body, "invalid")


@named(WITH_BODY)
def test_a_body_too_deep_is_invalid(sender: Sender) -> None:
    for opened, closed in ((b"[", b"]"), (b'{"a":', b"}")):
        body = b'{"x":' + opened * 100 + b"1" + closed * 100 + b"}"
        assert "deeper than 100" in sender.refused(body, "invalid").detail


@named(WITH_BODY)
def test_brackets_in_texts_are_not_deep(sender: Sender, endpoint: Endpoint) -> None:
    body = {**example(endpoint), "nonsense": '[{"' * 1_000}
    assert sender.refused(body, "invalid").errors[0].path == "nonsense"


@named(WITH_BODY)
def test_a_body_too_large_is_refused_and_its_sender_hears_it(sender: Sender) -> None:
    """B29: also when the length is not said beforehand, and when it is far too large."""

    def unsaid() -> Iterator[bytes]:
        for _ in range(BODY_BYTES_MAX // 65_536 + 1):
            yield b" " * 65_536

    sender.refused(b" " * (BODY_BYTES_MAX + 1), "too_large")
    before = sender.served.kept()
    answer = sender.served.ask(
        "POST", sender.path, sender.token, content=unsaid(), headers={"content-type": "application/json"}
    )
    refused(answer, sender.endpoint, "too_large")
    assert sender.served.kept() == before


@named(WITH_BODY)
def test_a_field_that_is_not_known_is_refused_with_its_path(sender: Sender, endpoint: Endpoint) -> None:
    good = example(endpoint)
    assert sender.refused({**good, "nonsense": 1}, "invalid").errors[0].path == "nonsense"
    for name, value in good.items():
        first = steps(steps(value).get(0))
        if first and endpoint.name != "events":
            below = sender.refused({**good, name: [{**first, "nonsense": 1}]}, "invalid")
            assert below.errors[0].path == f"{name}[0].nonsense"


@named(WITH_BODY)
def test_a_field_that_is_missing_is_named(sender: Sender, endpoint: Endpoint) -> None:
    assert endpoint.request is not None
    good = example(endpoint)
    for field in msgspec.structs.fields(endpoint.request):
        if field.required:
            left = {name: value for name, value in good.items() if name != field.encode_name}
            assert sender.refused(left, "invalid").errors[0].path == field.encode_name


Path = tuple[str | int, ...]


def places(value: object, path: Path = ()) -> Iterator[Path]:
    """Walk every place of a message."""
    if path:
        yield path
    for step, below in steps(value).items():
        yield from places(below, (*path, step))


def steps(value: object) -> dict[str | int, object]:
    """Return what stands below a value, by key or by place."""
    if isinstance(value, dict):
        return cast("dict[str | int, object]", value)
    return dict(enumerate(cast("list[object]", value))) if isinstance(value, list) else {}


def put(message: object, path: Path, value: object) -> object:
    """Return a copy of a message with another value at one place."""
    if not path:
        return value
    below = steps(message)
    below = {**below, path[0]: put(below[path[0]], path[1:], value)}
    return below if isinstance(message, dict) else list(below.values())


@named(WITH_BODY)
def test_a_wrong_value_anywhere_is_no_bug(sender: Sender, endpoint: Endpoint) -> None:
    """Every value at every place: either it is good, or a documented problem and nothing is stored."""
    good: Json = example(endpoint)
    for path in places(good):
        for wrong in WRONG:
            before = sender.served.kept()
            answer = sender.served.post(sender.path, put(good, path, wrong), sender.token)
            assert answer.status_code < 500, (path, wrong, answer.text)
            if answer.status_code >= 400:
                refused(answer, endpoint)
                assert sender.served.kept() == before, (path, wrong)


@named(CLOSED)
def test_without_a_credential_nothing_is_said(served: Served, worker: Worker, endpoint: Endpoint) -> None:
    before = served.kept()
    path = path_of(endpoint, worker)
    for token in (None, "nonsense", "tnr_k_nonsense", "tnr_s_nonsense", "x" * 5_000):
        answer = served.ask(endpoint.method, path, token)
        refused(answer, endpoint, "unauthenticated")
        assert answer.headers["www-authenticate"] == "Bearer"
    for header in ("Basic YTpi", "Bearer", worker.session):
        refused(served.ask(endpoint.method, path, None, headers={"authorization": header}), endpoint)
    assert served.kept() == before


@named(CLOSED)
def test_a_credential_of_another_role_is_forbidden(
    served: Served, worker: Worker, endpoint: Endpoint
) -> None:
    allowed = {
        "read": {"read", "submit", "worker", "admin"},
        "submit": {"submit", "admin"},
        "worker": {"worker", "admin"},
        "admin": {"admin"},
        "session": set[str](),
    }[endpoint.access]
    others = {"read", "submit", "worker", "admin"} - allowed
    tokens = {role: served.token(role) for role in others}
    before = served.kept()
    for token in tokens.values():
        body = msgspec.json.encode(example(endpoint)) if endpoint.request else None
        headers = {"content-type": "application/json"}
        answer = served.ask(endpoint.method, path_of(endpoint, worker), token, content=body, headers=headers)
        refused(answer, endpoint, "forbidden")
    assert served.kept() == before


@named(WITH_BODY)
def test_a_bad_body_comes_before_a_role_that_is_not_enough(
    served: Served, worker: Worker, endpoint: Endpoint
) -> None:
    """The order of the checks: 401, 413, 400 and 422, 403."""
    path = path_of(endpoint, worker)
    refused(served.post(path, b"{", "nonsense"), endpoint, "unauthenticated")
    if endpoint.access not in ("read", "submit"):
        refused(served.post(path, b"{", served.token("submit")), endpoint, "malformed")
