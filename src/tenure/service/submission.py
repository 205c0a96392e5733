"""Submission: all or none, the same id or key names the same task, dependencies must exist. C016, B25."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from tenure.core.errors import Invalid, KeyConflict
from tenure.core.instants import after
from tenure.core.submission import TASKS_MAX, check_spec, cyclic
from tenure.core.task import Task, TaskSpec, TaskState
from tenure.ports.board import Known, NewTask
from tenure.ports.facts import Fact
from tenure.ports.store import Transaction
from tenure.service.injected import Injected
from tenure.service.principal import Principal


class Submitted(Struct, frozen=True):
    """One submitted task; `created` is false when it was there before."""

    id: str
    state: TaskState
    created: bool


def submit(tx: Transaction, injected: Injected, who: Principal, specs: Sequence[TaskSpec]) -> list[Submitted]:
    """Add the tasks that are not there yet, and return all of them in order.

    Raises:
        Invalid: A field, an unknown or a cyclic dependency.
        KeyConflict: An id or key names a task with other content.
        Forbidden: A queue that the caller's credential is not for.
    """
    who.require("submit")
    named = _checked(injected, who, specs)
    known = tx.selection.known([s.id for s in named if s.id], [(s.queue, s.key) for s in named if s.key])
    now = tx.now()
    answers: list[Submitted] = []
    fresh: dict[str, NewTask] = {}
    aliases: dict[tuple[str, str], str] = {}
    for index, spec in enumerate(named):
        digest = spec.content_digest()
        there = _there(spec, known, fresh, aliases)
        if there is not None:
            answers.append(_same(there, digest, index))
            continue
        new = NewTask(_entity(spec, now), spec, digest)
        fresh[new.task.id] = new
        if spec.key is not None:
            aliases[(spec.queue, spec.key)] = new.task.id
        answers.append(Submitted(new.task.id, new.task.state, created=True))
    added = _with_dependencies(tx, named, fresh)
    tx.board.add(list(added.values()))
    tx.facts.record([Fact(task_id=id_, kind="submitted", at=now, body={"by": who.name}) for id_ in added])
    if added:
        injected.tell(tx, "board")
    return [msgspec.structs.replace(a, state=added[a.id].task.state) if a.id in added else a for a in answers]


def _checked(injected: Injected, who: Principal, specs: Sequence[TaskSpec]) -> list[TaskSpec]:
    if not 1 <= len(specs) <= TASKS_MAX:
        raise Invalid(f"{len(specs)} tasks; use 1 to {TASKS_MAX} per call", path="tasks")
    named: list[TaskSpec] = []
    for index, spec in enumerate(specs):
        check_spec(spec, f"tasks[{index}]")
        who.require_queue(spec.queue)
        named.append(spec if spec.id else msgspec.structs.replace(spec, id=injected.ids.new_id()))
    return named


def _there(
    spec: TaskSpec,
    known: Mapping[str | tuple[str, str], Known],
    fresh: Mapping[str, NewTask],
    aliases: Mapping[tuple[str, str], str],
) -> Known | None:
    """Return what this spec's id or key names already, in the store or earlier in the same call."""
    pair = (spec.queue, spec.key) if spec.key is not None else None
    found = known.get(spec.id or "") or (known.get(pair) if pair else None)
    if found is not None:
        return found
    new = fresh.get(spec.id or "") or (fresh.get(aliases.get(pair, "")) if pair else None)
    return None if new is None else Known(new.task.id, new.content_digest, new.task.state)


def _same(there: Known, digest: str, index: int) -> Submitted:
    if there.content_digest != digest:
        raise KeyConflict(f"tasks[{index}]: task {there.task_id} was submitted before with other content")
    return Submitted(there.task_id, there.state, created=False)


def _entity(spec: TaskSpec, now: datetime) -> Task:
    not_before = spec.not_before if spec.delay_s is None else after(now, spec.delay_s)
    return Task(
        id=spec.id or "",
        capability=spec.capability,
        version=spec.version,
        queue=spec.queue,
        priority=spec.priority,
        state=TaskState.OPEN,
        revision=1,
        generation=0,
        run=1,
        attempts=0,
        losses=0,
        interruptions=0,
        max_attempts=spec.max_attempts,
        max_losses=spec.max_losses,
        backoff=spec.backoff,
        lease_ttl_s=spec.lease_ttl_s,
        created_at=now,
        updated_at=now,
        not_before=not_before,
        deadline=spec.deadline,
        on_dependency_failure=spec.on_dependency_failure,
        requires=spec.requires,
        resources=spec.resources,
    )


def _with_dependencies(
    tx: Transaction, named: Sequence[TaskSpec], fresh: Mapping[str, NewTask]
) -> dict[str, NewTask]:
    """Return the new tasks, blocked where a dependency is not done."""
    if not any(new.spec.depends_on for new in fresh.values()):
        return dict(fresh)
    places = {spec.id: index for index, spec in enumerate(named)}
    cycle = cyclic({id_: new.spec.depends_on for id_, new in fresh.items()})
    if cycle:
        raise Invalid(f"a cycle: {' → '.join(cycle)}", path=f"tasks[{places.get(cycle[0], 0)}].depends_on")
    outside = {d for new in fresh.values() for d in new.spec.depends_on if d not in fresh}
    states = {id_: known.state for id_, known in _by_id(tx, outside).items()}
    added: dict[str, NewTask] = {}
    for id_, new in fresh.items():
        for place, dependency in enumerate(new.spec.depends_on):
            if dependency not in fresh and dependency not in states:
                path = f"tasks[{places.get(id_, 0)}].depends_on[{place}]"
                raise Invalid(f"there is no task {dependency}", path=path)
        waits = any(states.get(d) is not TaskState.DONE for d in new.spec.depends_on)
        state = TaskState.BLOCKED if waits else TaskState.OPEN
        added[id_] = msgspec.structs.replace(new, task=msgspec.structs.replace(new.task, state=state))
    return added


def _by_id(tx: Transaction, ids: set[str]) -> dict[str, Known]:
    return {k.task_id: k for k in tx.selection.known(ids, ()).values()} if ids else {}
