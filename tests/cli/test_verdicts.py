"""What waits for a person, and the person's word, from a command line."""

from collections.abc import Callable

import pytest

from tests.cli.conftest import Ran, Server

Tenure = Callable[..., Ran]


@pytest.fixture
def doubtful(server: Server, tenure: Tenure) -> str:
    task_id = tenure("submit", "pay").out.strip()
    server.doubt(task_id, "charge")
    return task_id


def state(tenure: Tenure, task_id: str) -> str:
    return tenure("task", task_id, "--json").document["task"]["state"]


def test_unknown_shows_the_evidence_and_how_to_decide(tenure: Tenure, doubtful: str) -> None:
    ran = tenure("unknown", doubtful)
    assert ran.code == 0
    assert f"pay {doubtful}: did 'charge' happen?" in ran.out
    assert "holder: by-hand, generation 1" in ran.out
    assert f"tenure reconcile {doubtful} charge --happened JSON" in ran.out


def test_unknown_as_json(tenure: Tenure, doubtful: str) -> None:
    found = tenure("unknown", "--json").document
    mine = next(item for item in found if item["task_id"] == doubtful)
    assert (mine["capability"], mine["subject"]["subject"]) == ("pay", "charge")
    assert isinstance(mine["revision"], int)


def test_a_decided_task_waits_no_more(tenure: Tenure, doubtful: str) -> None:
    """C119."""
    ran = tenure(
        "reconcile", doubtful, "charge", "--happened", '{"receipt": 7}', "--note", "seen at the bank"
    )
    assert ran.code == 0
    assert "last sign of life of the holder: by-hand" in ran.err
    assert "happened is kept for charge" in ran.out
    assert state(tenure, doubtful) != "unknown"
    assert tenure("unknown", doubtful).out == "nothing waits for a verdict\n"


def test_the_same_verdict_again_is_the_same_and_another_is_refused(tenure: Tenure, doubtful: str) -> None:
    """C120."""
    assert tenure("reconcile", doubtful, "charge", "--happened", "1").code == 0
    assert tenure("reconcile", doubtful, "charge", "--happened", "1").code == 0
    other = tenure("reconcile", doubtful, "charge", "--did-not-happen", "--anyway")
    assert other.code == 1
    assert other.err.count("\n") == 1


def test_abandon_fails_the_task(tenure: Tenure, doubtful: str) -> None:
    ran = tenure("reconcile", doubtful, "charge", "--abandon", "--note", "let it be", "--json")
    assert ran.code == 0
    assert ran.document["state"] == "failed"


def test_still_unknown_changes_nothing(tenure: Tenure, doubtful: str) -> None:
    ran = tenure("reconcile", doubtful, "charge", "--still-unknown")
    assert ran.code == 0
    assert state(tenure, doubtful) == "unknown"


def test_a_subject_that_is_not_in_doubt_is_exit_code_2(tenure: Tenure, doubtful: str) -> None:
    ran = tenure("reconcile", doubtful, "refund", "--abandon")
    assert ran.code == 2
    assert "refund" in ran.err
