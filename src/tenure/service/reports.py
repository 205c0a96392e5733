"""Facts that workers report: each answered once it is durable, applied once by its id.

Contracts: C070 C081 C082 C090.
"""

from collections.abc import Sequence

import msgspec

from tenure.core.canonical import digest
from tenure.core.checkpoint import Checkpoint
from tenure.core.claim import Standing
from tenure.core.effect import Effect, EffectState
from tenure.core.errors import Invalid
from tenure.core.event import (
    Answer,
    Body,
    CheckpointBody,
    EffectBody,
    Event,
    EventAnswer,
    StepBody,
    read_body,
)
from tenure.core.ids import attempt_id, check_id
from tenure.core.settlement import settle
from tenure.core.task import Task, TaskState
from tenure.core.witness import take_outcome
from tenure.ports.board import Proof
from tenure.ports.facts import Fact
from tenure.ports.store import Transaction
from tenure.service.changes import save
from tenure.service.dispatch import presented
from tenure.service.injected import Injected

EVENTS_MAX = 1_000


def report(tx: Transaction, injected: Injected, events: Sequence[Event]) -> list[EventAnswer]:
    """Apply events in order and answer each; one bad event never spoils its batch."""
    if len(events) > EVENTS_MAX:
        raise Invalid(f"{len(events)} events; at most {EVENTS_MAX} per call", path="events")
    batch = _Batch(tx, injected, events)
    answers = [batch.take(event) for event in events]
    batch.save()
    return answers


