"""What becomes of an unfinished attempt, how an execution enters an effect, and what a worker takes."""

import msgspec
import pytest

from tenure.core.admission import House, InboxRow, decide_command
from tenure.core.attempt import Attempt, AttemptState, AttemptStep, LocalEffect, LocalEffectState
from tenure.core.capability import Capability, Recovery
from tenure.core.command import Command, CommandKind, command_digest
from tenure.core.restart import (
    Apply,
    Doubt,
    EndCancelled,
    EndUnknown,
    Mismatch,
    Reenter,
    Saved,
    StartAfresh,
    decide_entry,
    decide_restart,
)
from tenure.core.task import TaskSpec
from tests.unit.core.build import NOW


def an_attempt(state: AttemptState = AttemptState.RUNNING, **fields: object) -> Attempt:
    """Return an attempt in its first execution under QUERY."""
    stated: dict[str, object] = {
        "id": "t1.1",
        "task_id": "t1",
        "generation": 1,
        "run": 1,
        "token": "x",
        "state": state,
        "epoch": 1,
        "spec": TaskSpec("charge", id="t1"),
        "received_at": NOW,
        "rule": Recovery.QUERY,
        "manifest_digest": "m",
    }
    return Attempt(**(stated | fields))  # pyright: ignore[reportArgumentType] - a builder takes any field


def a_local(state: LocalEffectState = LocalEffectState.INTENDED, **fields: object) -> LocalEffect:
    """Return an effect that the first execution meant to apply, with its `go` saved."""
    stated: dict[str, object] = {
        "task_id": "t1",
        "run": 1,
        "name": "charge",
        "request_id": "t1.1.charge",
        "digest": "d",
        "state": state,
        "epoch": 1,
        "generation": 1,
        "go_saved": True,
    }
    return LocalEffect(**(stated | fields))  # pyright: ignore[reportArgumentType] - a builder takes any field


@pytest.mark.parametrize(
    ("rule", "decision"),
    [
        (Recovery.RECOMPUTE, Reenter),
        (Recovery.RESUME, Reenter),
        (Recovery.QUERY, Reenter),
        (Recovery.MANUAL, EndUnknown),
    ],
)
def test_the_rule_decides_about_a_running_attempt(rule: Recovery, decision: type) -> None:
    """C091, B34: a restart does not rerun everything that was running."""
    assert isinstance(decide_restart(an_attempt(rule=rule), [], rule, "m"), decision)


def test_a_pending_attempt_was_never_started() -> None:
    """C069: it starts freely."""
    pending = an_attempt(AttemptState.PENDING, rule=None)
    assert isinstance(decide_restart(pending, [], None, ""), StartAfresh)


def test_missing_or_changed_capabilities_end_with_a_person() -> None:
    """C093: never a rerun by default."""
    assert isinstance(decide_restart(an_attempt(), [], None, ""), EndUnknown)
    assert isinstance(decide_restart(an_attempt(), [], Recovery.QUERY, "other"), EndUnknown)


def test_an_effect_that_nothing_can_settle_makes_the_attempt_unknown() -> None:
    """C104, C108: a local "running" proves nothing about the outside."""
    decided = decide_restart(an_attempt(), [a_local()], Recovery.QUERY, "m")
    assert isinstance(decided, EndUnknown)
    assert decided.subjects == ("charge",)
    askable = a_local(settled_by=("find",))
    assert isinstance(decide_restart(an_attempt(), [askable], Recovery.QUERY, "m"), Reenter)


def test_an_effect_without_a_saved_go_was_never_applied() -> None:
    """recovery.md: a crash while waiting for the answer is not a false unknown."""
    waiting = a_local(go_saved=False)
    assert isinstance(decide_restart(an_attempt(), [waiting], Recovery.QUERY, "m"), Reenter)
    assert decide_entry(waiting, 2, "d") == Apply(after_absent=True)


