"""Rows of the local store to entities and back; what is the user's own is kept as JSON text."""

from collections.abc import Sequence
from typing import cast

import msgspec

from tenure.core.attempt import Attempt, AttemptState, LocalEffect, LocalEffectState
from tenure.core.capability import Recovery
from tenure.core.checkpoint import Progress
from tenure.core.effect import Evidence, SettledBy
from tenure.core.event import Event
from tenure.core.instants import from_micros, to_micros
from tenure.core.task import TaskSpec
from tenure.stores.sqlite.database import Row, Value

_ENCODER = msgspec.json.Encoder()
_SPEC = msgspec.json.Decoder(TaskSpec)
_EVIDENCE = msgspec.json.Decoder(Evidence)
_PROGRESS = msgspec.json.Decoder(Progress)
_EVENT = msgspec.json.Decoder(Event)
_SETTLED_BY = msgspec.json.Decoder(tuple[SettledBy, ...])
_JSON = msgspec.json.Decoder()


def to_text(value: object) -> str:
    """Return a value as JSON text."""
    return _ENCODER.encode(value).decode()


def from_text(text: str) -> object:
    """Return the value of a JSON text."""
    return _JSON.decode(text)


def ids_text(ids: object) -> str:
    """Return ids as the JSON array that `json_each` reads."""
    return _ENCODER.encode(list(cast("Sequence[str]", ids))).decode()


def new_attempt_values(attempt: Attempt) -> Sequence[Value]:
    """Return what `attempt_add` takes, in the order of its parameters."""
    return (
        attempt.id,
        attempt.command_id,
        attempt.task_id,
        attempt.generation,
        attempt.run,
        attempt.token,
        attempt.losses,
        to_text(dict(sorted(attempt.spec.resources.items()))),
        to_micros(attempt.received_at),
        attempt.cancel_requested,
    )


def work_values(attempt: Attempt) -> Sequence[Value]:
    """Return what `work_add` takes, in the order of its parameters."""
    return to_text(attempt.spec), to_text(attempt.evidence), attempt.id


def checkpoint_values(attempt: Attempt) -> Sequence[Value]:
    """Return what `checkpoint_save` takes, in the order of its parameters."""
    return to_text(attempt.checkpoint), attempt.checkpoint_portable, attempt.id


def attempt_values(attempt: Attempt) -> Sequence[Value]:
    """Return what `attempt_save` takes, in the order of its parameters."""
    return (
        str(attempt.state),
        attempt.epoch,
        attempt.lost_epoch,
        attempt.losses,
        None if attempt.rule is None else str(attempt.rule),
        attempt.manifest_digest,
        attempt.cancel_requested,
        None if attempt.progress is None else to_text(attempt.progress),
        attempt.progress_number,
        attempt.event_sequence,
        attempt.lease_kept,
        None if attempt.ended_at is None else to_micros(attempt.ended_at),
        attempt.id,
    )


def to_attempt(row: Row) -> Attempt:
    """Return the attempt of a row of `attempt_load` or `attempt_leased`."""
    checkpoint = row[14]
    return Attempt(
        id=row[0],
        task_id=row[1],
        generation=row[2],
        run=row[3],
        token=row[4],
        state=AttemptState(row[5]),
        epoch=row[6],
        spec=_SPEC.decode(row[7]),
        received_at=from_micros(row[8]),
        losses=row[9],
        rule=None if row[10] is None else Recovery(row[10]),
        manifest_digest=row[11],
        evidence=_EVIDENCE.decode(row[12]),
        cancel_requested=bool(row[13]),
        checkpoint=None if checkpoint is None else _JSON.decode(checkpoint),
        checkpoint_saved=checkpoint is not None,
        checkpoint_portable=checkpoint is None or bool(row[15]),
        progress=None if row[16] is None else _PROGRESS.decode(row[16]),
        progress_number=row[17],
        event_sequence=row[18],
        lease_kept=bool(row[19]),
        ended_at=None if row[20] is None else from_micros(row[20]),
        command_id=row[21],
        lost_epoch=row[22],
    )


def effect_values(effect: LocalEffect) -> Sequence[Value]:
    """Return what `effect_save` takes, in the order of its parameters."""
    return (
        effect.task_id,
        effect.run,
        effect.name,
        effect.request_id,
        effect.digest,
        str(effect.state),
        effect.epoch,
        effect.generation,
        effect.kind,
        to_text(effect.params),
        to_text(effect.settled_by),
        effect.go_saved,
        to_text(effect.result),
        effect.kept,
        effect.error,
    )


def to_effect(row: Row) -> LocalEffect:
    """Return the ledger's entry of a row of `effect_load`."""
    return LocalEffect(
        task_id=row[0],
        run=row[1],
        name=row[2],
        request_id=row[3],
        digest=row[4],
        state=LocalEffectState(row[5]),
        epoch=row[6],
        generation=row[7],
        kind=row[8],
        params=_JSON.decode(row[9]),
        settled_by=_SETTLED_BY.decode(row[10]),
        go_saved=bool(row[11]),
        result=_JSON.decode(row[12]),
        kept=bool(row[13]),
        error=row[14],
    )


def event_values(event: Event, stands_for: str | None = None) -> Sequence[Value]:
    """Return what `event_add` takes, in the order of its parameters."""
    return event.event_id, event.attempt_id, str(event.kind), event.kind.is_final, stands_for, to_text(event)


def to_event(row: Row) -> Event:
    """Return the event of a row of `event_pending`."""
    return _EVENT.decode(row[0])
