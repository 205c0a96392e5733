"""A real server on a real SQLite file, on a thread and a loop of its own, with a credential of each role."""

import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx2
import msgspec
from msgspec import Struct

from tenure.core.capability import Capability, Recovery
from tenure.core.registration import RegisterRequest, Registration
from tenure.core.task import TaskSpec
from tenure.ports.store import Transaction
from tenure.server.app import create_app
from tenure.server.limits import Doors
from tenure.server.run import HttpServer, Listening
from tenure.service.plane import ControlPlaneService
from tenure.stores.sqlite.control.store import SqliteControlStore, open_control_store
from tenure.system.clock import SystemClock
from tenure.system.faults import NoFaults
from tenure.system.ids import SystemIds
from tenure.wire.endpoints import BY_NAME
from tenure.wire.service import TokenAnswer

BOUND_S = 20.0
ADMIN = "tnr_k_admin-of-the-tests-0123456789"
T = TypeVar("T")


class Silent:
    """An observer that hears everything and says nothing."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, object]]] = []

    def tell(self, name: str, **fields: object) -> None:
        self.heard.append((name, fields))


class Worker(Struct, frozen=True):
    """A registered worker and its session's token."""

    worker_id: str
    session: str
    registration: Registration


class Served:
    """The server as tests see it: its address, its credentials, and the store behind it."""

    def __init__(self, server: HttpServer, store: SqliteControlStore) -> None:
        self.server = server
        self.store = store
        self.url = server.url
        self.tokens: dict[str, str] = {"admin": ADMIN}
        self.http = httpx2.Client(base_url=self.url, trust_env=False, timeout=BOUND_S)

    def ask(self, method: str, path: str, token: str | None = ADMIN, **more: Any) -> httpx2.Response:
        headers = dict(more.pop("headers", {}))
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        return self.http.request(method, path, headers=headers, **more)

    def post(self, path: str, body: object, token: str | None = ADMIN, **headers: str) -> httpx2.Response:
        raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
        return self.ask(
            "POST", path, token, content=raw, headers={"content-type": "application/json", **headers}
        )

    def submit(self, *specs: TaskSpec) -> list[str]:
        answer = self.post("/v1/tasks", {"tasks": list(specs)})
        assert answer.status_code == 201, answer.text
        return [task["id"] for task in answer.json()["tasks"]]

    def register(self, worker_id: str = "w1", room: int = 0, capability: str = "add") -> Worker:
        request = RegisterRequest(
            worker_id=worker_id,
            instance_id=f"instance-of-{worker_id}",
            ttl_s=30,
            capabilities=[Capability(capability, "1", Recovery.RECOMPUTE)],
            slots=8,
            room=room,
        )
        answer = self.post("/v1/workers", request, self.token("worker"))
        assert answer.status_code == 201, answer.text
        registration = msgspec.json.decode(answer.content, type=Registration)
        return Worker(worker_id, registration.token, registration)

    def token(self, role: str, queues: list[str] | None = None) -> str:
        """Return a credential of a role, made when it is first asked for."""
        name = role if queues is None else f"{role}-{'-'.join(queues)}"
        if name not in self.tokens:
            asked = {"role": role, "name": name} | ({} if queues is None else {"queues": queues})
            answer = self.post(BY_NAME["create_token"].path, asked)
            assert answer.status_code == 201, answer.text
            self.tokens[name] = msgspec.json.decode(answer.content, type=TokenAnswer).token
        return self.tokens[name]

    def read(self, query: Callable[[Transaction], T]) -> T:
        return self.store.read(query).result(BOUND_S)

    def kept(self) -> int:
        """Return how much the store has recorded: facts, tasks, workers, verdicts and credentials."""

        def count(tx: Transaction) -> int:
            return (
                tx.facts.position()
                + sum(tx.upkeep.counts().values())
                + len(tx.registry.latest(None))
                + len(tx.credentials.all())
            )

        return self.read(count)


@contextmanager
def serving(folder: Path, doors: Doors | None = None) -> Generator[Served]:
    """Serve a new store in a folder until the context closes."""
    with open_control_store(folder / "tenure.db", SystemClock(), SystemIds()) as store:
        service = ControlPlaneService(store, SystemIds(), SystemClock(), Silent(), NoFaults())
        ready: Future[None] = Future()
        server = HttpServer(
            create_app(service, doors),
            Listening(port=0),
            on_ready=lambda _url: ready.set_result(None),
            on_exit=service.shutdown,
        )

        async def main() -> None:
            async with service.running():
                await service.ensure_admin(ADMIN)
                await server.run_until_told()

        def run() -> None:
            try:
                anyio.run(main)
            except BaseException as error:
                if not ready.done():
                    ready.set_exception(error)
                raise

        thread = threading.Thread(target=run, name="server")
        thread.start()
        try:
            ready.result(BOUND_S)
            served = Served(server, store)
            yield served
            served.http.close()
        finally:
            server.stop()
            thread.join(BOUND_S)
            assert not thread.is_alive(), "the server did not leave"