def test_a_saved_cancel_holds_after_a_restart_unless_a_doubt_can_be_settled_first() -> None:
    """C073: not kept in memory."""
    asked = an_attempt(cancel_requested=True)
    assert isinstance(decide_restart(asked, [], Recovery.QUERY, "m"), EndCancelled)
    askable = a_local(settled_by=("find",))
    assert isinstance(decide_restart(asked, [askable], Recovery.QUERY, "m"), Reenter)


def test_decisions_are_repeatable() -> None:
    """C095: recovery itself can be killed anywhere and repeated."""
    again = [decide_restart(an_attempt(), [a_local()], Recovery.QUERY, "m") for _ in range(3)]
    assert again[0] == again[1] == again[2]


@pytest.mark.parametrize(
    ("known", "entry"),
    [
        (None, Apply),
        (a_local(LocalEffectState.APPLIED), Saved),
        (a_local(LocalEffectState.ABSENT), Apply),
        (a_local(), Doubt),
        (a_local(LocalEffectState.IN_DOUBT), Doubt),
        (a_local(digest="other"), Mismatch),
        (a_local(epoch=2), Mismatch),
    ],
)
def test_how_an_execution_enters_an_effect(known: LocalEffect | None, entry: type) -> None:
    """C106, C110: applied ones return their result, doubts are settled first, other params are refused."""
    assert isinstance(decide_entry(known, 2, "d"), entry)


def test_final_states_absorb() -> None:
    """C071: late progress, a second result or a late cancel do not change them."""
    done = an_attempt(AttemptState.SUCCEEDED)
    for step in AttemptStep:
        assert done.after(step) is done


HOUSE = House(
    instance_id="i1",
    capabilities=[Capability("charge", "1", Recovery.QUERY)],
    slots_free=1,
    resources_free={},
    drained=False,
    stopping=False,
)


def a_start(**fields: object) -> Command:
    """Return a good start command for this instance."""
    spec = TaskSpec("charge", id="t1")
    stated: dict[str, object] = {
        "command_id": "t1.1",
        "instance_id": "i1",
        "kind": CommandKind.START,
        "digest": command_digest(CommandKind.START, "t1", 1, ("charge", None, {}), {}),
        "task": spec,
        "attempt_id": "t1.1",
        "generation": 1,
        "token": "tok",
    }
    return Command(**(stated | fields))  # pyright: ignore[reportArgumentType] - a builder takes any field


def test_the_duplicate_check_comes_before_drain_and_capacity() -> None:
    """C064, C114, B25: a repeated command is acknowledged again in every state."""
    seen = InboxRow("t1.1", CommandKind.START, a_start().digest, accepted=True)
    full = msgspec.structs.replace(HOUSE, slots_free=0, drained=True)
    assert decide_command(a_start(), seen, full).accepted
    assert decide_command(a_start(), None, full).reason == "draining"


def test_what_never_changes_is_digested_and_the_rest_is_not() -> None:
    """C065: a new token or evidence is no conflict, another input is."""
    assert decide_command(a_start(token="other", losses=2), None, HOUSE).accepted
    changed = a_start(task=TaskSpec("charge", id="t1", input={"cents": 5}))
    assert decide_command(changed, None, HOUSE).reason == "conflict"
    seen = InboxRow("t1.1", CommandKind.START, "other", accepted=True)
    assert decide_command(a_start(), seen, HOUSE).reason == "conflict"


@pytest.mark.parametrize(
    ("house", "reason"),
    [
        (msgspec.structs.replace(HOUSE, instance_id="i2"), "conflict"),
        (msgspec.structs.replace(HOUSE, capabilities=[]), "unsupported"),
        (msgspec.structs.replace(HOUSE, drained=True), "draining"),
        (msgspec.structs.replace(HOUSE, stopping=True), "draining"),
        (msgspec.structs.replace(HOUSE, slots_free=0), "capacity"),
    ],
)
def test_a_refusal_is_an_explicit_answer(house: House, reason: str) -> None:
    """C067, C112, C114, C117: never silence."""
    answer = decide_command(a_start(), None, house)
    assert not answer.accepted
    assert answer.reason == reason
