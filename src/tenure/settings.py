"""Settings: one frozen struct per process kind, made from flags and the environment; errors name the key.

A flag wins over the environment. A server leaves two private files beside its store, `tenure.db.url` and
`tenure.db.token`; a command line in that folder uses them, as a pair and only when neither `TENURE_URL` nor
`TENURE_TOKEN` says anything. So no credential ever goes to an address that it was not meant for.
"""

import math
import os
import re
import socket
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Literal, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from tenure.core.errors import Invalid, InvalidConfig
from tenure.core.ids import check_id

DEFAULT_STORE: Final = "sqlite:///tenure.db"
DEFAULT_STORE_PATH: Final = Path("tenure.db")
DEFAULT_LISTEN: Final = "127.0.0.1:7411"
DEFAULT_URL: Final = f"http://{DEFAULT_LISTEN}"
LABELS_MAX: Final = 64
LABEL_LENGTH_MAX: Final = 256
SLOTS_MAX: Final = 1_000  # Bound: each slot may be a process of its own
GRACE_S_MAX: Final = 86_400.0
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")

KEYS: Final[dict[str, str]] = {
    "TENURE_URL": "where the control plane is; `--url` wins over it",
    "TENURE_TOKEN": "the credential that command lines, clients and workers show",
    "TENURE_STATE": "a worker's state folder; `--state` wins over it",
    "TENURE_ADMIN_TOKEN": "what a server makes an admin's credential instead of generating one",
    "TENURE_FAULTS": "the socket of a test's gate at the fault points; nothing happens there without it",
    "NO_COLOR": "set to anything: no colours",
    "TERM": "`dumb`: no colours",
}

Environment = Mapping[str, str]
_N = TypeVar("_N", int, float)
OnStop = Literal["wait", "cancel"]


class ClientSettings(Struct, frozen=True):
    """Where the control plane is, and the credential to show it; without one, None."""

    url: str
    token: str | None


class ServerSettings(Struct, frozen=True):
    """What `tenure server` needs: its store, its address, and where the first credential goes."""

    store_path: Path
    host: str
    port: int
    token_path: Path
    url_path: Path
    admin_token: str | None
    faults: str | None
    insecure: bool = False
    json: bool = False
    color: bool = False


class WorkerFlags(Struct, frozen=True):
    """What was said to `tenure worker`, not checked yet."""

    app: str
    url: str | None = None
    state: str | None = None
    worker_id: str | None = None
    labels: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    slots: int | None = None
    on_stop: str = "wait"
    grace_s: float = 30.0
    json: bool = False
    color: bool = False


class WorkerSettings(Struct, frozen=True):
    """What `tenure worker` needs: its capabilities, its control plane, its state folder and its size.

    Without `slots` it has as many as there are processors for it; without `grace_s` a stop waits for as long
    as it takes.
    """

    app: str
    client: ClientSettings
    state: Path
    worker_id: str
    labels: dict[str, str]
    resources: dict[str, float]
    queues: list[str]
    slots: int | None
    on_stop: OnStop
    grace_s: float | None
    faults: str | None
    json: bool = False
    color: bool = False


def process_environment() -> Environment:
    """Return the environment that this process was given."""
    return dict(os.environ)


def client_settings(environment: Environment, url: str | None = None) -> ClientSettings:
    """Find the control plane: the flag, `TENURE_URL`, a server of this folder, else the default address."""
    said = url or environment.get("TENURE_URL")
    token = _token("TENURE_TOKEN", environment.get("TENURE_TOKEN"))
    found_url, found_token = _found_here()
    if found_url is not None and token is None and said in (None, found_url):
        return ClientSettings(
            _address(str(beside(DEFAULT_STORE_PATH, "url")), found_url),
            _token(str(beside(DEFAULT_STORE_PATH, "token")), found_token),
        )
    return ClientSettings(_address("--url" if url else "TENURE_URL", said or DEFAULT_URL), token)


def server_settings(
    environment: Environment,
    *,
    store: str = DEFAULT_STORE,
    listen: str = DEFAULT_LISTEN,
    token_file: str | None = None,
    insecure: bool = False,
    json: bool = False,
    color: bool = False,
) -> ServerSettings:
    """Check what the server was told; beyond this machine without encryption needs the word for it."""
    store_path = _store_path(store)
    host, port = _host_and_port(listen)
    if not _is_loopback(host) and not insecure:
        raise InvalidConfig(
            f"{listen!r} is reachable from other machines and this server speaks no TLS; listen on 127.0.0.1 "
            "behind a proxy that does, or say --insecure",
            path="--listen",
        )
    return ServerSettings(
        store_path=store_path,
        host=host,
        port=port,
        token_path=Path(token_file) if token_file else beside(store_path, "token"),
        url_path=beside(store_path, "url"),
        admin_token=_admin_token(environment.get("TENURE_ADMIN_TOKEN")),
        faults=environment.get("TENURE_FAULTS") or None,
        insecure=insecure,
        json=json,
        color=color,
    )


def worker_settings(environment: Environment, flags: WorkerFlags) -> WorkerSettings:
    """Check what the worker was told, and name it after its machine and its application by default."""
    _check_app(flags.app)
    worker_id = _setting_id("--id", flags.worker_id or _default_worker_id(flags.app))
    state = flags.state or environment.get("TENURE_STATE")
    slots = None if flags.slots is None else _within("--slots", flags.slots, 1, SLOTS_MAX)
    return WorkerSettings(
        app=flags.app,
        client=client_settings(environment, flags.url),
        state=Path(state) if state else Path(".tenure") / worker_id,
        worker_id=worker_id,
        labels=read_labels("--label", flags.labels),
        resources=_resources("--resource", flags.resources),
        queues=[_setting_id("--queue", queue) for queue in flags.queues] or ["default"],
        slots=slots,
        on_stop=_on_stop(flags.on_stop),
        grace_s=None if flags.grace_s == math.inf else _within("--grace", flags.grace_s, 0.0, GRACE_S_MAX),
        faults=environment.get("TENURE_FAULTS") or None,
        json=flags.json,
        color=flags.color,
    )


