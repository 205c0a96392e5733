"""docs/protocol.md: every call, problem and limit, from the tables that server and client read."""

from __future__ import annotations

import ast
import inspect
import re
from itertools import pairwise
from typing import TYPE_CHECKING, get_args

from tenure.wire import limits
from tenure.wire.endpoints import (
    CLAIM_HEADER,
    ENDPOINTS,
    EPOCH_HEADER,
    POSITION_HEADER,
    PROTOCOL,
    PROTOCOL_HEADER,
    Endpoint,
)
from tenure.wire.problems import PROBLEM_TYPE, STATUS
from tools.pages.markdown import table

if TYPE_CHECKING:
    from collections.abc import Iterator

INTRO = f"""# Protocol {PROTOCOL}

JSON over HTTP; streams are server-sent events. A credential travels as `Authorization: Bearer …`. A worker
states `{PROTOCOL_HEADER}`; its calls ignore fields that they do not know, every other call refuses them.
`{CLAIM_HEADER}` carries the token of a claim. Answers carry `{EPOCH_HEADER}` and `{POSITION_HEADER}`.
The forms of requests and answers are in the OpenAPI description that a server gives away.

Who may call: a role (`read`, `submit`, `worker`, `admin`), `session` for the worker that the path names, or
`open` for everybody.

Every call may be answered with `busy` or `unavailable`, one that needs a credential with `unauthenticated` or
`forbidden`, one with a body with `malformed` or `too_large`, and one with anything to check with `invalid`.
The table lists what may come besides.
"""


def form_name(form: object) -> str:
    """Name a form as code, or nothing when there is none."""
    if form is None:
        return ""
    return (
        f"`{re.sub(r'[a-z_.]+[.](?=[A-Z])', '', str(form))}`"
        if get_args(form)
        else f"`{getattr(form, '__name__', form)}`"
    )


def call(endpoint: Endpoint) -> tuple[str, ...]:
    """Describe one call in a row."""
    sent = endpoint.request or endpoint.query
    answer = "a stream" if endpoint.stream else form_name(endpoint.answer)
    problems = ", ".join(f"`{code}`" for code in endpoint.problems)
    line = f"`{endpoint.method} {endpoint.path}`"
    return line, endpoint.access, endpoint.says, form_name(sent), f"{endpoint.status} {answer}", problems


def documented_limits() -> Iterator[tuple[str, str, str]]:
    """Read the limits with the sentence below each, from the module that sets them."""
    for node, below in pairwise(ast.parse(inspect.getsource(limits)).body):
        match node, below:
            case ast.Assign(targets=targets), ast.Expr(value=ast.Constant(value=str(says))):
                names = [ast.unparse(target) for target in targets]
                value = f"{getattr(limits, names[0]):,}"
                yield ", ".join(f"`{name}`" for name in names), value, says.removeprefix("Bound: ")
            case _:
                continue


def page() -> str:
    """Make the page."""
    calls = table(("call", "who", "does", "sends", "answer", "problems"), map(call, ENDPOINTS))
    problems = table(("code", "status"), [(f"`{code}`", str(status)) for code, status in STATUS.items()])
    bounds = table(("limit", "value", "of"), documented_limits())
    told = f"Problems are `{PROBLEM_TYPE}` documents; docs/errors.md says what each asks of you."
    return f"{INTRO}\n## Calls\n\n{calls}\n## Problems\n\n{told}\n\n{problems}\n## Limits\n\n{bounds}"
