"""The append-only history, and the ledger of effects, steps and checkpoints. C077 C081 C082, D16."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from tenure.core.checkpoint import Checkpoint
from tenure.core.effect import Effect, EffectState, SettledBy
from tenure.core.event import FINAL_KINDS, Answer, EventKind
from tenure.core.instants import from_micros, to_micros
from tenure.ports.facts import Fact
from tenure.stores.sqlite.control.columns import JsonColumn, json_if_any, json_or_null, json_text
from tenure.stores.sqlite.control.rows import ANYTHING, CONTENT
from tenure.stores.sqlite.database import Database, Row, Value
from tenure.stores.sqlite.statements import Statement, load_statements

_ENDS = json_text(sorted({*FINAL_KINDS, EventKind.LOST}))
_SETTLED_BY = JsonColumn(tuple[SettledBy, ...], tuple[SettledBy, ...])


@dataclass(frozen=True, slots=True)
class FactsSql:
    """The statements of `facts.sql`."""

    fact_add: Statement
    sequence_raise: Statement
    sequence_load: Statement
    fact_seen: Statement
    fact_history: Statement
    fact_ends: Statement
    fact_position: Statement
    effect_load: Statement
    effect_save: Statement
    checkpoint_load: Statement
    checkpoint_save: Statement


SQL = load_statements(FactsSql, Path(__file__).parent / "sql" / "facts.sql")


class SqliteFacts:
    """The append-only history, within one transaction."""

    def __init__(self, database: Database) -> None:
        """Ask this database."""
        self._database = database

    def record(self, facts: Sequence[Fact]) -> None:
        """Append facts in order; the highest accepted sequence of an attempt is kept beside its claim."""
        self._database.change_each(SQL.fact_add, [_fact_values(fact) for fact in facts])
        highest: dict[tuple[str, int], int] = {}
        for fact in facts:
            if fact.event_id is not None and fact.answer == Answer.ACCEPTED:
                attempt = (fact.task_id, fact.generation)
                highest[attempt] = max(fact.sequence, highest.get(attempt, 0))
        raised = [(sequence, *attempt) for attempt, sequence in highest.items()]
        self._database.change_each(SQL.sequence_raise, raised)

    def seen(self, event_ids: Collection[str]) -> dict[str, Fact]:
        """Return the facts that these event ids were kept as."""
        rows = self._database.rows(SQL.fact_seen, event_ids=json_text(list(event_ids)))
        return {row[5]: _fact(row) for row in rows}

    def last_sequences(self, attempts: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Return the highest accepted event sequence of each (task id, generation)."""
        asked = list(attempts)
        rows = self._database.rows(SQL.sequence_load, attempts=json_text(asked))
        return {asked[place]: sequence for place, sequence in rows}

    def history(self, task_id: str, after: int, limit: int) -> list[Fact]:
        """Return a task's facts beyond a position, in order."""
        rows = self._database.rows(SQL.fact_history, task_id=task_id, after=after, limit=limit)
        return [_fact(row) for row in rows]

    def ends_told(self, task_ids: Collection[str]) -> dict[tuple[str, int], int]:
        """Return the newest execution whose end its own holder has told, by (task id, generation)."""
        rows = self._database.rows(SQL.fact_ends, task_ids=json_text(list(task_ids)), kinds=_ENDS)
        return {(task_id, generation): epoch for task_id, generation, epoch in rows}

    def position(self) -> int:
        """Return the number of the last fact."""
        row = self._database.row(SQL.fact_position)
        return 0 if row is None else row[0]


class SqliteLedger:
    """Effects and steps by (task, run, name), and each run's newest checkpoint, within one transaction."""

    def __init__(self, database: Database) -> None:
        """Ask this database."""
        self._database = database

    def effects(self, task_ids: Collection[str]) -> dict[str, list[Effect]]:
        """Return the entries of each task's present run, in the order of their first witness."""
        entries: dict[str, list[Effect]] = {}
        for row in self._database.rows(SQL.effect_load, task_ids=json_text(list(task_ids))):
            entries.setdefault(row[0], []).append(_effect(row))
        return entries

    def save(self, effects: Sequence[Effect]) -> None:
        """Add or change entries."""
        self._database.change_each(SQL.effect_save, [_effect_values(effect) for effect in effects])

    def checkpoints(self, task_ids: Collection[str]) -> dict[str, Checkpoint]:
        """Return the newest checkpoint of each task's present run."""
        rows = self._database.rows(SQL.checkpoint_load, task_ids=json_text(list(task_ids)))
        return {
            row[0]: Checkpoint(ANYTHING.read(row[1]), row[2], bool(row[3]), row[4], row[5]) for row in rows
        }

    def save_checkpoints(self, checkpoints: Sequence[tuple[str, int, Checkpoint]]) -> None:
        """Keep (task id, generation, checkpoint) as newest; an older generation changes nothing."""
        rows = [
            (
                generation,
                saved.sequence,
                saved.portable,
                saved.node_id,
                saved.instance_id,
                json_or_null(saved.value),
                task_id,
            )
            for task_id, generation, saved in checkpoints
        ]
        self._database.change_each(SQL.checkpoint_save, rows)


def _fact_values(fact: Fact) -> tuple[Value, ...]:
    """Return the values of `fact_add`."""
    return (
        fact.task_id,
        fact.generation,
        fact.kind,
        to_micros(fact.at),
        fact.event_id,
        fact.digest,
        fact.attempt_epoch,
        fact.sequence,
        fact.answer,
        json_if_any(fact.body),
    )


def _fact(row: Row) -> Fact:
    return Fact(
        position=row[0],
        task_id=row[1],
        generation=row[2],
        kind=row[3],
        at=from_micros(row[4]),
        event_id=row[5],
        digest=row[6],
        attempt_epoch=row[7],
        sequence=row[8],
        answer=row[9],
        body=CONTENT.read(row[10]),
    )


def _effect_values(effect: Effect) -> tuple[Value, ...]:
    """Return the values of `effect_save`."""
    return (
        effect.task_id,
        effect.run,
        effect.name,
        effect.request_id,
        effect.digest,
        effect.state,
        effect.generation,
        effect.epoch,
        effect.agent,
        to_micros(effect.witnessed_at),
        effect.kind,
        json_or_null(effect.params),
        json_if_any(effect.settled_by),
        effect.after,
        json_or_null(effect.result),
        effect.decided_by,
    )


def _effect(row: Row) -> Effect:
    return Effect(
        task_id=row[0],
        run=row[1],
        name=row[2],
        request_id=row[3],
        digest=row[4],
        state=EffectState(row[5]),
        generation=row[6],
        epoch=row[7],
        agent=row[8],
        witnessed_at=from_micros(row[9]),
        kind=row[10],
        params=ANYTHING.read(row[11]),
        settled_by=_SETTLED_BY.read(row[12]),
        after=row[13],
        result=ANYTHING.read(row[14]),
        decided_by=row[15],
    )
