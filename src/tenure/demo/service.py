"""A small remote job service in a process of its own: a render farm and a bank, over HTTP on loopback.

    python -m tenure.demo.service --journal FILE [--job-s 2] [--misbehave lose:create:1]...

When it listens it prints one JSON line with its address. The farm creates at most one job for an
idempotency key and can be searched by it; the bank charges whenever it is asked and cannot be looked up.
Whatever took effect is in the journal before it is answered. `POST /admin/misbehave` plans a lost or late
reply while it runs.
"""

import argparse
import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypedDict, cast

import anyio
import anyio.to_thread
import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tenure.demo.misbehaviour import Misbehaviour, Misconduct
from tenure.demo.remote import KeyReused, Remote

Answer = tuple[int, object]
"""Status and body."""


class SceneOrder(msgspec.Struct, forbid_unknown_fields=True):
    """Body of `POST /jobs`."""

    scene: str


class Charge(msgspec.Struct, forbid_unknown_fields=True):
    """Body of `POST /charges`."""

    order: str
    cents: int


class Plan(msgspec.Struct, forbid_unknown_fields=True):
    """Body of `POST /admin/misbehave`, in the words of the command line."""

    plan: str


class RemoteService:
    """The HTTP face of one `Remote`, and the one who spoils its replies."""

    def __init__(self, remote: Remote) -> None:
        """Serve this remote; nothing listens before `serve`."""
        self._remote = remote
        self.misconduct = Misconduct()
        self._server = uvicorn.Server(
            uvicorn.Config(self._app(), lifespan="off", log_level="warning", timeout_graceful_shutdown=1)
        )

    async def serve(self, listener: socket.socket) -> None:
        """Answer until SIGTERM or SIGINT."""
        await self._server.serve(sockets=[listener])

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/jobs", self._spoiled("create", self._create), methods=["POST"]),
                Route("/jobs", self._spoiled("search", self._search), methods=["GET"]),
                Route("/jobs/{id}", self._spoiled("status", self._status), methods=["GET"]),
                Route("/jobs/{id}/cancel", self._spoiled("cancel", self._cancel), methods=["POST"]),
                Route("/charges", self._spoiled("charge", self._charge), methods=["POST"]),
                Route("/admin/misbehave", self._misbehave, methods=["POST"]),
                Route("/admin/journal", self._journal, methods=["GET"]),
            ]
        )

    def _spoiled(
        self, operation: str, handle: Callable[[Request], Awaitable[Answer]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Wrap a handler so that its reply, not its effect, can go wrong."""

        async def endpoint(request: Request) -> Response:
            try:
                status, body = await handle(request)
            except msgspec.MsgspecError as refused:
                return JSONResponse({"detail": str(refused)}, 422)
            spoil = self.misconduct.next_of(operation)
            if spoil is not None and spoil.lose:
                self._remote.note("reply_lost", operation=operation, about=_about(body))
                self._drop(request)
            elif spoil is not None:
                self._remote.note(
                    "reply_delayed", operation=operation, about=_about(body), delay_s=spoil.delay_s
                )
                await anyio.sleep(spoil.delay_s)
            return JSONResponse(body, status)

        return endpoint

    def _drop(self, request: Request) -> None:
        """Cut the caller's connection, so that no byte of the reply arrives."""
        for connection in list(self._server.server_state.connections):
            transport = connection.transport
            if transport.get_extra_info("peername") == request.scope["client"]:
                transport.abort()

    async def _create(self, request: Request) -> Answer:
        order = msgspec.json.decode(await request.body(), type=SceneOrder)
        key = request.headers.get("idempotency-key")
        try:
            job, created = await anyio.to_thread.run_sync(self._remote.create_job, order.scene, key)
        except KeyReused as reused:
            return 422, {"detail": str(reused)}
        return (201 if created else 200), job

    async def _search(self, request: Request) -> Answer:
        key = request.query_params.get("idempotency_key")
        if key is None:
            return 422, {"detail": "search needs ?idempotency_key="}
        return 200, {"jobs": self._remote.search(key)}

    async def _status(self, request: Request) -> Answer:
        return _found(self._remote.job(request.path_params["id"]))

    async def _cancel(self, request: Request) -> Answer:
        return _found(await anyio.to_thread.run_sync(self._remote.cancel, request.path_params["id"]))

    async def _charge(self, request: Request) -> Answer:
        charge = msgspec.json.decode(await request.body(), type=Charge)
        return 201, await anyio.to_thread.run_sync(self._remote.charge, charge.order, charge.cents)

    async def _misbehave(self, request: Request) -> Response:
        try:
            plan = msgspec.json.decode(await request.body(), type=Plan)
            self.misconduct.plan(Misbehaviour.parse(plan.plan))
        except (msgspec.MsgspecError, ValueError) as refused:
            return JSONResponse({"detail": str(refused)}, 422)
        return JSONResponse({"planned": plan.plan})

    async def _journal(self, _request: Request) -> Response:
        return JSONResponse({"records": self._remote.records()})


def _about(body: object) -> object:
    """Return the id of what a reply tells of, if it tells of one thing."""
    return cast("dict[str, object]", body).get("id") if isinstance(body, dict) else None


def _found(job: object | None) -> Answer:
    """Answer with the job, or say that there is none."""
    return (200, job) if job is not None else (404, {"detail": "no such job"})


class Arguments(TypedDict):
    """The command line, parsed."""

    journal: Path
    port: int
    job_s: float
    dedupe: bool
    misbehave: list[Misbehaviour]


def _arguments(argv: Sequence[str]) -> Arguments:
    parser = argparse.ArgumentParser(prog="tenure.demo.service", description="A small remote job service.")
    parser.add_argument("--journal", type=Path, required=True, help="file of what took effect")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    parser.add_argument("--job-s", type=float, default=2.0, help="seconds that a job renders")
    parser.add_argument(
        "--dedupe",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="honour idempotency keys, or take them as labels only",
    )
    parser.add_argument(
        "--misbehave",
        type=Misbehaviour.parse,
        action="append",
        default=[],
        metavar="PLAN",
        help="lose:OPERATION:NTH or delay:OPERATION:NTH:SECONDS",
    )
    return cast("Arguments", cast("object", vars(parser.parse_args(argv))))


def main(argv: Sequence[str] | None = None) -> None:
    """Listen, say where, and serve until told to stop."""
    arguments = _arguments(sys.argv[1:] if argv is None else argv)
    remote = Remote(arguments["journal"], job_s=arguments["job_s"], dedupe=arguments["dedupe"])
    service = RemoteService(remote)
    for misbehaviour in arguments["misbehave"]:
        service.misconduct.plan(misbehaviour)
    # The socket listens before the address is told, so nobody who was told can come too early.
    with contextlib.closing(remote), socket.create_server(("127.0.0.1", arguments["port"])) as listener:
        port: int = listener.getsockname()[1]
        sys.stdout.write(json.dumps({"service": "render", "url": f"http://127.0.0.1:{port}"}) + "\n")
        sys.stdout.flush()
        asyncio.run(service.serve(listener))


if __name__ == "__main__":
    main()