def wants_color(environment: Environment, *, is_terminal: bool) -> bool:
    """Say whether output may be coloured: only on a terminal that can, and never with `NO_COLOR` set."""
    return is_terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def beside(store_path: Path, what: str) -> Path:
    """Name a file that belongs to a store: `tenure.db` has `tenure.db.token` and `tenure.db.url`."""
    return store_path.with_name(f"{store_path.name}.{what}")


def read_labels(key: str, pairs: Iterable[str]) -> dict[str, str]:
    """Read K=V pairs, or raise `InvalidConfig` that names the one at fault."""
    labels: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name or max(len(name), len(value)) > LABEL_LENGTH_MAX:
            raise InvalidConfig(
                f"{pair!r} is no label; write K=V, each at most {LABEL_LENGTH_MAX} characters", path=key
            )
        if labels.get(name, value) != value:
            raise InvalidConfig(f"{name!r} is given twice, as {labels[name]!r} and {value!r}", path=key)
        labels[name] = value
    if len(labels) > LABELS_MAX:
        raise InvalidConfig(f"{len(labels)} labels are too many; use at most {LABELS_MAX}", path=key)
    return labels


def _resources(key: str, pairs: Iterable[str]) -> dict[str, float]:
    """Read NAME=AMOUNT pairs, or raise `InvalidConfig` that names the one at fault."""
    resources: dict[str, float] = {}
    for name, text in read_labels(key, pairs).items():
        try:
            amount = float(text)
        except ValueError:
            amount = -1.0
        if not 0 <= amount < float("inf"):
            raise InvalidConfig(f"'{name}={text}' is no amount; write NAME=NUMBER, as in gpu=2", path=key)
        resources[name] = amount
    return resources


def _setting_id(key: str, value: str) -> str:
    """Return the id unchanged, or raise `InvalidConfig` that names the setting."""
    try:
        return check_id(key, value)
    except Invalid as error:
        raise InvalidConfig(error.fault, path=key) from error


def _found_here() -> tuple[str | None, str | None]:
    """Return the address and the credential that a server left beside `./tenure.db`."""
    url, token = (_first_line(beside(DEFAULT_STORE_PATH, what)) for what in ("url", "token"))
    return url, token


def _first_line(path: Path) -> str | None:
    """Return a small file's first line; not there or not ours to read is no address and no credential."""
    try:
        with path.open(encoding="utf-8") as file:
            return file.readline(4096).strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _address(key: str, url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    else:
        if parts.username or parts.password:
            raise InvalidConfig("a credential has no place in an address; set TENURE_TOKEN", path=key)
        if parts.query or parts.fragment:
            usable = False
    if not usable:
        raise InvalidConfig(f"{url!r} is no control plane; write http://HOST:PORT or https://HOST", path=key)
    return url.rstrip("/")


def _token(key: str, token: str | None) -> str | None:
    """Return the credential, or None for none; what no header can carry is refused without showing it."""
    if not token:
        return None
    if _TOKEN.fullmatch(token) is None:
        raise InvalidConfig("the credential has spaces or characters that no header can carry", path=key)
    return token


def _admin_token(token: str | None) -> str | None:
    if token is not None and token.startswith("tnr_s_"):
        raise InvalidConfig(
            "what begins with tnr_s_ is a worker's session; choose another", path="TENURE_ADMIN_TOKEN"
        )
    return _token("TENURE_ADMIN_TOKEN", token)


def _store_path(store: str) -> Path:
    """Return the file of `sqlite:///relative.db` or `sqlite:////absolute.db`."""
    prefix = "sqlite:///"
    if store.startswith(("postgresql:", "postgres:")):
        raise InvalidConfig("this version keeps its store in SQLite; write sqlite:///PATH", path="--store")
    path = store.removeprefix(prefix)
    if not store.startswith(prefix) or not path or path.endswith("/") or "\0" in path or "?" in path:
        raise InvalidConfig(f"{store!r} is no store; write sqlite:///PATH", path="--store")
    return Path(path)


def _host_and_port(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise InvalidConfig(
            f"{listen!r} is no address; write HOST:PORT, as in {DEFAULT_LISTEN}; port 0 is any free one",
            path="--listen",
        )
    return host, int(port)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _check_app(app: str) -> None:
    module, colon, name = app.partition(":")
    named = colon and name.isidentifier() and all(part.isidentifier() for part in module.split("."))
    if not named:
        raise InvalidConfig(
            f"{app!r} names no application; write MODULE:APP, for example media:app", path="--app"
        )


def _default_worker_id(app: str) -> str:
    """Make `HOST-MODULE` of this machine and its application, in an id's characters."""
    raw = f"{socket.gethostname().split('.')[0]}-{app.partition(':')[0]}"
    return re.sub(r"[^A-Za-z0-9._:-]+", "-", raw).lstrip("-._:")[:128] or "worker"


def _on_stop(word: str) -> OnStop:
    match word:
        case "wait" | "cancel":
            return word
        case "detach":
            raise InvalidConfig(
                "detach is for programs, which this version does not run; use wait or cancel",
                path="--on-stop",
            )
        case _:
            raise InvalidConfig(f"{word!r} is not known; use wait or cancel", path="--on-stop")


def _within(key: str, value: _N, least: _N, most: _N) -> _N:
    if not least <= value <= most:
        raise InvalidConfig(f"{value:g} is out of range; use {least:g} to {most:g}", path=key)
    return value
