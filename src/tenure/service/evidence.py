"""What earlier attempts left behind, as it travels with a claim and a start command. C042, C093."""

from collections.abc import Mapping, Sequence

from tenure.core.checkpoint import Checkpoint
from tenure.core.claim import Claim
from tenure.core.effect import AttemptLine, CheckpointLine, Effect, Evidence, LedgerLine
from tenure.core.task import Task
from tenure.ports.store import Transaction

LINES_MAX = 200  # Bound: evidence stays under 64 KiB; the rest is asked for by the ledger call


def gather(
    tx: Transaction, tasks: Sequence[Task], instances: Mapping[str, str | None], limit: int = LINES_MAX
) -> dict[str, Evidence]:
    """Return the evidence for those tasks that had an attempt before; a first attempt has none.

    A checkpoint that is not portable goes only to the instance that made it.
    """
    ids = [t.id for t in tasks if t.generation > 1]
    if not ids:
        return {}
    effects = tx.ledger.effects(ids)
    checkpoints = tx.ledger.checkpoints(ids)
    claims = tx.board.claims(ids)
    return {
        id_: Evidence(
            checkpoint=_checkpoint(checkpoints.get(id_), instances.get(id_)),
            effects=[_line(e) for e in effects.get(id_, [])[:limit]],
            attempts=[_attempt(c) for c in claims.get(id_, [])[:-1][-limit:]],
        )
        for id_ in ids
    }


def _checkpoint(saved: Checkpoint | None, instance_id: str | None) -> CheckpointLine | None:
    if saved is None or not (saved.portable or saved.instance_id == instance_id):
        return None
    return CheckpointLine(saved.value, saved.sequence, saved.portable, saved.node_id)


def _line(effect: Effect) -> LedgerLine:
    return LedgerLine(
        name=effect.name,
        kind=effect.kind,
        state=str(effect.state),
        result=effect.result,
        request_id=effect.request_id,
        generation=effect.generation,
    )


def _attempt(claim: Claim) -> AttemptLine:
    ended = str(claim.ended) if claim.ended is not None else "taken_over"
    return AttemptLine(claim.generation, claim.agent, claim.instance_id, ended)
