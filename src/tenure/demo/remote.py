"""What the remote service knows: render jobs and charges, rebuilt from its journal at every start.

Nothing here knows HTTP or Tenure. Every change is in the journal before it is returned.
"""

import threading
import time
from pathlib import Path
from typing import cast

from tenure.demo.journal import Journal, Record

FRAMES = 48
"""Frames of every scene; the progress of a job counts them."""


class KeyReused(Exception):
    """The idempotency key was used before for another scene."""


class Remote:
    """A render farm that keeps its promises and a bank that makes none.

    Args:
        journal: File of what took effect.
        job_s: How long a job renders.
        dedupe: Whether the farm honours idempotency keys; without, a key is only a label to search by.
    """

    def __init__(self, journal: Path, *, job_s: float = 2.0, dedupe: bool = True) -> None:
        """Open the journal and take up what it says has happened."""
        self._journal = Journal(journal)
        self._guard = threading.Lock()
        self._job_s = job_s
        self._dedupe = dedupe

    def create_job(self, scene: str, key: str | None) -> tuple[Record, bool]:
        """Create a job and return it with True, or return the one that this key made with False.

        Raises:
            KeyReused: The key made a job for another scene.
        """
        with self._guard:
            for job in self._jobs(key) if key is not None and self._dedupe else ():
                if job["scene"] != scene:
                    raise KeyReused(f"key {key!r} was used for scene {job['scene']!r}")
                return self._shown(job), False
            job_id = f"job-{sum(1 for _ in self._jobs()) + 1}"
            job = self._journal.append("job", id=job_id, scene=scene, key=key, at_s=time.monotonic())
            return self._shown(job), True

    def search(self, key: str) -> list[Record]:
        """Return the jobs made under a key."""
        with self._guard:
            return [self._shown(job) for job in self._jobs(key)]

    def job(self, job_id: str) -> Record | None:
        """Return a job as it stands now."""
        with self._guard:
            return next((self._shown(job) for job in self._jobs() if job["id"] == job_id), None)

    def cancel(self, job_id: str) -> Record | None:
        """End a job that still renders; on an ended one nothing changes."""
        with self._guard:
            job = next((job for job in self._jobs() if job["id"] == job_id), None)
            if job is None:
                return None
            if not self._shown(job)["ended"]:
                self._journal.append("cancel", id=job_id, at_s=time.monotonic())
            return self._shown(job)

    def charge(self, order: str, cents: int) -> Record:
        """Take the money. Asked twice, it takes it twice; nobody can look it up."""
        with self._guard:
            count = sum(1 for record in self._journal.records if record["kind"] == "charge")
            return self._journal.append("charge", id=f"charge-{count + 1}", order=order, cents=cents)

    def note(self, kind: str, **fields: object) -> None:
        """Keep a remark in the journal that is no effect, such as a lost reply."""
        with self._guard:
            self._journal.append(kind, **fields)

    def records(self) -> list[Record]:
        """Return everything in the journal so far."""
        with self._guard:
            return list(self._journal.records)

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def _jobs(self, key: str | None = None) -> list[Record]:
        """Return the creation records, all or those of a key."""
        jobs = [record for record in self._journal.records if record["kind"] == "job"]
        return jobs if key is None else [job for job in jobs if job["key"] == key]

    def _shown(self, job: Record) -> Record:
        """Return the job with its state and progress at this moment."""
        cancelled_s = self._cancelled_at_s(job["id"])
        elapsed_s = (cancelled_s or time.monotonic()) - cast("float", job["at_s"])
        share = min(1.0, max(0.0, elapsed_s / self._job_s)) if self._job_s else 1.0
        state = "ok" if share == 1.0 else "rendering" if cancelled_s is None else "cancelled"
        return {
            "id": job["id"],
            "scene": job["scene"],
            "key": job["key"],
            "state": state,
            "ended": state != "rendering",
            "frames_done": int(FRAMES * share),
            "frames_total": FRAMES,
            "url": f"farm://{job['id']}/{job['scene']}.png" if state == "ok" else None,
        }

    def _cancelled_at_s(self, job_id: object) -> float | None:
        """Return when a cancel took effect, if one did."""
        for record in self._journal.records:
            if record["kind"] == "cancel" and record["id"] == job_id:
                return cast("float", record["at_s"])
        return None
