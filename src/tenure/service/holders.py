"""Who holds the permit of an effect in doubt, and whether that execution has ended, as its holder told."""

from collections.abc import Iterable, Mapping

import msgspec

from tenure.core.claim import Claim
from tenure.core.effect import Effect
from tenure.ports.store import Transaction


class Holders:
    """The grants that permits in doubt belong to; looked up only where there is such a doubt."""

    def __init__(self, tx: Transaction, ledger: Mapping[str, Iterable[Effect]]) -> None:
        """Look for the grants of the tasks in this ledger."""
        doubtful = [id_ for id_, entries in ledger.items() if any(e.is_in_doubt for e in entries)]
        self._claims = tx.board.claims(doubtful) if doubtful else {}
        # A holder that was taken over tells its end too late to change the task; that it ended still counts.
        self._ends = tx.facts.ends_told(doubtful) if doubtful else {}

    def of(self, effect: Effect | None) -> Claim | None:
        """Return the grant that an effect's permit belongs to, with the newest end that was told of it."""
        if effect is None:
            return None
        grants = self._claims.get(effect.task_id, ())
        claim = next((c for c in grants if c.generation == effect.generation), None)
        if claim is None:
            return None
        told = self._ends.get((effect.task_id, effect.generation), 0)
        return msgspec.structs.replace(claim, lost_epoch=max(claim.lost_epoch, told))
