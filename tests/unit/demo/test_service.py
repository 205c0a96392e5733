"""The remote job service as a process of its own, and its client."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tenure.demo.farm import Bank, Farm, NotReached, Refused
from tenure.demo.journal import read_journal
from tenure.testing.processes import Managed, Processes


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path / "logs") as started:
        yield started


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def start(processes: Processes, journal: Path, *options: str) -> tuple[Managed, str]:
    service = processes.start_module("service", "tenure.demo.service", "--journal", str(journal), *options)
    return service, str(service.wait_ready()["url"])


def kinds(journal: Path) -> list[object]:
    return [record["kind"] for record in read_journal(journal)]


def test_one_key_makes_one_job_and_can_be_searched(processes: Processes, journal: Path) -> None:
    """B24, B25: same key and scene, the same job; another scene is refused."""
    _, url = start(processes, journal)
    with Farm(url) as farm:
        assert farm.search("k1") == []
        job = farm.create("s1.blend", idempotency_key="k1")
        assert farm.create("s1.blend", idempotency_key="k1").id == job.id
        assert [found.id for found in farm.search("k1")] == [job.id]
        with pytest.raises(Refused, match="422"):
            farm.create("s2.blend", idempotency_key="k1")
        assert farm.create("s1.blend", idempotency_key="k2").id != job.id
    assert kinds(journal) == ["job", "job"]


def test_a_job_ends_and_a_cancelled_one_stands_still(processes: Processes, journal: Path) -> None:
    _, url = start(processes, journal, "--job-s", "0")
    with Farm(url) as farm:
        ended = farm.status(farm.create("s1.blend").id)
        assert (ended.ended, ended.state, ended.frames_done) == (True, "ok", ended.frames_total)
        assert ended.url is not None
        assert farm.cancel(ended.id).state == "ok"
        with pytest.raises(Refused, match="404"):
            farm.status("job-9")
    _, url = start(processes, journal, "--job-s", "3600")
    with Farm(url) as farm:
        job = farm.create("s2.blend")
        assert (job.state, job.ended) == ("rendering", False)
        assert farm.cancel(job.id).state == "cancelled"
        assert farm.status(job.id).ended


def test_without_deduplication_a_key_is_only_a_label(processes: Processes, journal: Path) -> None:
    _, url = start(processes, journal, "--no-dedupe")
    with Farm(url) as farm:
        jobs = [farm.create("s1.blend", idempotency_key="k1").id for _ in range(2)]
        assert [found.id for found in farm.search("k1")] == jobs


def test_a_lost_reply_was_committed_before(processes: Processes, journal: Path) -> None:
    """B24."""
    _, url = start(processes, journal, "--misbehave", "lose:create:1", "--misbehave", "lose:charge:2")
    with Farm(url) as farm, Bank(url) as bank:
        with pytest.raises(httpx2.TransportError):
            farm.create("s1.blend", idempotency_key="k1")
        assert len(farm.search("k1")) == 1
        bank.charge("order-1", 500)
        with pytest.raises(httpx2.TransportError):
            bank.charge("order-1", 500)
    assert kinds(journal) == ["job", "reply_lost", "charge", "charge", "reply_lost"]


def test_a_late_reply_was_committed_before(processes: Processes, journal: Path) -> None:
    _, url = start(processes, journal)
    planned = httpx2.post(f"{url}/admin/misbehave", json={"plan": "delay:charge:1:60"}, trust_env=False)
    assert planned.json() == {"planned": "delay:charge:1:60"}
    with Bank(url, timeout_s=0.2) as bank, pytest.raises(httpx2.ReadTimeout):
        bank.charge("order-1", 500)
    assert kinds(journal) == ["charge", "reply_delayed"]


def test_what_took_effect_survives_kill_9_of_the_service(processes: Processes, journal: Path) -> None:
    service, url = start(processes, journal)
    with Farm(url) as farm:
        job = farm.create("s1.blend", idempotency_key="k1")
    service.kill()
    with journal.open("ab") as torn:
        torn.write(b'{"number": 2, "kind": "jo')
    _, url = start(processes, journal)
    with Farm(url) as farm:
        assert farm.create("s1.blend", idempotency_key="k1").id == job.id
        assert farm.create("s1.blend", idempotency_key="k2").id == "job-2"
    assert kinds(journal) == ["job", "job"]


def test_nothing_was_asked_of_a_service_that_is_not_there(processes: Processes, journal: Path) -> None:
    service, url = start(processes, journal)
    service.kill()
    with Bank(url) as bank, pytest.raises(NotReached):
        bank.charge("order-1", 500)
    assert kinds(journal) == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/jobs", b"{"),
        ("/jobs", b'{"scene": 3}'),
        ("/charges", b'{"order": "o", "cents": 1, "more": 2}'),
        ("/admin/misbehave", b'{"plan": "lose:everything:1"}'),
        ("/admin/misbehave", b'{"plan": "lose:create:first"}'),
    ],
)
def test_bad_requests_are_refused_and_leave_nothing(
    processes: Processes, journal: Path, path: str, body: bytes
) -> None:
    _, url = start(processes, journal)
    assert httpx2.post(url + path, content=body, trust_env=False).status_code == 422
    assert httpx2.get(f"{url}/jobs", trust_env=False).status_code == 422
    assert httpx2.get(f"{url}/admin/journal", trust_env=False).json() == {"records": []}


def test_a_journal_in_a_missing_folder_ends_the_service(processes: Processes, tmp_path: Path) -> None:
    service = processes.start_module(
        "service", "tenure.demo.service", "--journal", str(tmp_path / "no" / "j")
    )
    assert service.wait_exit() == 1


def test_the_service_ends_on_sigterm(processes: Processes, journal: Path) -> None:
    service, _ = start(processes, journal)
    service.terminate()
    assert service.wait_exit() in {0, -15}
    assert json.loads(service.out.read_text())["service"] == "render"
