"""`Client` against a real server: submitting, following, results, decisions, and a network that fails."""

import threading
import time
from collections.abc import Generator
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest

from tenure.app.app import App
from tenure.app.attempt import Attempt
from tenure.client.client import Client
from tenure.client.handle import Task
from tenure.client.outcomes import TaskCancelled, TaskFailed, TaskUnknown
from tenure.core.capability import Recovery
from tenure.core.errors import (
    DeliveryFailed,
    Forbidden,
    Invalid,
    InvalidConfig,
    KeyConflict,
    NotFound,
    StaleRevision,
    TooLarge,
    Unauthenticated,
)
from tenure.core.task import TaskSpec
from tenure.core.verdict import Verdict, VerdictRequest
from tenure.testing.proxy import Proxy
from tenure.wire.service import TokenRequest
from tests.wire.served import ADMIN, Served

app = App("tests")
BIG = 2**200


class Picture(msgspec.Struct):
    """What `draw` returns."""

    path: str
    width: int


@app.capability("draw", version="1", recovery=Recovery.RECOMPUTE)
def draw(attempt: Attempt, source: str, width: int = 320) -> Picture:
    return Picture(source, width)


@pytest.fixture
def client(served: Served) -> Generator[Client]:
    with Client(served.url, ADMIN) as client:
        yield client


def hold(served: Served, task_id: str) -> str:
    """Claim a task as a pull worker and return the claim's token."""
    answer = served.post(f"/v1/tasks/{task_id}/claim", {"agent": "a-client", "ttl_s": 60})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["token"])


def settle(served: Served, task_id: str, verb: str, **body: object) -> None:
    answer = served.post(f"/v1/tasks/{task_id}/{verb}", {"token": hold(served, task_id), **body})
    assert answer.status_code == 200, answer.text


def test_a_function_is_submitted_and_its_result_is_typed(served: Served, client: Client) -> None:
    task = client.submit(draw, source="a.jpg", key="k-typed")
    view = task.refresh()
    assert (view.capability, view.version, view.input) == ("draw", "1", {"source": "a.jpg"})
    settle(served, task.id, "complete", result={"path": "b.jpg", "width": 320})
    result = task.result(timeout=timedelta(seconds=20))
    assert result == Picture("b.jpg", 320)
    assert client.submit(draw, source="a.jpg", key="k-typed").id == task.id


def test_the_input_is_checked_before_it_is_sent(served: Served, client: Client) -> None:
    before = served.kept()
    with pytest.raises(Invalid, match=r"input\.width"):
        client.submit(draw, source="a.jpg", width="wide")
    with pytest.raises(Invalid, match="source"):
        client.submit(draw)
    with pytest.raises(Invalid, match="colour"):
        client.submit(draw, source="a.jpg", colour="red")
    with pytest.raises(Invalid, match="is no capability"):
        client.submit(len)
    with pytest.raises(Invalid, match="no JSON number"):
        client.submit("draw", {"n": float("nan")})
    with pytest.raises(Invalid, match="lone surrogate"):
        client.submit("draw", {"text": "\ud800"})
    with pytest.raises(TooLarge):
        client.submit("draw", {"text": "x" * 5_000_000})
    assert served.kept() == before


def test_a_name_and_a_dict_work_too(client: Client) -> None:
    task: Task[object] = client.submit(
        "draw", {"key": "an input member", "n": BIG}, labels={"team": "a"}, width=3
    )
    view = client.task(task.id)
    assert view.input == {"key": "an input member", "n": BIG, "width": 3}
    assert [found.id for found in client.tasks(label=("team", "a"))] == [task.id]


def test_the_same_key_with_other_content_is_refused(client: Client) -> None:
    """B25: X/A, X/B, X/A again: one task, one conflict, one replay."""
    first = client.submit("draw", {"a": 1}, key="k-conflict")
    with pytest.raises(KeyConflict):
        client.submit("draw", {"a": 2}, key="k-conflict")
    assert client.submit("draw", {"a": 1}, key="k-conflict").id == first.id


def test_each_ending_has_its_own_error(served: Served, client: Client) -> None:
    failed, cancelled, unknown = (client.submit("draw", key=f"k-{n}") for n in ("f", "c", "u"))
    error = {"type": "ValueError", "message": "no", "traceback": "line 3", "retry": False}
    settle(served, failed.id, "release", reason="failed", error=error)
    with pytest.raises(TaskFailed, match="ValueError: no") as said:
        failed.result()
    assert (said.value.type, said.value.traceback, said.value.attempts) == ("ValueError", "line 3", 1)
    assert cancelled.cancel().state == "cancelled"
    with pytest.raises(TaskCancelled):
        cancelled.result()
    settle(served, unknown.id, "release", reason="unknown", subjects=["attempt"])
    with pytest.raises(
        TaskUnknown, match=f"attempt of k-u may have happened; see tenure unknown {unknown.id}"
    ) as said:
        unknown.result()
    assert said.value.subjects == ("attempt",)
    assert unknown.id in [task.id for task in client.unknown()]


