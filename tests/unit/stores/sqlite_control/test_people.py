"""Verdicts, credentials, and what the store knows of itself."""

import msgspec
import pytest

from tenure.core.errors import InvariantBroken
from tenure.core.instants import after
from tenure.core.verdict import Verdict, VerdictRow
from tenure.ports.credentials import Credential
from tenure.ports.pulse import Pulse
from tests.support.worker.clock import START
from tests.unit.stores.sqlite_control.making import Bench


def verdict(answer: Verdict, **fields: object) -> VerdictRow:
    plain = VerdictRow(
        task_id="a",
        run=1,
        subject="charge",
        verdict=answer,
        given_by="me",
        given_at=START,
        revision=4,
    )
    return msgspec.structs.replace(plain, **fields)


def test_verdicts_are_kept_in_order_and_the_last_deciding_one_counts(bench: Bench) -> None:
    """C119 C120: of that run and subject; a look decides nothing."""
    first = verdict(
        Verdict.DID_NOT_HAPPEN, result={"id": 2**70}, note="asked the bank", anyway=True, revision=7
    )
    rows = [
        first,
        verdict(Verdict.HAPPENED, subject="mail"),
        verdict(Verdict.ABANDON, run=2),
        verdict(Verdict.STILL_UNKNOWN),
        verdict(Verdict.HAPPENED, task_id="b"),
    ]
    for row in rows:
        bench.do(lambda tx, row=row: tx.verdicts.add(row))
    assert bench.look(lambda tx: tx.verdicts.of_task("a")) == rows[:4]
    assert bench.look(lambda tx: tx.verdicts.last_deciding("a", 1, "charge")) == first
    assert bench.look(lambda tx: tx.verdicts.last_deciding("a", 1, "nothing")) is None
    second = verdict(Verdict.HAPPENED, given_at=after(START, 1.0))
    bench.do(lambda tx: tx.verdicts.add(second))
    assert bench.look(lambda tx: tx.verdicts.last_deciding("a", 1, "charge")) == second


def credential(id_: str, **fields: object) -> Credential:
    plain = Credential(id_, f"name of {id_}", "worker", f"hash of {id_}", START)
    return msgspec.structs.replace(plain, **fields)


def test_a_credential_is_found_by_its_digest(bench: Bench) -> None:
    """C118: expired and revoked ones too; their bearer is told apart from a stranger elsewhere."""
    full = credential(
        "b",
        role="submit",
        queues=("night", "day"),
        created_at=after(START, -5.0),
        expires_at=after(START, -1.0),
        revoked_at=after(START, -2.0),
    )
    none = credential("c", queues=())
    for each in (credential("a"), full, none):
        bench.do(lambda tx, each=each: tx.credentials.add(each))
    assert bench.look(lambda tx: tx.credentials.by_token("hash of b")) == full
    assert bench.look(lambda tx: tx.credentials.by_token("hash of d")) is None
    assert bench.look(lambda tx: tx.credentials.all()) == [full, credential("a"), none]


def test_a_credential_is_revoked_once(bench: Bench) -> None:
    """C118."""
    bench.do(lambda tx: tx.credentials.add(credential("a")))
    bench.clock.advance(1.0)
    assert bench.do(lambda tx: tx.credentials.revoke("a"))
    bench.clock.advance(1.0)
    assert bench.do(lambda tx: tx.credentials.revoke("a"))
    assert not bench.do(lambda tx: tx.credentials.revoke("nobody"))
    assert bench.look(lambda tx: tx.credentials.all()) == [credential("a", revoked_at=after(START, 1.0))]


def test_a_token_belongs_to_one_credential(bench: Bench) -> None:
    bench.do(lambda tx: tx.credentials.add(credential("a")))
    with pytest.raises(InvariantBroken):
        bench.do(lambda tx: tx.credentials.add(credential("b", token_hash="hash of a")))


def test_the_pulse_is_one_row(bench: Bench) -> None:
    """D19."""
    assert bench.look(lambda tx: tx.pulse.read()) is None
    for number in (1, 2):
        pulse = Pulse(after(START, number), 0.125 * number, after(START, -number), f"s{number}")
        bench.do(lambda tx, pulse=pulse: tx.pulse.write(pulse))
        assert bench.look(lambda tx: tx.pulse.read()) == pulse


def test_the_epoch_of_a_new_store_is_one(bench: Bench) -> None:
    """D27."""
    assert bench.look(lambda tx: tx.pulse.epoch()) == 1


def test_now_is_the_stores(bench: Bench) -> None:
    """C007."""
    bench.clock.advance(1.5)
    assert bench.do(lambda tx: tx.now()) == after(START, 1.5)
    assert bench.look(lambda tx: tx.now()) == after(START, 1.5)
