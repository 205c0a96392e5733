"""What the story submits: real work on the sources of this Python, under names that people can read."""

from pathlib import Path

from msgspec import Struct

from tenure.core.capability import Recovery
from tenure.core.task import TaskSpec

SHARDS = 6
SCENES = ("dawn", "noon", "dusk", "night")
ORDER = "order-17"
CENTS = 4_900

WALKED = 1_000
"""Bound: files that the walk reads; each is a checkpoint of its own, and a slow disk has its say."""

INDEX_BYTES_PER_S = 2_000_000.0
WALK_BYTES_PER_S = 2_200_000.0
"""Bounds on the rate of reading, so that there is something to strike on a fast machine too."""

LOSSES_MAX = 50
"""Bound: the story kills more than a task may lose by default; it would be failed as a killer of workers."""

SHORT_LEASE_S = 4.0
LONG_LEASE_S = 60.0


class Part(Struct, frozen=True):
    """One task of the story; its id is the name that people read."""

    rule: Recovery
    spec: TaskSpec

    @property
    def name(self) -> str:
        """Its id."""
        return self.spec.id or ""


class Props(Struct, frozen=True):
    """What the tasks work on: the sources, a folder for results, the count of reads, the remote service."""

    root: Path
    work: Path
    reads: Path
    service_url: str


def opening(props: Props) -> list[Part]:
    """Return everything that is submitted at the start: the index, the walk and the renders."""
    shards = [_shard(props, number) for number in range(SHARDS)]
    renders = [_render(props, scene) for scene in SCENES]
    return [_walk(props), renders[0], renders[1], *shards, *renders[2:], _merge(props, shards)]


def payment(props: Props) -> Part:
    """Return the paid call, which is submitted later."""
    return _part(
        "charge",
        Recovery.QUERY,
        "charge",
        {"url": props.service_url, "order": ORDER, "cents": CENTS},
        lease_s=LONG_LEASE_S,
    )


def scene_name(scene: str) -> str:
    """Return the id of the task that renders a scene."""
    return f"render-{scene}"


def _shard(props: Props, number: int) -> Part:
    return _part(
        f"index-{number + 1}",
        Recovery.RECOMPUTE,
        "index-sources",
        {
            "root": str(props.root),
            "shard": number,
            "shards": SHARDS,
            "work": str(props.work),
            "bytes_per_s": INDEX_BYTES_PER_S,
        },
    )


def _merge(props: Props, shards: list[Part]) -> Part:
    return _part(
        "merge-index",
        Recovery.RECOMPUTE,
        "merge-index",
        {"shards": SHARDS, "work": str(props.work)},
        depends_on=[shard.name for shard in shards],
    )


def _walk(props: Props) -> Part:
    # A long lease keeps it with the worker that holds its newest checkpoint, whatever happens to that worker.
    return _part(
        "walk",
        Recovery.RESUME,
        "walk-sources",
        {
            "root": str(props.root),
            "first": WALKED,
            "reads": str(props.reads),
            "bytes_per_s": WALK_BYTES_PER_S,
        },
        lease_s=LONG_LEASE_S,
    )


def _render(props: Props, scene: str) -> Part:
    return _part(
        scene_name(scene),
        Recovery.QUERY,
        "render",
        {"url": props.service_url, "scene": scene},
    )


def _part(
    name: str,
    rule: Recovery,
    capability: str,
    input: dict[str, object],
    *,
    lease_s: float = SHORT_LEASE_S,
    depends_on: list[str] | None = None,
) -> Part:
    return Part(
        rule,
        TaskSpec(
            capability=capability,
            version="1",
            input=input,
            id=name,
            depends_on=depends_on or [],
            lease_ttl_s=lease_s,
            max_losses=LOSSES_MAX,
        ),
    )
