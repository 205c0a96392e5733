"""The server process: SQLite store, application service, HTTP shell, log."""

import asyncio
import sys
from collections.abc import Callable

import anyio

from tenure.core.errors import StoreUnavailable
from tenure.server.app import create_app
from tenure.server.run import HttpServer, Listening
from tenure.service.plane import ControlPlaneService
from tenure.settings import ServerSettings
from tenure.stores.sqlite.control.store import SqliteControlStore, open_control_store
from tenure.stores.sqlite.owner import served_by_one
from tenure.system.clock import SystemClock
from tenure.system.descriptors import allow_descriptors
from tenure.system.faults import faults_of
from tenure.system.ids import SystemIds
from tenure.telemetry.libraries import libraries_told
from tenure.telemetry.log import LogObserver
from tenure.wiring.credential import admin_token, write_file
from tenure.wiring.running import run_process
from tenure.wiring.warnings import teller

Ready = Callable[[str], None]


def run_server(settings: ServerSettings, ready: Ready) -> None:
    """Serve until a signal comes; `ready` is told the address once calls are answered.

    Raises:
        InvalidConfig: The store or the address cannot be used as it is set.
        StoreUnavailable: The store cannot be read, or takes no more writes; a new start reads what is in it.
    """
    allow_descriptors()
    clock, ids = SystemClock(), SystemIds()
    with (
        LogObserver(sys.stderr, clock.wall, clock.boot, json=settings.json, color=settings.color) as log,
        libraries_told(log.tell),
        served_by_one(settings.store_path),
        open_control_store(settings.store_path, clock, ids, warn=teller(log)) as store,
    ):
        service = ControlPlaneService(store, ids, clock, log, faults_of("server", settings.faults))
        token = admin_token(settings, ids)
        run_process(lambda: _serve(settings, store, service, token, ready), log)


async def _serve(
    settings: ServerSettings,
    store: SqliteControlStore,
    service: ControlPlaneService,
    token: str,
    ready: Ready,
) -> None:
    """Serve until told to leave, or until the store takes no more writes."""

    def answering(url: str) -> None:
        # Before anybody is told: whoever waits for the word finds the address in its place.
        write_file(settings.url_path, url + "\n")
        ready(url)

    server = HttpServer(
        create_app(service),
        Listening(settings.host, settings.port),
        on_ready=answering,
        on_exit=service.shutdown,
    )
    async with anyio.create_task_group() as group, service.running():
        await service.ensure_admin(token)
        group.start_soon(_until_failed, store)
        await server.run_until_told()
        group.cancel_scope.cancel()


async def _until_failed(store: SqliteControlStore) -> None:
    """Raise once the store takes no more writes: what it would say from then on may not be true (D28)."""
    error = await asyncio.shield(asyncio.wrap_future(store.failed))
    if error is not None:
        raise StoreUnavailable(f"the store takes no more writes: {error}; start again, which reads the file")
