"""Settings from flags and the environment; every error names the key at fault."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tenure import settings as settings_module
from tenure.core.errors import InvalidConfig
from tenure.settings import (
    KEYS,
    ClientSettings,
    WorkerFlags,
    client_settings,
    server_settings,
    wants_color,
    worker_settings,
)

FOUND_URL = "http://127.0.0.1:51234"


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server_was_here(tmp_path: Path) -> None:
    (tmp_path / "tenure.db.url").write_text(FOUND_URL + "\n")
    (tmp_path / "tenure.db.token").write_text("tnr_found\n")


def test_the_default_is_the_default_port_without_a_credential() -> None:
    assert client_settings({}) == ClientSettings("http://127.0.0.1:7411", None)


def test_the_environment_says_where_the_control_plane_is() -> None:
    environment = {"TENURE_URL": "https://tenure.example/", "TENURE_TOKEN": "tnr_x"}
    assert client_settings(environment) == ClientSettings("https://tenure.example", "tnr_x")


def test_a_flag_wins_over_the_environment() -> None:
    environment = {"TENURE_URL": "http://a", "TENURE_TOKEN": "tnr_x"}
    assert client_settings(environment, "http://b").url == "http://b"


@pytest.mark.usefixtures("server_was_here")
def test_the_server_of_the_current_folder_is_found() -> None:
    assert client_settings({}) == ClientSettings(FOUND_URL, "tnr_found")


@pytest.mark.usefixtures("server_was_here")
def test_a_found_token_goes_to_no_other_address() -> None:
    assert client_settings({"TENURE_URL": "http://elsewhere"}).token is None
    assert client_settings({}, "http://elsewhere").token is None


@pytest.mark.usefixtures("server_was_here")
def test_a_token_of_the_environment_goes_to_no_found_address() -> None:
    assert client_settings({"TENURE_TOKEN": "tnr_mine"}) == ClientSettings(
        "http://127.0.0.1:7411", "tnr_mine"
    )


@pytest.mark.usefixtures("server_was_here")
def test_naming_the_found_address_still_finds_its_token() -> None:
    assert client_settings({"TENURE_URL": FOUND_URL}).token == "tnr_found"


def test_files_that_cannot_be_read_are_no_server(tmp_path: Path) -> None:
    (tmp_path / "tenure.db.url").mkdir()
    (tmp_path / "tenure.db.token").write_bytes(b"\xff\xfe\n")
    assert client_settings({}) == ClientSettings("http://127.0.0.1:7411", None)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "tenure",
        "ftp://a",
        "http://",
        "http://a:b",
        "http://a:99999",
        "http://a?b=c",
        "http://a#b",
        "http://[a",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    if not url:
        assert client_settings({"TENURE_URL": url}).url == "http://127.0.0.1:7411"
        return
    with pytest.raises(InvalidConfig, match=r"TENURE_URL: .* is no control plane"):
        client_settings({"TENURE_URL": url})


def test_a_credential_in_an_address_is_refused_without_being_shown() -> None:
    with pytest.raises(InvalidConfig) as refused:
        client_settings({}, "http://me:hidden@a")
    assert refused.value.path == "--url"
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "ümlaut"])
def test_a_token_that_no_header_can_carry_is_refused_without_being_shown(token: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        client_settings({"TENURE_TOKEN": token})
    assert refused.value.path == "TENURE_TOKEN"
    assert token not in str(refused.value)


def test_the_server_has_defaults() -> None:
    settings = server_settings({})
    assert settings.store_path == Path("tenure.db")
    assert (settings.host, settings.port) == ("127.0.0.1", 7411)
    assert (settings.token_path, settings.url_path) == (Path("tenure.db.token"), Path("tenure.db.url"))
    assert settings.admin_token is None
    assert settings.faults is None


def test_the_server_reads_its_environment() -> None:
    settings = server_settings({"TENURE_ADMIN_TOKEN": "tnr_a", "TENURE_FAULTS": "gate"})
    assert (settings.admin_token, settings.faults) == ("tnr_a", "gate")


@pytest.mark.parametrize(
    ("store", "path"),
    [
        ("sqlite:///a/b.db", "a/b.db"),
        ("sqlite:////a/b.db", "/a/b.db"),
        ("sqlite:///with space.db", "with space.db"),
    ],
)
def test_a_store_is_a_path(store: str, path: str) -> None:
    settings = server_settings({}, store=store)
    assert settings.store_path == Path(path)
    assert settings.token_path == Path(path + ".token")


@pytest.mark.parametrize(
    "store", ["", "tenure.db", "sqlite://", "sqlite:///", "sqlite:///a/", "sqlite:///a?mode=ro"]
)
def test_what_is_no_store_is_refused(store: str) -> None:
    with pytest.raises(InvalidConfig, match="--store: "):
        server_settings({}, store=store)


def test_postgresql_is_refused_with_a_sentence() -> None:
    with pytest.raises(InvalidConfig, match="--store: this version keeps its store in SQLite"):
        server_settings({}, store="postgresql://db")


@pytest.mark.parametrize(
    ("listen", "host", "port"),
    [("127.0.0.1:0", "127.0.0.1", 0), ("localhost:80", "localhost", 80), ("[::1]:7411", "::1", 7411)],
)
def test_an_address_to_listen_on(listen: str, host: str, port: int) -> None:
    settings = server_settings({}, listen=listen)
    assert (settings.host, settings.port) == (host, port)


@pytest.mark.parametrize(
    "listen", ["", "7411", ":7411", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536"]
)
def test_what_is_no_address_to_listen_on_is_refused(listen: str) -> None:
    with pytest.raises(InvalidConfig, match=r"--listen: .* is no address"):
        server_settings({}, listen=listen)


@pytest.mark.parametrize("listen", ["0.0.0.0:7411", "[::]:7411", "192.0.2.1:1", "myhost:1"])
def test_listening_beyond_this_machine_needs_the_word(listen: str) -> None:
    with pytest.raises(InvalidConfig, match=r"--listen: .*--insecure"):
        server_settings({}, listen=listen)
    assert server_settings({}, listen=listen, insecure=True).insecure


def test_the_worker_has_defaults() -> None:
    settings = worker_settings({}, WorkerFlags("media:app"))
    assert settings.worker_id.endswith("-media")
    assert settings.state == Path(".tenure") / settings.worker_id
    assert settings.queues == ["default"]
    assert settings.slots is None
    assert settings.on_stop == "wait"


def test_the_worker_reads_flags_and_environment() -> None:
    flags = WorkerFlags(
        "a.b:c",
        worker_id="w1",
        labels=("gpu=1", "zone=eu=1"),
        queues=("fast",),
        resources=("gpu=2",),
        slots=3,
        on_stop="cancel",
        grace_s=0,
    )
    settings = worker_settings({"TENURE_STATE": "there", "TENURE_FAULTS": "gate"}, flags)
    assert settings.state == Path("there")
    assert settings.labels == {"gpu": "1", "zone": "eu=1"}
    assert (settings.queues, settings.slots, settings.on_stop, settings.grace_s) == (["fast"], 3, "cancel", 0)
    assert settings.faults == "gate"
    assert settings.resources == {"gpu": 2.0}
    with_flag = WorkerFlags("a:b", state="here")
    assert worker_settings({"TENURE_STATE": "there"}, with_flag).state == Path("here")


@pytest.mark.parametrize(
    ("key", "flags"),
    [
        ("--app", WorkerFlags("media")),
        ("--app", WorkerFlags("media:")),
        ("--app", WorkerFlags(":app")),
        ("--app", WorkerFlags("media/app.py:app")),
        ("--app", WorkerFlags("media:app()")),
        ("--id", WorkerFlags("a:b", worker_id="two words")),
        ("--id", WorkerFlags("a:b", worker_id="x" * 129)),
        ("--label", WorkerFlags("a:b", labels=("gpu",))),
        ("--label", WorkerFlags("a:b", labels=("=1",))),
        ("--label", WorkerFlags("a:b", labels=("gpu=1", "gpu=2"))),
        ("--label", WorkerFlags("a:b", labels=("gpu=" + "x" * 257,))),
        ("--label", WorkerFlags("a:b", labels=tuple(f"l{n}=1" for n in range(65)))),
        ("--queue", WorkerFlags("a:b", queues=("a b",))),
        ("--resource", WorkerFlags("a:b", resources=("gpu",))),
        ("--resource", WorkerFlags("a:b", resources=("gpu=many",))),
        ("--resource", WorkerFlags("a:b", resources=("gpu=-1",))),
        ("--resource", WorkerFlags("a:b", resources=("gpu=nan",))),
        ("--slots", WorkerFlags("a:b", slots=0)),
        ("--slots", WorkerFlags("a:b", slots=1001)),
        ("--on-stop", WorkerFlags("a:b", on_stop="leave")),
        ("--on-stop", WorkerFlags("a:b", on_stop="detach")),
        ("--grace", WorkerFlags("a:b", grace_s=-1)),
        ("--grace", WorkerFlags("a:b", grace_s=float("nan"))),
    ],
)
def test_a_wrong_setting_of_the_worker_is_named(key: str, flags: WorkerFlags) -> None:
    with pytest.raises(InvalidConfig) as refused:
        worker_settings({}, flags)
    assert refused.value.path == key


def test_a_stop_may_wait_for_as_long_as_it_takes() -> None:
    assert worker_settings({}, WorkerFlags("a:b", grace_s=float("inf"))).grace_s is None


def test_detach_is_refused_with_the_reason() -> None:
    with pytest.raises(InvalidConfig, match="detach is for programs"):
        worker_settings({}, WorkerFlags("a:b", on_stop="detach"))


def test_a_host_name_of_any_form_makes_an_id(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[Callable[[], str]] = [lambda: "-Ünï code_", lambda: "", lambda: "x" * 300]
    for name in names:
        monkeypatch.setattr("socket.gethostname", name)
        assert worker_settings({}, WorkerFlags("a:b")).worker_id


def test_a_session_is_no_admins_credential() -> None:
    with pytest.raises(InvalidConfig, match="TENURE_ADMIN_TOKEN: what begins with tnr_s_"):
        server_settings({"TENURE_ADMIN_TOKEN": "tnr_s_x"})


def test_every_key_that_is_read_is_documented() -> None:
    text = Path(inspect.getfile(settings_module)).read_text(encoding="utf-8")
    assert set(re.findall(r'environment\.get\("(\w+)"\)', text)) == set(KEYS)


@pytest.mark.parametrize(
    ("environment", "is_terminal", "wanted"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    environment: dict[str, str], is_terminal: bool, wanted: bool
) -> None:
    assert wants_color(environment, is_terminal=is_terminal) is wanted
