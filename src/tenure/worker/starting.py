"""From pending to running, and from one execution to the next: decided and saved in one transaction.

`running` is durable before the capability is called, and each start raises the attempt's epoch. C069 C071
"""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from tenure.core.attempt import Attempt, AttemptState, AttemptStep
from tenure.core.event import Event, EventKind, LostBody
from tenure.core.execution import ManifestEntry
from tenure.core.restart import EndCancelled, EndUnknown, Reenter, StartAfresh, decide_restart
from tenure.ports.local import LocalTransaction
from tenure.worker.endings import Outcome, Stamp, cancelled, end, handed_back, lost_for_good, tell, unknown


class Start(Struct, frozen=True):
    """One attempt that is to be executed (again), or of which it is to be decided what becomes of it.

    `death` is what its newest execution died of, if it did and that is to be told; `stamp` draws the
    identity of an event, should one be needed. Only what is `wanted` is started; otherwise the decision
    alone is made and saved. Where no proof was found that no earlier execution is left, `is_proved` is
    false.
    """

    attempt_id: str
    declared: ManifestEntry | None
    stamp: Callable[[], Stamp]
    death: LostBody | None = None
    wanted: bool = True
    is_proved: bool = True


def save_starts(tx: LocalTransaction, starts: Sequence[Start]) -> dict[str, Attempt]:
    """Save what becomes of each attempt, with its events, and return the attempts as they are now.

    Running, one epoch later; or final, because a cancel was saved before, the capability is not declared here
    (any more), or nobody can show what its execution did. The same call made again decides the same. C095
    """
    attempts = tx.attempts.load([start.attempt_id for start in starts])
    events: list[Event] = []
    changed: list[Attempt] = []
    for start in starts:
        attempt = attempts.get(start.attempt_id)
        if attempt is None or attempt.state.is_final:
            continue
        after = _begin(tx, _tell_death(attempt, start, events), start, events)
        if after is not attempt:
            attempts[after.id] = after
            changed.append(after)
    tx.attempts.save(changed)
    tx.outbox.add(events)
    return attempts


def _tell_death(attempt: Attempt, start: Start, events: list[Event]) -> Attempt:
    """Tell of the newest execution's death, once per epoch."""
    if start.death is None or attempt.lost_epoch >= attempt.epoch or attempt.state is AttemptState.PENDING:
        return attempt
    told = tell(attempt, EventKind.LOST, start.death, start.stamp(), events)
    return msgspec.structs.replace(told, lost_epoch=attempt.epoch, losses=attempt.losses + 1)


def _begin(tx: LocalTransaction, attempt: Attempt, start: Start, events: list[Event]) -> Attempt:
    outcome = _ending(tx, attempt, start)
    if outcome is not None:
        return end(attempt, outcome, start.stamp(), events)
    if not start.wanted or start.declared is None:
        return attempt
    return attempt.after(
        AttemptStep.RUN,
        epoch=attempt.epoch + 1,
        rule=start.declared.recovery,
        manifest_digest=start.declared.digest,
    )


def _ending(tx: LocalTransaction, attempt: Attempt, start: Start) -> Outcome | None:
    """Return how the attempt ends instead of being executed, or None."""
    declared = start.declared
    if attempt.state is AttemptState.PENDING:
        if attempt.cancel_requested:
            return cancelled("cancelled before it began")
        return None if declared is not None else handed_back("the capability is not declared here any more")
    ledger = tx.effects.load(attempt.task_id, attempt.run)
    rule, digest = (declared.recovery, declared.digest) if declared is not None else (None, "")
    match decide_restart(attempt, ledger, rule, digest):
        case EndUnknown(subjects, note):
            return unknown(subjects, note)
        case EndCancelled():
            return cancelled("a cancel was asked for")
        case Reenter() | StartAfresh():
            pass
    doubts = [entry.name for entry in ledger if entry.in_doubt_after(attempt.epoch + 1)]
    if doubts and not start.is_proved:
        return unknown(doubts, "this folder came from another machine, where they may still be under way")
    if attempt.losses >= attempt.spec.max_losses and attempt.lost_epoch > 0:
        return lost_for_good(attempt.losses, attempt.spec.max_losses)
    return None
