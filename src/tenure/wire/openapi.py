"""The OpenAPI description, made from the endpoint table and the forms it names."""

from collections.abc import Mapping
from typing import cast

import msgspec

from tenure.core.errors import InvariantBroken
from tenure.core.ids import ID_PATTERN
from tenure.wire import limits
from tenure.wire.codec import JSON_TYPE
from tenure.wire.endpoints import CLAIM_HEADER, ENDPOINTS, PROTOCOL, PROTOCOL_HEADER, Endpoint
from tenure.wire.problems import PROBLEM_TYPE, STATUS, Problem
from tenure.wire.sse import MEDIA_TYPE

Json = dict[str, object]

_REFERENCE = "#/components/schemas/{name}"
_TEXT: Json = {"type": "string"}


def describe() -> Json:
    """Return the description of every endpoint, with the protocol's limits."""
    forms = _forms()
    schemas, components = msgspec.json.schema_components(forms, ref_template=_REFERENCE, schema_hook=_any)
    by_form = dict(zip(map(repr, forms), schemas, strict=True))
    paths: dict[str, Json] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, by_form)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tenure", "version": PROTOCOL, "x-limits": _limits()},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _any(form: type) -> Json:
    """Return the schema of `object`: any JSON at all."""
    if form is not object:
        raise InvariantBroken(f"{form} has no JSON form")
    return {"description": "any JSON value"}


def _forms() -> list[object]:
    """Return each request, answer and query form once, in the table's order."""
    found: dict[str, object] = {repr(Problem): Problem}
    for endpoint in ENDPOINTS:
        for form in (endpoint.request, endpoint.query, endpoint.answer):
            if form is not None:
                found.setdefault(repr(form), form)
    return list(found.values())


def _limits() -> Json:
    return {name.lower(): value for name, value in vars(limits).items() if name.isupper()}


def _operation(endpoint: Endpoint, forms: Mapping[str, Json]) -> Json:
    operation: Json = {
        "operationId": endpoint.name,
        "summary": endpoint.says,
        "responses": _responses(endpoint, forms),
    }
    if endpoint.access != "open":
        operation["security"] = [{"bearer": []}]
        operation["x-access"] = endpoint.access
    if parameters := _parameters(endpoint):
        operation["parameters"] = parameters
    if endpoint.request is not None:
        operation["requestBody"] = {
            "required": not endpoint.body_optional,
            "content": {JSON_TYPE: {"schema": forms[repr(endpoint.request)]}},
        }
    return operation


def _parameters(endpoint: Endpoint) -> list[Json]:
    found = [
        _parameter("path", name, {**_TEXT, "pattern": f"^{ID_PATTERN}$"}) for name in endpoint.parameters
    ]
    if endpoint.query is not None:
        schema = msgspec.json.schema(endpoint.query, schema_hook=_any)
        own = cast("Mapping[str, Json]", schema["$defs"])[endpoint.query.__name__]
        properties = cast("Mapping[str, Json]", own["properties"])
        found += [_parameter("query", name, {**_inline(form)}) for name, form in properties.items()]
    if endpoint.claim_header:
        found.append(_parameter("header", CLAIM_HEADER, _TEXT) | {"required": True})
    if endpoint.by_worker:
        found.append(_parameter("header", PROTOCOL_HEADER, _TEXT))
    return found


def _inline(form: Json) -> Json:
    """Return a parameter's schema; a reference to an enum of ours points into the components."""
    text = msgspec.json.encode(form).replace(b"#/$defs/", b"#/components/schemas/")
    return msgspec.json.decode(text, type=dict[str, object])


def _parameter(place: str, name: str, schema: Json) -> Json:
    return {"name": name, "in": place, "required": place == "path", "schema": schema}


def _responses(endpoint: Endpoint, forms: Mapping[str, Json]) -> Json:
    media = MEDIA_TYPE if endpoint.stream else JSON_TYPE
    schema = _TEXT if endpoint.stream or endpoint.answer is None else forms[repr(endpoint.answer)]
    responses: Json = {
        str(endpoint.status): {"description": "done", "content": {media: {"schema": schema}}},
    }
    codes: dict[int, list[str]] = {}
    for code in endpoint.all_problems:
        codes.setdefault(STATUS[code], []).append(code)
    for status, named in sorted(codes.items()):
        problem = {PROBLEM_TYPE: {"schema": forms[repr(Problem)]}}
        responses[str(status)] = {"description": ", ".join(named), "content": problem}
    return responses
