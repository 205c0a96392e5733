"""What becomes of an attempt that is found unfinished, after a restart or the death of its executor.

Contracts: C091 to C095.
"""

from collections.abc import Sequence

from msgspec import Struct

from tenure.core.attempt import Attempt, AttemptState, LocalEffect, LocalEffectState
from tenure.core.capability import Recovery
from tenure.core.effect import ATTEMPT_SUBJECT


class StartAfresh(Struct, frozen=True):
    """It was never started: acknowledge again, and start when the answer is `go`."""


class Reenter(Struct, frozen=True):
    """Run the capability again under the same attempt, one epoch later, with what was saved."""


class EndUnknown(Struct, frozen=True):
    """Nobody can show what happened: report these subjects as unknown."""

    subjects: tuple[str, ...]
    note: str


class EndCancelled(Struct, frozen=True):
    """A cancel was saved before the death, and nothing stands in its way."""


Restart = StartAfresh | Reenter | EndUnknown | EndCancelled


def decide_restart(
    attempt: Attempt, ledger: Sequence[LocalEffect], rule: Recovery | None, manifest_digest: str
) -> Restart:
    """Say what becomes of an attempt that was found unfinished.

    Pure and repeatable: the same inputs give the same decision, so recovery itself may be killed and run
    again. Missing evidence, an undeclared rule and a changed manifest all end with a person, never with a
    rerun. `rule` and `manifest_digest` are what this worker declares now; None means that it no longer has
    the capability.
    """
    if attempt.state is AttemptState.PENDING:
        return StartAfresh()
    doubts = hopeless(attempt, ledger)
    if rule is None or attempt.rule is None:
        what = f"{attempt.spec.capability} is no longer among this worker's capabilities"
        return EndUnknown((ATTEMPT_SUBJECT, *doubts), what)
    if manifest_digest != attempt.manifest_digest:
        return EndUnknown((ATTEMPT_SUBJECT, *doubts), f"{attempt.spec.capability} changed under this attempt")
    if attempt.rule is Recovery.MANUAL:
        return EndUnknown((ATTEMPT_SUBJECT, *doubts), "the rule is manual and its execution vanished")
    if doubts:
        return EndUnknown(doubts, f"{', '.join(doubts)} may have happened, and nothing can be asked")
    if attempt.cancel_requested:
        in_doubt = tuple(e.name for e in ledger if e.in_doubt_after(attempt.epoch + 1))
        # A cancel must not hide a doubt that re-entry can settle: it runs once more and is cancelled then.
        return Reenter() if in_doubt else EndCancelled()
    return Reenter()


def hopeless(attempt: Attempt, ledger: Sequence[LocalEffect]) -> tuple[str, ...]:
    """Name the effects that may have been applied and that running again could not settle."""
    manual = attempt.rule is Recovery.MANUAL
    return tuple(
        e.name for e in ledger if e.in_doubt_after(attempt.epoch + 1) and (manual or not e.settled_by)
    )


class Apply(Struct, frozen=True):
    """Ask for the witness, then apply; `after_absent` if an earlier intent was certainly not applied."""

    after_absent: bool = False


class Saved(Struct, frozen=True):
    """It was applied: return the saved result.

    Or raise its error again where the result could not be kept.
    """

    effect: LocalEffect


class Doubt(Struct, frozen=True):
    """An earlier execution may have applied it: settle it by find or idempotency, else it is unknown."""

    effect: LocalEffect


class Mismatch(Struct, frozen=True):
    """The same name was used in this run with other params, or is under way in this very execution."""

    text: str


Entry = Apply | Saved | Doubt | Mismatch


def decide_entry(known: LocalEffect | None, epoch: int, digest: str) -> Entry:
    """Say how an execution of this epoch enters an effect, given what the local ledger knows of it."""
    if known is None:
        return Apply()
    if known.digest != digest:
        return Mismatch(f"effect {known.name!r} was used before in this run with other params")
    match known.state:
        case LocalEffectState.APPLIED:
            return Saved(known)
        case LocalEffectState.ABSENT:
            return Apply(after_absent=True)
        case LocalEffectState.ABANDONED:
            return Doubt(known)
        case LocalEffectState.INTENDED | LocalEffectState.IN_DOUBT:
            if known.epoch >= epoch and known.state is LocalEffectState.INTENDED:
                return Mismatch(
                    f"effect {known.name!r} is under way in this attempt; names are unique in a run"
                )
            in_doubt = known.in_doubt_after(epoch) or known.state is LocalEffectState.IN_DOUBT
            return Doubt(known) if in_doubt else Apply(after_absent=True)
