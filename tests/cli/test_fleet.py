"""Workers and credentials from a command line, and a control plane that cannot be used."""

from collections.abc import Callable

import pytest

from tests.cli.conftest import TOKEN, Ran, Server

Tenure = Callable[..., Ran]


@pytest.fixture
def worker(server: Server) -> str:
    capability = {"name": "scale", "version": "1", "recovery": "recompute"}
    server.post(
        "/v1/workers",
        worker_id="w1",
        instance_id="i1",
        ttl_s=60,
        capabilities=[capability],
        labels={"gpu": "1"},
    )
    return "w1"


def test_workers_are_listed(tenure: Tenure, worker: str) -> None:
    row = tenure("workers").out.splitlines()[1].split()
    assert row[:2] == [worker, "alive"]
    assert {"scale/1", "gpu=1"} <= set(row)
    found = tenure("workers", "--json").document
    assert [item["worker_id"] for item in found] == [worker]


def test_drain_and_undo(tenure: Tenure, worker: str) -> None:
    """C111."""
    assert tenure("drain", worker, "--note", "upgrade").out == "w1 is drained: it takes nothing new\n"
    assert "alive, drained" in tenure("workers").out
    assert tenure("drain", worker, "--undo").out == "w1 takes work again\n"
    assert tenure("drain", worker, "--json").document["drained"] is True
    assert tenure("drain", worker, "--undo", "--json").document["drained"] is False
    assert tenure("drain", "nobody").code == 2


def test_a_credential_lives_from_create_to_revoke(tenure: Tenure, monkeypatch: pytest.MonkeyPatch) -> None:
    """C118."""
    made = tenure(
        "token", "create", "--role", "read", "--name", "viewer", "--queue", "fast", "--days", "1", "--json"
    )
    document = made.document
    with monkeypatch.context() as patch:
        patch.setenv("TENURE_TOKEN", str(document["token"]))
        assert tenure("tasks").code == 0
        refused = tenure("submit", "scale")
        assert (refused.code, refused.err.count("\n")) == (4, 1)
    assert "viewer  read" in tenure("token", "list").out
    assert document["token"] not in tenure("token", "list", "--json").out
    assert tenure("token", "revoke", str(document["id"]), "none").code == 2
    with monkeypatch.context() as patch:
        patch.setenv("TENURE_TOKEN", str(document["token"]))
        assert tenure("tasks").code == 4


def test_a_new_credential_is_printed_alone(tenure: Tenure) -> None:
    made = tenure("token", "create", "--role", "submit", "--name", "ci")
    assert made.out.startswith("tnr_")
    assert made.out.count("\n") == 1


VERBS = [
    ["tasks"],
    ["task", "t"],
    ["result", "t"],
    ["watch", "t"],
    ["watch"],
    ["cancel", "t"],
    ["retry", "t"],
    ["unknown"],
    ["reconcile", "t", "s", "--abandon"],
    ["workers"],
    ["drain", "w"],
    ["token", "list"],
]


@pytest.mark.parametrize("args", VERBS, ids=" ".join)
def test_a_control_plane_that_cannot_be_reached_is_exit_code_3(tenure: Tenure, args: list[str]) -> None:
    ran = tenure(*args, "--url", "http://127.0.0.1:9")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("tenure: http://127.0.0.1:9 cannot be reached")
    assert ran.err.splitlines()[1].startswith("hint: start one with `tenure server`")


@pytest.mark.parametrize("args", [*VERBS, ["submit", "x"]], ids=" ".join)
def test_a_credential_that_is_not_known_is_exit_code_4(
    tenure: Tenure, monkeypatch: pytest.MonkeyPatch, args: list[str]
) -> None:
    monkeypatch.setenv("TENURE_TOKEN", TOKEN + "x")
    ran = tenure(*args)
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.startswith("tenure: the credential is not known here")
    assert TOKEN not in ran.err
