"""The board over the wire, as a pull worker in any language uses it."""

import threading
from typing import cast

import msgspec
import pytest

from tenure.core.task import TaskSpec
from tests.wire.served import Served

Json = dict[str, object]


def claim(served: Served, queue: str, **more: object) -> list[Json]:
    """Claim what there is in a queue."""
    request = {"request_id": f"r-{queue}", "agent": f"a-{queue}", "queues": [queue], "ttl_s": 30, "limit": 10}
    answer = served.post("/v1/claims", request | more, served.token("worker"))
    assert answer.status_code == 200, answer.text
    return cast("list[Json]", answer.json()["claims"])


def task_call(served: Served, claimed: Json, verb: str, **body: object) -> tuple[int, Json]:
    task = cast("Json", claimed["task"])
    answer = served.post(
        f"/v1/tasks/{task['id']}/{verb}", {"token": claimed["token"], **body}, served.token("worker")
    )
    return answer.status_code, cast("Json", answer.json())


def test_a_task_is_claimed_renewed_and_completed_once(served: Served) -> None:
    """C017, C019."""
    [id_] = served.submit(TaskSpec("add", queue="q-once", input={"a": 1}))
    [claimed] = claim(served, "q-once")
    assert cast("Json", claimed["task"])["id"] == id_
    assert cast("Json", claimed["task"])["input"] == {"a": 1}
    status, renewed = task_call(
        served, claimed, "renew", ttl_s=60, progress={"percent": 10}, progress_number=1
    )
    assert (status, renewed["ttl_s"], renewed["cancel_requested"]) == (200, 60, False)
    status, done = task_call(served, claimed, "complete", result=1)
    assert (status, done["state"], done["result"]) == (200, "done", 1)
    status, again = task_call(served, claimed, "complete", result=2)
    assert (status, again["result"]) == (200, 1)
    status, late = task_call(served, claimed, "release", reason="failed")
    assert (status, late["code"]) == (409, "terminal")


def test_a_repeated_request_grants_the_same_tasks_newly(served: Served) -> None:
    """A lost answer costs nothing: the first grant is dead and no loss is counted."""
    served.submit(TaskSpec("add", queue="q-again"))
    [first] = claim(served, "q-again")
    [second] = claim(served, "q-again")
    assert cast("Json", first["task"])["id"] == cast("Json", second["task"])["id"]
    assert cast("int", second["generation"]) > cast("int", first["generation"])
    assert cast("Json", second["task"])["losses"] == 0
    assert task_call(served, first, "complete", result=1)[1]["code"] == "lease_lost"
    assert task_call(served, second, "complete", result=2)[0] == 200


def test_an_explicit_claim_is_refused_with_its_reason(served: Served) -> None:
    """C014: the normal refusals."""
    [id_] = served.submit(TaskSpec("add", queue="q-named"))
    token = served.token("worker")
    body = {"agent": "a-named", "ttl_s": 30}
    granted = served.post(f"/v1/tasks/{id_}/claim", body, token)
    assert granted.status_code == 200
    codes = {
        "taken": served.post(f"/v1/tasks/{id_}/claim", {"agent": "a-other"}, token),
        "not_found": served.post("/v1/tasks/nowhere/claim", body, token),
    }
    [later] = served.submit(TaskSpec("add", queue="q-named", delay_s=3_600))
    codes["blocked"] = served.post(f"/v1/tasks/{later}/claim", body, token)
    served.ask("POST", f"/v1/tasks/{later}/cancel")
    codes["terminal"] = served.post(f"/v1/tasks/{later}/claim", body, token)
    assert {code: answer.json()["code"] for code, answer in codes.items()} == {code: code for code in codes}
    assert codes["blocked"].json()["reason"] == "not_due"


def test_a_claim_waits_for_work_and_says_how_long(served: Served) -> None:
    """The long poll ends with the first task, well before its time is up."""
    found: list[Json] = []
    waiting = threading.Thread(target=lambda: found.extend(claim(served, "q-wait", wait_s=20)))
    waiting.start()
    [id_] = served.submit(TaskSpec("add", queue="q-wait"))
    waiting.join(15)
    assert [cast("Json", claimed["task"])["id"] for claimed in found] == [id_]


def test_the_evidence_goes_to_the_bearer_of_the_newest_claim(served: Served) -> None:
    [id_] = served.submit(TaskSpec("add", queue="q-ledger"))
    [first] = claim(served, "q-ledger")
    task_call(served, first, "release", reason="handed_back")
    [second] = claim(served, "q-ledger", request_id="r-next")
    path, worker = f"/v1/tasks/{id_}/ledger", served.token("worker")
    shown = served.ask("GET", path, worker, headers={"tenure-claim": str(second["token"])})
    assert shown.status_code == 200, shown.text
    older = served.ask("GET", path, worker, headers={"tenure-claim": str(first["token"])})
    assert older.json()["code"] == "lease_lost"
    missing = served.ask("GET", path, worker)
    assert missing.json()["errors"][0]["path"] == "Tenure-Claim"


def test_a_pull_worker_must_not_take_a_registered_worker_s_name(served: Served) -> None:
    worker = served.register("w-named")
    served.submit(TaskSpec("add", queue="default"))
    body = {"request_id": "r", "agent": "w-named", "queues": ["default"]}
    assert served.post("/v1/claims", body, served.token("worker")).json()["code"] == "forbidden"
    assert served.post("/v1/claims", body, worker.session).status_code == 200


def test_a_credential_is_for_its_queues(served: Served) -> None:
    """Roles are scoped: other queues' tasks are neither shown, nor taken, nor added to."""
    [id_] = served.submit(TaskSpec("add", queue="q-mine"))
    own, other = served.token("worker", ["q-mine"]), served.token("submit", ["q-theirs"])
    assert served.ask("GET", f"/v1/tasks/{id_}", own).status_code == 200
    assert served.ask("GET", f"/v1/tasks/{id_}", other).json()["code"] == "not_found"
    assert served.ask("POST", f"/v1/tasks/{id_}/cancel", other).json()["code"] == "not_found"
    assert served.ask("GET", "/v1/tasks", other).json()["tasks"] == []
    refused = served.post("/v1/tasks", {"tasks": [{"capability": "add", "queue": "q-mine"}]}, other)
    assert refused.json()["code"] == "forbidden"
    body = {"request_id": "r", "agent": "a", "queues": ["q-mine"]}
    assert served.post("/v1/claims", body, served.token("worker", ["q-theirs"])).json()["code"] == "forbidden"


@pytest.mark.parametrize("wait_s", [-1, 61, 1e300])
def test_a_wait_that_is_out_of_range_is_refused(served: Served, wait_s: float) -> None:
    body = {"request_id": "r", "agent": "a", "wait_s": wait_s}
    answer = served.post("/v1/claims", msgspec.json.encode(body), served.token("worker"))
    assert answer.json()["errors"][0]["path"] == "wait_s"