class _Batch:
    """One call's events: what was loaded for them, and what is to be saved."""

    def __init__(self, tx: Transaction, injected: Injected, events: Sequence[Event]) -> None:
        ids = {e.task_id for e in events}
        self.tx = tx
        self.injected = injected
        self.now = tx.now()
        self.seen = tx.facts.seen([e.event_id for e in events])
        self.tasks = tx.board.load(ids)
        self.proofs = tx.board.proofs({presented(e.task_id, e.token) for e in events})
        self.sequences = tx.facts.last_sequences({(e.task_id, e.generation) for e in events})
        self.ledger = {
            id_: {e.name: e for e in effects} for id_, effects in tx.ledger.effects(self.tasks.keys()).items()
        }
        self.changed: dict[str, Task] = {}
        self.effects: dict[tuple[str, str], Effect] = {}
        self.checkpoints: dict[str, tuple[str, int, Checkpoint]] = {}
        self.facts: list[Fact] = []

    def take(self, event: Event) -> EventAnswer:
        content = digest([str(event.kind), event.task_id, event.generation, event.attempt_epoch, event.body])
        before = self.seen.get(event.event_id)
        if before is not None:
            if before.digest == content:
                return EventAnswer(event.event_id, Answer.DUPLICATE)
            return _invalid(event, "the same event id came before with other content")
        try:
            body = _read(event)
        except Invalid as error:
            return _invalid(event, error.text)
        task = self.tasks.get(event.task_id)
        if task is None:
            return self._keep(event, content, Answer.STALE, "pruned")
        proof = self.proofs[presented(event.task_id, event.token)]
        if proof.standing is Standing.UNMINTED or proof.generation != event.generation:
            return _invalid(event, "this token was not minted for that claim")
        if event.sequence <= self.sequences.get((event.task_id, event.generation), -1):
            return self._keep(event, content, Answer.STALE, "out of sequence")
        self.sequences[event.task_id, event.generation] = event.sequence
        answer, detail, flagged = self._apply(task, event, body, proof)
        return self._keep(event, content, answer, detail, flagged=flagged)

    def _apply(self, task: Task, event: Event, body: Body, proof: Proof) -> tuple[Answer, str, bool]:
        match body:
            case CheckpointBody():
                return self._checkpoint(task, event, body, proof)
            case StepBody():
                return self._step(task, event, body, proof)
            case EffectBody():
                return self._effect(task, event, body, proof)
            case _:
                entries = list(self.ledger.get(task.id, {}).values())
                jitter = self.injected.ids.jitter()
                outcome = settle(
                    task, entries, event.kind, body, proof.standing, event.attempt_epoch, self.now, jitter
                )
                if outcome.accepted:
                    self._change(_heard(outcome.task, event.attempt_epoch))
                return _answer(accepted=outcome.accepted), outcome.detail, outcome.flagged

    def _checkpoint(
        self, task: Task, event: Event, body: CheckpointBody, proof: Proof
    ) -> tuple[Answer, str, bool]:
        if proof.standing is not Standing.NEWEST or task.state not in (TaskState.CLAIMED, TaskState.UNKNOWN):
            return Answer.STALE, "", False
        instance = task.claim.instance_id if task.claim else None
        saved = Checkpoint(body.value, event.sequence, body.portable, instance_id=instance or "")
        self.checkpoints[task.id] = (task.id, event.generation, saved)
        return Answer.ACCEPTED, "", False

    def _step(self, task: Task, event: Event, body: StepBody, proof: Proof) -> tuple[Answer, str, bool]:
        if proof.standing is not Standing.NEWEST or task.state.is_settled or task.claim is None:
            return Answer.STALE, "", False
        entry = Effect(
            task_id=task.id,
            run=task.run,
            name=body.name,
            request_id="",
            digest="",
            state=EffectState.APPLIED,
            generation=event.generation,
            epoch=event.attempt_epoch,
            agent=task.claim.agent,
            witnessed_at=self.now,
            kind="step",
            result=body.result,
            decided_by="evidence",
        )
        self._enter(entry)
        self._change(task.changed(self.now))
        return Answer.ACCEPTED, "", False

    def _effect(self, task: Task, event: Event, body: EffectBody, proof: Proof) -> tuple[Answer, str, bool]:
        known = self.ledger.get(task.id, {}).get(body.name)
        outcome = take_outcome(
            task,
            known,
            body,
            proof.standing,
            event.generation,
            event.attempt_epoch,
            self.now,
            self.injected.ids.jitter(),
        )
        if outcome.effect is not None:
            self._enter(outcome.effect)
            self._change(outcome.task)
        return _answer(accepted=outcome.accepted), "", outcome.flagged

    def _enter(self, effect: Effect) -> None:
        self.ledger.setdefault(effect.task_id, {})[effect.name] = effect
        self.effects[effect.task_id, effect.name] = effect

    def _change(self, task: Task) -> None:
        self.tasks[task.id] = task
        self.changed[task.id] = task

    def _keep(
        self, event: Event, content: str, answer: Answer, detail: str, *, flagged: bool = False
    ) -> EventAnswer:
        """Keep an event in the history, applied or beside; from here on its id is a duplicate."""
        fact = Fact(
            task_id=event.task_id,
            kind=str(event.kind),
            at=self.now,
            generation=event.generation,
            body=event.body | ({"flagged": True} if flagged else {}),
            event_id=event.event_id,
            digest=content,
            attempt_epoch=event.attempt_epoch,
            sequence=event.sequence,
            answer=str(answer),
        )
        self.facts.append(fact)
        self.seen[event.event_id] = fact
        return EventAnswer(event.event_id, answer, detail)

    def save(self) -> None:
        """Write everything that the events changed."""
        self.tx.facts.record(self.facts)
        self.tx.ledger.save(list(self.effects.values()))
        self.tx.ledger.save_checkpoints(list(self.checkpoints.values()))
        save(self.tx, self.injected, self.changed.values())


def _read(event: Event) -> Body:
    check_id("event_id", event.event_id)
    if event.attempt_id != attempt_id(event.task_id, event.generation):
        raise Invalid("is not that of the task and generation", path="attempt_id")
    return read_body(event.kind, event.body)


def _heard(task: Task, epoch: int) -> Task:
    claim = task.claim
    if claim is None or claim.epoch >= epoch:
        return task
    return msgspec.structs.replace(task, claim=msgspec.structs.replace(claim, epoch=epoch))


def _answer(*, accepted: bool) -> Answer:
    return Answer.ACCEPTED if accepted else Answer.STALE


def _invalid(event: Event, detail: str) -> EventAnswer:
    return EventAnswer(event.event_id, Answer.INVALID, detail)
