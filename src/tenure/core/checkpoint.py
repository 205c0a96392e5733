"""Progress and checkpoints: how far an attempt has come, and where it can continue. C075 C076 C077."""

from msgspec import Struct

from tenure.core.bounds import Instant, Whole
from tenure.core.errors import Invalid

MESSAGE_MAX = 2_000
STAGE_MAX = 200


class Progress(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How far an attempt has come, for people; newest wins, and nothing is continued from it."""

    stage: str = ""
    stage_status: str = ""
    percent: float | None = None
    completed: Whole | None = None
    total: Whole | None = None
    failed: Whole | None = None
    message: str = ""
    at: Instant | None = None

    def __str__(self) -> str:
        """Say it in words: "scale 40 % (12 of 30)"."""
        percent = None if self.percent is None else f"{self.percent:.0f} %"
        counts = None
        if self.completed is not None:
            counts = f"({self.completed} of {self.total})" if self.total else f"({self.completed})"
        failed = f"{self.failed} failed" if self.failed else None
        parts = (self.stage, self.stage_status, percent, counts, failed, self.message)
        return " ".join(part for part in parts if part)


class Checkpoint(Struct, frozen=True):
    """Where a capability can continue: a lower bound of what has happened outside.

    Not `portable` means that the value points at files of one machine; then only that instance gets it.
    """

    value: object
    sequence: int
    portable: bool = True
    node_id: str = ""
    instance_id: str = ""


def check_progress(progress: Progress, path: str = "progress") -> Progress:
    """Return the progress unchanged, or raise `Invalid`: 0–100 percent, counts that fit each other. C076."""
    if progress.percent is not None and not 0 <= progress.percent <= 100:
        raise Invalid(f"{progress.percent:g} is no percentage; use 0 to 100", path=f"{path}.percent")
    for name in ("completed", "total", "failed"):
        count: int | None = getattr(progress, name)
        if count is not None and count < 0:
            raise Invalid(f"{count} is below zero", path=f"{path}.{name}")
    if progress.total is not None and (progress.completed or 0) + (progress.failed or 0) > progress.total:
        raise Invalid(
            f"completed and failed are more than the total {progress.total}", path=f"{path}.completed"
        )
    if len(progress.message) > MESSAGE_MAX:
        raise Invalid(f"longer than {MESSAGE_MAX} characters", path=f"{path}.message")
    if max(len(progress.stage), len(progress.stage_status)) > STAGE_MAX:
        raise Invalid(f"longer than {STAGE_MAX} characters", path=f"{path}.stage")
    return progress


def advance(before: Progress | None, after: Progress) -> Progress:
    """Return the newer progress with an overall percentage that never goes back within one execution.

    Contracts: C076.
    """
    if before is None or before.percent is None or after.percent is None or after.percent >= before.percent:
        return after
    return Progress(
        stage=after.stage,
        stage_status=after.stage_status,
        percent=before.percent,
        completed=after.completed,
        total=after.total,
        failed=after.failed,
        message=after.message,
        at=after.at,
    )
