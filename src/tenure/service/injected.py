"""What the service's functions are given besides the transaction."""

from msgspec import Struct

from tenure.ports.faults import Faults
from tenure.ports.ids import Ids
from tenure.ports.notices import Notices
from tenure.ports.store import Transaction

TOKEN_OF_CLAIM = "tnr_c_"
TOKEN_OF_SESSION = "tnr_s_"
TOKEN_OF_CREDENTIAL = "tnr_k_"


class Injected(Struct, frozen=True):
    """Ids and tokens, hints to waiters, and fault points."""

    ids: Ids
    notices: Notices
    faults: Faults

    def tell(self, tx: Transaction, *topics: str) -> None:
        """Wake the waiters of these topics once the transaction is durable."""
        for topic in topics:
            tx.after_commit(lambda topic=topic: self.notices.tell(topic))