def test_an_unknown_is_decided_once(served: Served, client: Client) -> None:
    """C120: the revision that the decision was based on is checked."""
    task = client.submit("draw")
    settle(served, task.id, "release", reason="unknown", subjects=["attempt"])
    revision = task.refresh().revision
    with pytest.raises(StaleRevision):
        client.verdict(task.id, VerdictRequest("attempt", Verdict.HAPPENED, revision - 1))
    given = VerdictRequest("attempt", Verdict.HAPPENED, revision, result={"n": BIG})
    assert client.verdict(task.id, given).state == "done"
    assert client.verdict(task.id, given).state == "done"
    assert task.result() == {"n": BIG}
    assert "verdict" in [line.kind for line in client.history(task.id)]


def test_progress_is_followed_until_the_end(served: Served, client: Client) -> None:
    task = client.submit("draw")
    token = hold(served, task.id)
    renewal = {"token": token, "progress_number": 1}
    progress = {"percent": 40, "completed": 12, "total": 30, "stage": "scale"}
    served.post(f"/v1/tasks/{task.id}/renew", {**renewal, "progress": progress})
    seen: list[str] = []
    for shown in task.follow():
        seen.append(str(shown))
        served.post(f"/v1/tasks/{task.id}/complete", {"token": token, "result": 1})
    assert seen == ["scale 40 % (12 of 30)"]


def test_waiting_has_an_end_of_its_own(client: Client) -> None:
    task = client.submit("draw")
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        task.result(timeout=timedelta(seconds=0.3))
    assert time.monotonic() - began < 5


def test_a_wait_outlives_lost_connections_and_a_server_that_is_away(served: Served) -> None:
    with Proxy(served.url) as proxy, Client(proxy.url, ADMIN) as client:
        task = client.submit("draw")
        followed = iter(client.follow(task.id))
        assert next(followed).state == "open"
        proxy.refuse()
        proxy.cut()
        back = threading.Timer(0.5, proxy.accept)
        back.start()
        settle(served, task.id, "complete", result=1)
        assert [view.state for view in followed][-1] == "done"
        back.join()


def test_a_submission_without_an_answer_is_the_same_task(served: Served) -> None:
    """D18: the reply is lost, the client asks again, and there is one task."""
    with Proxy(served.url) as proxy, Client(proxy.url, ADMIN) as client:
        lost = proxy.lose_reply("POST", "/v1/tasks")
        task = client.submit("draw", labels={"once": "yes"})
        lost.wait()
        assert [found.id for found in client.tasks(label=("once", "yes"))] == [task.id]


def test_nobody_there_is_a_failed_delivery() -> None:
    with Proxy("http://127.0.0.1:9") as proxy, Client(proxy.url, ADMIN) as client:
        proxy.refuse()
        with pytest.raises(DeliveryFailed, match="cannot be reached"):
            client.task("t")
        with pytest.raises(DeliveryFailed):
            next(client.follow("t"))


def test_lists_come_page_by_page(served: Served, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.client.client.PAGE_MAX", 3)
    specs = [TaskSpec("list", queue="q-pages") for _ in range(8)]
    ids = [submitted.id for submitted in client.submit_many(specs)]
    assert [task.id for task in client.tasks(queue="q-pages")] == ids[::-1]
    assert [task.id for task in client.tasks(queue="q-pages", limit=4)] == ids[:3:-1]
    assert list(client.tasks(queue="q-pages", limit=0)) == []
    for _ in range(4):
        client.cancel(ids[0])
        client.retry(ids[0])
    kinds = [line.kind for line in client.history(ids[0])]
    assert kinds[0] == "submitted"
    assert kinds.count("retried") == 4


def test_an_instant_is_sent_in_utc(client: Client) -> None:
    at = datetime(2100, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    [submitted] = client.submit_many([TaskSpec("draw", not_before=at)])
    assert client.task(submitted.id).not_before == datetime(2100, 1, 1, tzinfo=UTC)


def test_credentials_come_and_go(served: Served, client: Client) -> None:
    """C118: shown once, listed without it, refused at once when revoked."""
    made = client.create_token(TokenRequest("read", "a reader", ["default"]))
    with Client(served.url, made.token) as reader:
        assert list(reader.tasks(queue="q-nothing")) == []
        with pytest.raises(Forbidden):
            reader.submit("draw")
        listed = {token.id: token for token in client.tokens()}
        assert listed[made.id].queues == ["default"]
        client.revoke_token(made.id)
        with pytest.raises(Unauthenticated):
            list(reader.tasks())
    assert made.token not in served.ask("GET", "/v1/tokens").text
    with pytest.raises(NotFound):
        client.revoke_token("nobody")


def test_workers_are_listed_and_drained(served: Served, client: Client) -> None:
    served.register("w-drained")
    drained = client.drain("w-drained", note="rack moves")
    assert (drained.drained, drained.drained_number) == (True, 1)
    with pytest.raises(StaleRevision):
        client.drain("w-drained", drained=False, revision=0)
    assert client.drain("w-drained", drained=False, revision=1).drained is False
    assert "w-drained" in [worker.worker_id for worker in client.workers()]


@pytest.mark.parametrize("url", ["nonsense", "ftp://h", "http://", "http://u:p@h:1", "http://h/?a=b"])
def test_an_address_that_cannot_be_is_refused(url: str) -> None:
    with pytest.raises(InvalidConfig):
        Client(url, ADMIN)
