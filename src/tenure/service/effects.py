"""Witnesses: may this execution begin this effect? One transaction, guarded by the newest token.

And a renewal too. Contracts: D16.
"""

from collections.abc import Sequence

import msgspec

from tenure.core.claim import Standing
from tenure.core.effect import (
    ATTEMPT_SUBJECT,
    EFFECT_NAME_MAX,
    Effect,
    WitnessAnswer,
    WitnessRequest,
    WitnessStanding,
)
from tenure.core.errors import Invalid
from tenure.core.task import Task
from tenure.core.witness import Witness, witness
from tenure.ports.board import Renewal
from tenure.ports.facts import Fact
from tenure.ports.store import Transaction
from tenure.service.changes import save
from tenure.service.dispatch import presented
from tenure.service.holders import Holders
from tenure.service.injected import Injected

EFFECTS_MAX = 100


def witness_many(tx: Transaction, injected: Injected, asked: Sequence[WitnessRequest]) -> list[WitnessAnswer]:
    """Answer witness requests in order; a permit is recorded before its `go` can be heard of."""
    _check(asked)
    proofs = tx.board.proofs([presented(a.task_id, a.token) for a in asked])
    tasks = tx.board.load({a.task_id for a in asked})
    ledger = {id_: {e.name: e for e in effects} for id_, effects in tx.ledger.effects(tasks.keys()).items()}
    holders = Holders(tx, {id_: entries.values() for id_, entries in ledger.items()})
    now = tx.now()
    answers: list[WitnessAnswer] = []
    permits: list[Effect] = []
    changed: dict[str, Task] = {}
    for ask in asked:
        task = changed.get(ask.task_id) or tasks.get(ask.task_id)
        standing = proofs[presented(ask.task_id, ask.token)].standing
        entries = ledger.setdefault(ask.task_id, {})
        known = entries.get(ask.name)
        decided = witness(task, standing, known, holders.of(known), ask, now)
        if decided.effect is not None and task is not None:
            entries[ask.name] = decided.effect
            permits.append(decided.effect)
            changed[task.id] = _heard(task, ask.attempt_epoch).changed(now)
        answers.append(_say(ask, decided, task))
    tx.ledger.save(permits)
    tx.facts.record([_fact(tx, effect) for effect in permits])
    save(tx, injected, changed.values())
    _renew(tx, asked, [proofs[presented(a.task_id, a.token)].standing for a in asked], tasks)
    return answers


def _check(asked: Sequence[WitnessRequest]) -> None:
    if len(asked) > EFFECTS_MAX:
        raise Invalid(f"{len(asked)} effects; at most {EFFECTS_MAX} per call", path="effects")
    for index, ask in enumerate(asked):
        if not 1 <= len(ask.name) <= EFFECT_NAME_MAX:
            raise Invalid(f"use 1 to {EFFECT_NAME_MAX} characters", path=f"effects[{index}].name")
        if ask.name == ATTEMPT_SUBJECT:
            raise Invalid(f"an effect may not be named {ATTEMPT_SUBJECT!r}", path=f"effects[{index}].name")
        if ask.attempt_epoch < 1:
            raise Invalid("use 1 or more", path=f"effects[{index}].attempt_epoch")


def _heard(task: Task, epoch: int) -> Task:
    claim = task.claim
    if claim is None or claim.epoch >= epoch:
        return task
    return msgspec.structs.replace(task, claim=msgspec.structs.replace(claim, epoch=epoch))


def _fact(tx: Transaction, effect: Effect) -> Fact:
    return Fact(
        task_id=effect.task_id,
        kind="witnessed",
        at=tx.now(),
        generation=effect.generation,
        attempt_epoch=effect.epoch,
        body={"name": effect.name, "request_id": effect.request_id, "after": effect.after},
    )


def _renew(
    tx: Transaction, asked: Sequence[WitnessRequest], standings: Sequence[Standing], tasks: dict[str, Task]
) -> None:
    newest = {
        a.task_id: Renewal(a.task_id, presented(a.task_id, a.token).token_hash, _ttl(tasks[a.task_id]))
        for a, standing in zip(asked, standings, strict=True)
        if standing is Standing.NEWEST and a.task_id in tasks
    }
    tx.board.renew(list(newest.values()))


def _ttl(task: Task) -> float:
    return task.claim.ttl_s if task.claim is not None else task.lease_ttl_s


def _say(ask: WitnessRequest, decided: Witness, task: Task | None) -> WitnessAnswer:
    known = decided.known
    doubt = decided.standing is WitnessStanding.IN_DOUBT
    return WitnessAnswer(
        task_id=ask.task_id,
        name=ask.name,
        standing=decided.standing,
        ttl_s=_ttl(task) if task is not None else 0.0,
        result=known.result if known is not None and decided.standing is WitnessStanding.APPLIED else None,
        since=known.witnessed_at if known is not None and doubt else None,
        agent=known.agent if known is not None and doubt else None,
        generation=known.generation if known is not None and doubt else None,
        predecessor=decided.predecessor,
    )
