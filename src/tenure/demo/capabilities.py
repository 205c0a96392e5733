"""The demo's capabilities, one way to recover each; a worker loads them as `tenure.demo.capabilities:app`.

What they are given is data alone (folders, an address, an order), so a task can be sent to any worker that
sees the same folders. What goes wrong on the way is left to Tenure; only what is certain is said: an order
that never reached the bank is `NotApplied`, a scene that could not be rendered is `Failed`.
"""

from pathlib import Path

import anyio
import anyio.to_thread
import httpx2
import msgspec

import tenure
from tenure import ABSENT, Absent, App, AsyncAttempt, Attempt, Recovery
from tenure.demo.farm import Bank, Farm, Job, NotReached
from tenure.demo.indexing import index_shard, merge_shards
from tenure.demo.sources import Totals
from tenure.demo.walking import Position, walk

app = App("demo")

SILENCES_MAX = 20
"""Bound: a farm that has not answered so many questions in a row fails the try."""


class Render(msgspec.Struct, frozen=True):
    """Where the picture is."""

    job_id: str
    url: str


class Charged(msgspec.Struct, frozen=True):
    """What the bank calls the charge."""

    receipt: str
    order: str
    cents: int


@app.capability("index-sources", version="1", recovery=Recovery.RECOMPUTE)
def index_sources(
    attempt: Attempt, root: str, shard: int, shards: int, work: str, bytes_per_s: float = 0
) -> Totals:
    """Digest, lines and words of every file of a shard; its entries go to a file named by its content."""

    def progress(done: int, there_are: int) -> None:
        attempt.progress(done, total=there_are, stage="index")

    return index_shard(Path(root), shard, shards, Path(work), progress, bytes_per_s)


@app.capability("merge-index", version="1", recovery=Recovery.RECOMPUTE)
def merge_index(attempt: Attempt, shards: int, work: str) -> Totals:
    """Join the shards of an index; it depends on all of them."""

    def progress(done: int, there_are: int) -> None:
        attempt.progress(done, total=there_are, stage="merge")

    return merge_shards(shards, Path(work), progress)


@app.capability(
    "walk-sources", version="1", recovery=Recovery.RESUME, window="the last item may be read twice"
)
def walk_sources(
    attempt: Attempt, root: str, first: int | None = None, reads: str | None = None, bytes_per_s: float = 0
) -> Position:
    """Read every file once (or the first so many), in order, with a checkpoint behind each."""
    saved = attempt.resumed_from
    start = msgspec.convert(saved, Position) if saved is not None else None
    positions = walk(
        Path(root),
        start,
        first=first,
        reads=Path(reads) if reads is not None else None,
        bytes_per_s=bytes_per_s,
    )
    position = next(positions)
    for position in positions:
        attempt.checkpoint(msgspec.to_builtins(position))
        attempt.progress(position.next_item, total=position.items, stage="walk")
    return position


@app.capability("render", version="1", recovery=Recovery.QUERY)
async def render(attempt: AsyncAttempt, url: str, scene: str, every_s: float = 0.25) -> Render:
    """Have the farm render a scene: one job, whatever dies on the way, because the farm can be asked."""
    with Farm(url) as farm:

        def create(request_id: str) -> str:
            try:
                return farm.create(scene, idempotency_key=request_id).id
            except NotReached as absent:
                raise tenure.NotApplied(str(absent)) from absent

        def find(request_id: str) -> str | Absent:
            jobs = farm.search(request_id)
            return jobs[0].id if jobs else ABSENT

        job_id = await attempt.effect(
            "create-job", params={"scene": scene}, apply=create, find=find, idempotent=True
        )
        job = await _watch(attempt, farm, job_id, every_s)
    if job.url is None:
        raise tenure.Failed(f"render job {job.id} ended as {job.state}")
    return Render(job.id, job.url)


@app.capability("charge", version="1", recovery=Recovery.QUERY)
def charge(attempt: Attempt, url: str, order: str, cents: int) -> Charged:
    """Charge an order: the bank cannot be asked, so a charge in doubt waits for a person."""
    with Bank(url) as bank:

        def apply(_request_id: str) -> str:
            try:
                return bank.charge(order, cents).id
            except NotReached as absent:
                raise tenure.NotApplied(str(absent)) from absent

        receipt = attempt.effect("charge", params={"order": order, "cents": cents}, apply=apply)
    return Charged(receipt, order, cents)


@app.capability("charge-unguarded", version="1", recovery=Recovery.MANUAL)
def charge_unguarded(attempt: Attempt, url: str, order: str, cents: int) -> Charged:
    """Charge an order outside of any effect, as code does that was not written for this; a person decides."""
    attempt.progress(0, total=1, stage="charge")
    with Bank(url) as bank:
        receipt = bank.charge(order, cents)
    attempt.progress(1, total=1, stage="charge")
    return Charged(receipt.id, order, cents)


async def _watch(attempt: AsyncAttempt, farm: Farm, job_id: str, every_s: float) -> Job:
    """Follow a job until it has ended; a farm that does not answer for a while is asked again."""
    silent = 0
    while True:
        try:
            job = await anyio.to_thread.run_sync(farm.status, job_id)
            silent = 0
        except (httpx2.TransportError, NotReached):
            silent += 1
            if silent > SILENCES_MAX:
                raise
        else:
            attempt.progress(job.frames_done, total=job.frames_total, stage="render")
            if job.ended:
                return job
        await anyio.sleep(every_s)
