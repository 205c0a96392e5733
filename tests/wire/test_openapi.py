"""The description that the server gives of itself equals the endpoint table."""

import re
from typing import cast

import msgspec
import pytest

from tenure.wire.codec import encode
from tenure.wire.endpoints import BY_NAME, ENDPOINTS, Endpoint
from tenure.wire.limits import BODY_BYTES_MAX, BODY_DEPTH_MAX
from tenure.wire.openapi import describe
from tenure.wire.problems import STATUS
from tests.wire.served import Served

Json = dict[str, object]


def below(value: object, *names: str) -> Json:
    for name in names:
        value = cast("Json", value)[name]
    return cast("Json", value)


def test_the_server_tells_it_without_a_credential(served: Served) -> None:
    answer = served.ask("GET", "/openapi.json", None)
    assert answer.status_code == 200
    assert answer.json() == msgspec.json.decode(encode(describe()))


def test_every_endpoint_is_described_and_nothing_else() -> None:
    paths = below(describe(), "paths")
    described = {(method.upper(), path) for path, calls in paths.items() for method in below(calls)}
    assert described == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}
    assert len(described) == len(ENDPOINTS) == len(BY_NAME)


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.name)
def test_a_call_is_described_with_its_answers_and_problems(endpoint: Endpoint) -> None:
    call = below(describe(), "paths", endpoint.path, endpoint.method.lower())
    assert call["operationId"] == endpoint.name
    statuses = {str(endpoint.status), *(str(STATUS[code]) for code in endpoint.all_problems)}
    assert below(call, "responses").keys() == statuses
    assert ("requestBody" in call) == (endpoint.request is not None)
    assert ("security" in call) == (endpoint.access != "open")
    names = [parameter["name"] for parameter in cast("list[Json]", call.get("parameters", []))]
    assert names[: len(endpoint.parameters)] == list(endpoint.parameters)
    assert endpoint.parameters == tuple(re.findall(r"\{(\w+)\}", endpoint.path))


def test_every_reference_leads_somewhere() -> None:
    description = describe()
    there = below(description, "components", "schemas").keys()
    wanted = set(re.findall(r"#/components/schemas/([\w.]+)", str(description)))
    assert wanted <= there
    assert not re.search(r"#/(?!components/schemas/)", str(description))


def test_the_limits_are_said() -> None:
    limits = below(describe(), "info", "x-limits")
    assert (limits["body_bytes_max"], limits["body_depth_max"]) == (BODY_BYTES_MAX, BODY_DEPTH_MAX)


def test_the_server_answers_what_the_table_lists_and_nothing_else(served: Served) -> None:
    for path in ("/v1", "/v1/", "/v1/tasks/", "/v2/tasks", "/v1/tasks/a/b/c", "/v1//tasks", "/favicon.ico"):
        answer = served.ask("GET", path)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path
    for endpoint in ENDPOINTS:
        path = endpoint.fill(**dict.fromkeys(endpoint.parameters, "x"))
        methods = {other.method for other in ENDPOINTS if other.path == endpoint.path}
        for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} - methods:
            answer = served.ask(method, path)
            assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
            assert methods <= set(answer.headers["allow"].split(", "))
