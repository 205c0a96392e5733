"""What people decide: cancel, retry, and verdicts on what is unknown. C073, C119, C120."""

import msgspec

from tenure.core.claiming import void_start
from tenure.core.command import CommandKind, CommandRow, CommandState, command_digest
from tenure.core.errors import NotFound, OutcomeUnknown, StaleRevision, Taken, Terminal
from tenure.core.settlement import unsettled_subjects
from tenure.core.task import Task, TaskState, TaskStep
from tenure.core.verdict import Verdict, VerdictRequest, VerdictRow, decide_verdict
from tenure.core.view import TaskView
from tenure.ports.facts import Fact
from tenure.ports.store import Transaction
from tenure.service.changes import save
from tenure.service.holders import Holders
from tenure.service.injected import Injected
from tenure.service.principal import Principal
from tenure.service.views import view


def load(tx: Transaction, who: Principal, task_id: str) -> Task:
    """Return the task, or raise `NotFound` also where the caller may not see its queue."""
    task = tx.board.load([task_id]).get(task_id)
    if task is None or (who.queues is not None and task.queue not in who.queues):
        raise NotFound(f"there is no task {task_id}")
    return task


def cancel(
    tx: Transaction, injected: Injected, who: Principal, task_id: str, revision: int | None
) -> TaskView:
    """Cancel a task, or ask its holder to: one transaction decides (B33).

    Blocked, open and failed tasks, and claims that were never acknowledged, are cancelled at once;
    acknowledged work gets a request, and whoever settles first wins. An unknown one is given up: that is a
    verdict.
    """
    who.require("submit")
    task = load(tx, who, task_id)
    _at(task, revision)
    if task.state in (TaskState.DONE, TaskState.CANCELLED):
        return view(tx, task)
    if task.state is TaskState.UNKNOWN:
        return _give_up(tx, injected, who, task)
    now = tx.now()
    holder = task.holder
    if task.state is not TaskState.CLAIMED:
        changed = task.after(TaskStep.CANCEL, now)
    elif holder is not None and holder.pushed and not holder.acknowledged:
        changed = void_start(msgspec.structs.replace(task, cancel_requested=True), now)
    elif task.cancel_requested:
        return view(tx, task)
    else:
        changed = task.changed(now, cancel_requested=True)
        _tell_holder(tx, injected, changed)
    kind = "cancelled" if changed.state is TaskState.CANCELLED else "cancel_requested"
    tx.facts.record([Fact(task_id, kind, now, task.generation, {"by": who.name})])
    save(tx, injected, [changed])
    return view(tx, changed)


def _tell_holder(tx: Transaction, injected: Injected, task: Task) -> None:
    holder = task.holder
    if holder is None or holder.instance_id is None:
        return
    body: dict[str, object] = {}
    row = CommandRow(
        command_id=injected.ids.new_id(),
        worker_id=holder.agent,
        instance_id=holder.instance_id,
        sequence=0,
        kind=CommandKind.CANCEL,
        digest=command_digest(CommandKind.CANCEL, task.id, holder.generation, None, body),
        state=CommandState.QUEUED,
        queued_at=tx.now(),
        task_id=task.id,
        generation=holder.generation,
        body=body,
    )
    tx.commands.add([row])
    injected.tell(tx, f"worker:{holder.agent}")


def _give_up(tx: Transaction, injected: Injected, who: Principal, task: Task) -> TaskView:
    who.require("admin")
    asked = msgspec.structs.replace(task, cancel_requested=True)
    given = VerdictRequest(task.subjects[0], Verdict.ABANDON, task.revision, note="cancelled", anyway=True)
    return _decide(tx, injected, who, asked, given)


def retry(
    tx: Transaction, injected: Injected, who: Principal, task_id: str, *, afresh: bool, revision: int | None
) -> TaskView:
    """Open a failed or cancelled task again; applied effects are not repeated unless a new run is begun.

    Raises:
        Terminal: The task is done. OutcomeUnknown: The task is unknown, or an effect is left in doubt that
        running again could not settle. Taken: The task is claimed.
    """
    who.require("submit")
    task = load(tx, who, task_id)
    _at(task, revision)
    match task.state:
        case TaskState.DONE:
            raise Terminal(f"task {task_id} is done")
        case TaskState.UNKNOWN:
            raise OutcomeUnknown(f"task {task_id} waits for a verdict", subjects=task.subjects)
        case TaskState.CLAIMED:
            raise Taken(f"task {task_id} is claimed")
        case TaskState.OPEN | TaskState.BLOCKED:
            return view(tx, task)
        case TaskState.FAILED | TaskState.CANCELLED:
            rule = task.claim.rule if task.claim else None
            doubts = unsettled_subjects(tx.ledger.effects([task_id]).get(task_id, []), rule)
            if (doubts or task.subjects) and not afresh:
                named = tuple(dict.fromkeys([*task.subjects, *doubts]))
                raise OutcomeUnknown(f"{', '.join(named)} of task {task_id} is in doubt", subjects=named)
    now = tx.now()
    changed = task.after(
        TaskStep.REOPEN,
        now,
        run=task.run + (1 if afresh else 0),
        attempts=0,
        losses=0,
        interruptions=0,
        cancel_requested=False,
        not_before=None,
        error=None,
        subjects=(),
    )
    tx.facts.record([Fact(task_id, "retried", now, task.generation, {"by": who.name, "afresh": afresh})])
    save(tx, injected, [changed])
    return view(tx, changed)


def verdict(
    tx: Transaction, injected: Injected, who: Principal, task_id: str, given: VerdictRequest
) -> TaskView:
    """Decide a subject that is in doubt.

    Applied once, fenced against late results, kept with who, when and why.
    """
    who.require("admin")
    return _decide(tx, injected, who, load(tx, who, task_id), given)


def _decide(
    tx: Transaction, injected: Injected, who: Principal, task: Task, given: VerdictRequest
) -> TaskView:
    ledger = tx.ledger.effects([task.id]).get(task.id, [])
    before = tx.verdicts.last_deciding(task.id, task.run, given.subject)
    now = tx.now()
    effect = next((e for e in ledger if e.name == given.subject), None)
    holder = Holders(tx, {task.id: ledger}).of(effect)
    decided = decide_verdict(task, ledger, given, before, now, holder)
    if decided.repeated:
        return view(tx, decided.task)
    tx.verdicts.add(
        VerdictRow(
            task_id=task.id,
            run=task.run,
            subject=given.subject,
            verdict=given.verdict,
            given_by=who.name,
            given_at=now,
            revision=given.revision,
            result=given.result,
            note=given.note,
            anyway=given.anyway,
        )
    )
    body: dict[str, object] = {
        "subject": given.subject,
        "verdict": str(given.verdict),
        "by": who.name,
        "note": given.note,
        "result": given.result,
        "anyway": given.anyway,
    }
    tx.facts.record([Fact(task.id, "verdict", now, task.generation, body)])
    if decided.effect is not None:
        tx.ledger.save([decided.effect])
    save(tx, injected, [decided.task])
    return view(tx, decided.task)


def _at(task: Task, revision: int | None) -> None:
    if revision is not None and revision != task.revision:
        raise StaleRevision(f"the task is at revision {task.revision}, not {revision}; look again")
