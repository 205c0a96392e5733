"""The web application: one route for each line of the endpoint table."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from tenure.core.errors import InvariantBroken, MethodNotAllowed, NotFound
from tenure.server.api import claims, reports, service, tasks, workers
from tenure.server.call import Handler
from tenure.server.frame import AnswerApp, Frame
from tenure.server.limits import Doors
from tenure.server.streams import STREAMS, StreamApp
from tenure.service.plane import ControlPlaneService
from tenure.wire.codec import encode
from tenure.wire.endpoints import ENDPOINTS, Endpoint
from tenure.wire.problems import INTERNAL, PROBLEM_TYPE, Problem, to_problem

HANDLERS: Final[dict[str, Handler]] = {
    **tasks.HANDLERS,
    **claims.HANDLERS,
    **workers.HANDLERS,
    **reports.HANDLERS,
    **service.HANDLERS,
}


def create_app(plane: ControlPlaneService, doors: Doors | None = None) -> Starlette:
    """Return the application that answers every endpoint of the table over the service."""
    frame = Frame(plane, doors or Doors())
    app = Starlette(
        routes=[_route(frame, endpoint) for endpoint in ENDPOINTS],
        exception_handlers={HTTPException: _not_routed, Exception: _bug},
    )
    app.router.redirect_slashes = False
    return app


def _route(frame: Frame, endpoint: Endpoint) -> Route:
    if endpoint.stream:
        app = StreamApp(frame, endpoint, STREAMS[endpoint.name])
    else:
        app = AnswerApp(frame, endpoint, HANDLERS[endpoint.name])
    route = Route(endpoint.path, app, methods=[endpoint.method], name=endpoint.name)
    if endpoint.stream and route.methods is not None:
        route.methods.discard("HEAD")  # A stream without its events would be open for nothing
    return route


def _not_routed(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise InvariantBroken("the router raised what it never raises") from error
    if error.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
        return _problem(to_problem(NotFound("there is nothing at this address")), None)
    methods = {
        method
        for route in request.app.routes
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE
        for method in route.methods or ()
    }
    refused = MethodNotAllowed(f"this address takes {' and '.join(sorted(methods))}")
    return _problem(to_problem(refused), {"allow": ", ".join(sorted(methods))})


def _bug(_request: Request, _error: Exception) -> Response:
    return _problem(INTERNAL, None)


def _problem(problem: Problem, headers: Mapping[str, str] | None) -> Response:
    return Response(encode(problem), problem.status, headers, media_type=PROBLEM_TYPE)
