"""The effect protocol on the executor's side, with blocking calls and awaited: recovery.md, Effects."""

import threading
import warnings
from dataclasses import dataclass

import msgspec
import pytest

from tenure import ABSENT, Absent, Failed, NotApplied
from tenure.app import effects
from tenure.core.canonical import digest
from tenure.core.errors import (
    Cancelled,
    EffectMismatch,
    Invalid,
    LeaseLost,
    OutcomeUnknown,
    StoreUnavailable,
)
from tenure.core.execution import VALUE_BYTES_MAX, EffectStanding, EndEffect
from tenure.core.faultpoints import FaultPoint
from tests.unit.app.acting import ENDED, GO, MAY_ACT, REQUEST, Scene


@dataclass
class Job:
    """What a remote side calls a thing."""

    id: str


class Outside:
    """The world that is acted on: counts what is applied, and answers questions as it is told to."""

    def __init__(self, *answers: object) -> None:
        self.applied: list[str] = []
        self.looked = 0
        self.answers = list(answers)

    def apply(self, request_id: str) -> str:
        self.applied.append(request_id)
        return "receipt"

    def lose(self, request_id: str) -> str:
        """Act, and lose the reply."""
        self.applied.append(request_id)
        raise ConnectionResetError("the reply was lost")

    def find(self, request_id: str) -> object:
        self.looked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture(params=["plain", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look again at once: the time between looks has a test of its own."""
    monkeypatch.setattr(effects, "LOOK_S_FIRST", 0.0005)
    monkeypatch.setattr(effects, "LOOK_S_MAX", 0.001)


def test_an_effect_is_intended_applied_and_saved_in_this_order(kind: str) -> None:
    """C106: the request id comes from the ledger; the result is saved before the code has it."""
    scene, outside = Scene(kind), Outside()
    assert scene.effect(outside.apply, params={"b": 2}) == "receipt"
    assert outside.applied == [REQUEST]
    [wanted] = scene.desk.asked
    assert (wanted.name, wanted.digest, wanted.params) == ("act", digest({"b": 2}), {"b": 2})
    assert (wanted.settled_by, wanted.witness, wanted.absent) == ((), True, False)
    assert scene.desk.told == [EndEffect("act", "applied", "receipt")]
    assert scene.points.seen == [FaultPoint.INSIDE_APPLY, FaultPoint.APPLIED]


def test_an_applied_effect_is_not_applied_again(kind: str) -> None:
    scene, outside = Scene(kind, EffectStanding("applied", REQUEST, "receipt")), Outside()
    assert scene.effect(outside.apply) == "receipt"
    assert not outside.applied
    assert not scene.desk.told


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("lease_lost", LeaseLost),
        ("fenced", LeaseLost),
        ("cancelled", Cancelled),
        ("mismatch", EffectMismatch),
        ("abandoned", OutcomeUnknown),
        ("outcome_unknown", OutcomeUnknown),
    ],
)
def test_a_refusal_is_raised_and_nothing_is_applied(kind: str, code: str, error: type[Exception]) -> None:
    """C058 C110."""
    scene, outside = Scene(kind, EffectStanding("refused", REQUEST, code=code, text="no")), Outside()
    with pytest.raises(error, match="no"):
        scene.effect(outside.apply)
    assert not outside.applied


def test_not_applied_means_certainly_absent(kind: str) -> None:
    scene = Scene(kind)

    def apply(request_id: str) -> str:
        raise NotApplied("declined")

    with pytest.raises(NotApplied, match="declined"):
        scene.effect(apply)
    assert scene.desk.outcomes == ["absent"]


def test_an_exception_proves_nothing_and_without_evidence_the_outcome_is_unknown(kind: str) -> None:
    """C108: neither find nor idempotent."""
    scene, outside = Scene(kind), Outside()
    with pytest.raises(OutcomeUnknown, match="ConnectionResetError: the reply was lost") as unknown:
        scene.effect(outside.lose)
    assert unknown.value.subjects == ("act",)
    assert scene.desk.outcomes == ["in_doubt"]
    assert len(outside.applied) == 1


def test_after_an_exception_the_outside_is_asked(kind: str) -> None:
    """C107."""
    scene, outside = Scene(kind), Outside("found")
    assert scene.effect(outside.lose, find=outside.find) == "found"
    assert scene.desk.told == [EndEffect("act", "applied", "found")]
    assert scene.desk.asked[0].settled_by == ("find",)


def test_after_an_exception_an_absence_is_a_failed_try(kind: str) -> None:
    """The call has returned, so it can no longer act; trying again is the task's affair."""
    scene, outside = Scene(kind), Outside(ABSENT)
    with pytest.raises(ConnectionResetError):
        scene.effect(outside.lose, find=outside.find)
    assert scene.desk.outcomes == ["absent"]


@pytest.mark.parametrize("silence", [None, TimeoutError("no answer")])
def test_no_answer_is_asked_again(kind: str, silence: object) -> None:
    """C109: None and an exception are no answer."""
    scene, outside = Scene(kind), Outside(silence, silence, "found")
    assert scene.effect(outside.lose, find=outside.find) == "found"
    assert outside.looked == 3


def test_without_any_answer_the_outcome_is_unknown_after_quiet(kind: str) -> None:
    """C109."""
    scene, outside = Scene(kind), Outside(None)

    def find(request_id: str) -> object:
        scene.clock.at += 40
        return outside.find(request_id)

    with pytest.raises(OutcomeUnknown):
        scene.effect(outside.lose, find=find, quiet=100)
    assert outside.looked == 3
    assert scene.desk.outcomes == ["in_doubt"]


def test_an_idempotent_effect_is_applied_again_under_a_fresh_permit(kind: str) -> None:
    scene, outside = Scene(kind), Outside()

    def apply(request_id: str) -> str:
        return outside.apply(request_id) if outside.applied else outside.lose(request_id)

    assert scene.effect(apply, idempotent=True) == "receipt"
    assert outside.applied == [REQUEST, REQUEST]
    assert scene.desk.outcomes == ["in_doubt", "applied"]
    assert [wanted.absent for wanted in scene.desk.asked] == [False, True]


def test_an_idempotent_effect_that_keeps_failing_is_a_failed_try(kind: str) -> None:
    """The next execution applies it again under the same id, so nobody has to decide."""
    scene, outside = Scene(kind), Outside()
    with pytest.raises(ConnectionResetError):
        scene.effect(outside.lose, idempotent=True)
    assert len(outside.applied) == 1 + effects.APPLY_AGAIN_MAX
    assert set(scene.desk.outcomes) == {"in_doubt"}


def test_a_doubt_of_an_earlier_execution_is_settled_by_find(kind: str) -> None:
    """C107."""
    scene, outside = Scene(kind, ENDED), Outside("found")
    assert scene.effect(outside.apply, find=outside.find) == "found"
    assert not outside.applied
    assert scene.desk.told == [EndEffect("act", "applied", "found")]


def test_an_absence_is_believed_once_the_earlier_execution_has_ended(kind: str) -> None:
    """C109: the permit that follows is recorded as one after an absence."""
    scene, outside = Scene(kind, ENDED, GO), Outside(ABSENT)
    assert scene.effect(outside.apply, find=outside.find) == "receipt"
    assert [wanted.absent for wanted in scene.desk.asked] == [False, True]
    assert outside.applied == [REQUEST]


def test_an_absence_is_not_believed_while_the_earlier_execution_may_still_act(kind: str) -> None:
    """C109: it is looked for again; what appears meanwhile is found."""
    scene, outside = Scene(kind, MAY_ACT), Outside(ABSENT, ABSENT, "found")
    assert scene.effect(outside.apply, find=outside.find) == "found"
    assert not any(wanted.absent for wanted in scene.desk.asked)
    assert not outside.applied


def test_an_absence_is_believed_as_soon_as_the_other_one_is_known_to_have_ended(kind: str) -> None:
    scene, outside = Scene(kind, MAY_ACT, ENDED, GO), Outside(ABSENT)
    assert scene.effect(outside.apply, find=outside.find) == "receipt"
    assert [wanted.absent for wanted in scene.desk.asked] == [False, False, True]


def test_an_absence_is_believed_when_quiet_has_passed(kind: str) -> None:
    """C109: `age_s` counts, as the store knows it."""
    old = msgspec.structs.replace(MAY_ACT, age_s=290.0)
    scene, outside = Scene(kind, old, MAY_ACT, GO), Outside(ABSENT)

    def find(request_id: str) -> object:
        scene.clock.at += 4
        return outside.find(request_id)

    assert scene.effect(outside.apply, find=find) == "receipt"
    assert [wanted.absent for wanted in scene.desk.asked] == [False, False, True]


def test_an_absence_under_an_idempotent_create_is_believed_at_once(kind: str) -> None:
    """C109: should it appear later after all, it is the same one."""
    scene, outside = Scene(kind, MAY_ACT, GO), Outside(ABSENT)
    assert scene.effect(outside.apply, find=outside.find, idempotent=True) == "receipt"
    assert [wanted.absent for wanted in scene.desk.asked] == [False, True]


def test_a_doubt_that_nobody_can_settle_is_unknown(kind: str) -> None:
    """C108."""
    scene, outside = Scene(kind, ENDED), Outside()
    with pytest.raises(OutcomeUnknown, match="earlier execution") as unknown:
        scene.effect(outside.apply)
    assert unknown.value.subjects == ("act",)
    assert not outside.applied
    assert scene.desk.outcomes == ["in_doubt"]


def test_an_idempotent_doubt_is_applied_again(kind: str) -> None:
    scene, outside = Scene(kind, ENDED, GO), Outside()
    assert scene.effect(outside.apply, idempotent=True) == "receipt"
    assert [wanted.absent for wanted in scene.desk.asked] == [False, True]


@pytest.mark.parametrize(("age_s", "applied"), [(50.0, 1), (70.0, 0), (None, 0)])
def test_past_what_the_other_side_remembers_nothing_is_idempotent(
    kind: str, age_s: float | None, applied: int
) -> None:
    """C110: and where the age is not known, neither is that."""
    scene = Scene(kind, msgspec.structs.replace(ENDED, age_s=age_s), GO)
    outside = Outside()
    if applied:
        assert scene.effect(outside.apply, idempotent=True, remembers_for=60) == "receipt"
    else:
        with pytest.raises(OutcomeUnknown):
            scene.effect(outside.apply, idempotent=True, remembers_for=60)
    assert len(outside.applied) == applied


def test_evidence_that_arrives_while_it_is_looked_for_is_taken(kind: str) -> None:
    scene = Scene(kind, MAY_ACT, EffectStanding("applied", REQUEST, "theirs"))
    assert scene.effect(Outside().apply, find=Outside(None).find) == "theirs"


def test_a_result_that_cannot_be_kept_fails_and_is_never_applied_again(kind: str) -> None:
    """B29: applied, result not kept; later executions raise the same."""
    scene = Scene(kind)
    with pytest.raises(Failed, match=r"was applied and its result could not be kept: .* MiB") as failed:
        scene.effect(lambda _: "x" * VALUE_BYTES_MAX)
    assert failed.value.again is False
    [told] = scene.desk.told
    assert (told.state, told.kept, told.error) == ("applied", False, failed.value.text)
    later = Scene(kind, EffectStanding("applied", REQUEST, error=told.error))
    with pytest.raises(Failed, match="was applied and its result could not be kept"):
        later.effect(Outside().apply)


def test_between_go_and_apply_a_passed_deadline_forbids_to_begin(kind: str) -> None:
    """D14 C058: the process may have been paused there."""
    scene, outside = Scene(kind, fenced_at=1_010.0), Outside()
    assert scene.effect(outside.apply) == "receipt"
    assert not scene.desk.held
    scene.clock.at = 1_011.0
    scene.desk.holds = False
    with pytest.raises(LeaseLost):
        scene.effect(outside.apply)
    assert len(outside.applied) == 1
    assert scene.desk.outcomes == ["applied", "absent"]
    scene.desk.holds = True
    assert scene.effect(outside.apply) == "receipt"


def test_a_cancel_before_go_leaves_nothing_begun(kind: str) -> None:
    """C058."""
    scene, outside = Scene(kind), Outside()
    scene.running.cancel()
    with pytest.raises(Cancelled):
        scene.effect(outside.apply)
    assert not outside.applied
    assert scene.desk.outcomes == ["absent"]


def test_a_cancel_does_not_hide_a_doubt_that_can_be_settled(kind: str) -> None:
    """An execution that is only to settle its effects looks once, and tells an absence."""
    scene, outside = Scene(kind, ENDED), Outside("found")
    scene.running.cancel()
    assert scene.effect(outside.apply, find=outside.find) == "found"
    refused = EffectStanding("refused", REQUEST, code="cancelled")
    scene, outside = Scene(kind, ENDED, refused), Outside(ABSENT)
    scene.running.cancel()
    with pytest.raises(Cancelled):
        scene.effect(outside.apply, find=outside.find)
    assert scene.desk.outcomes == ["absent"]
    scene, outside = Scene(kind, ENDED), Outside(None)
    scene.running.cancel()
    with pytest.raises(Cancelled):
        scene.effect(outside.apply, find=outside.find)
    assert (outside.looked, scene.desk.outcomes) == (1, ["in_doubt"])


def test_a_call_that_takes_too_long_may_still_act(kind: str) -> None:
    """Absent does not count while our own call goes on; when it comes back, its result does."""
    scene = Scene(kind)
    go_on = threading.Event()
    outside = Outside(ABSENT)

    def apply(request_id: str) -> str:
        go_on.wait(20)
        return outside.apply(request_id)

    def find(request_id: str) -> object:
        if outside.looked == 3:
            go_on.set()
        return outside.find(request_id)

    assert scene.effect(apply, find=find, timeout=0.05) == "receipt"
    assert outside.looked >= 3
    assert scene.desk.outcomes == ["applied"]


def test_a_call_that_takes_too_long_is_unknown_where_nobody_can_be_asked(kind: str) -> None:
    scene, go_on = Scene(kind), threading.Event()
    with pytest.raises(OutcomeUnknown, match=r"apply has not returned within 0.05 s"):
        scene.effect(lambda _: go_on.wait(20), timeout=0.05)
    go_on.set()
    assert scene.desk.outcomes == ["in_doubt"]


def test_an_exit_inside_apply_is_an_exception_like_any_other(kind: str) -> None:
    """C060."""
    scene, outside = Scene(kind), Outside(ABSENT)

    def apply(request_id: str) -> str:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        scene.effect(apply, find=outside.find)
    assert scene.desk.outcomes == ["absent"]


def test_a_result_comes_back_as_the_type_that_find_or_apply_names(kind: str) -> None:
    """The first execution gets what a later one will get from the ledger."""

    def find(request_id: str) -> Job | Absent | None:
        return ABSENT

    def create(request_id: str) -> Job:
        return Job("7")

    saved = {"id": "7"}
    assert Scene(kind).effect(lambda _: Job("7"), find=find) == Job("7")
    assert Scene(kind).effect(create) == Job("7")
    assert Scene(kind).effect(lambda _: Job("7"), returns=Job) == Job("7")
    later = Scene(kind, EffectStanding("applied", REQUEST, saved))
    assert later.effect(create) == Job("7")


def test_a_result_without_a_type_is_plain_and_says_so(kind: str) -> None:
    with pytest.warns(UserWarning, match="returned a Job, and without a type"):
        assert Scene(kind).effect(lambda _: Job("7")) == {"id": "7"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Scene(kind).effect(lambda _: {"id": "7"}) == {"id": "7"}


@pytest.mark.parametrize(
    ("name", "terms", "says"),
    [
        ("", {}, "is no name"),
        ("x" * 201, {}, "is no name"),
        ("a\nb", {}, "is no name"),
        ("attempt", {}, "names the attempt as a whole"),
        ("act", {"witness": False}, "only an effect with idempotent=True"),
        ("act", {"timeout": 0}, "timeout: 0 s is no length"),
        ("act", {"quiet": float("inf")}, "quiet: inf s"),
        ("act", {"find": "x"}, "find: str cannot be called"),
    ],
)
def test_what_is_said_of_an_effect_is_checked_before_anything_is_asked(
    kind: str, name: str, terms: dict[str, object], says: str
) -> None:
    scene = Scene(kind)
    with pytest.raises(Invalid, match=says):
        scene.effect(Outside().apply, name=name, **terms)
    assert not scene.desk.asked


def test_params_are_json() -> None:
    with pytest.raises(Invalid, match="params"):
        Scene("plain").effect(Outside().apply, params={"a": float("nan")})


def test_after_a_failed_save_no_further_effect_begins(kind: str) -> None:
    """C078: also when the code swallows the error."""
    scene, outside = Scene(kind), Outside()
    scene.desk.broken = StoreUnavailable("disk full on the state folder")
    with pytest.raises(StoreUnavailable):
        scene.do(lambda attempt: attempt.checkpoint({"items": 1}))
    scene.desk.broken = None
    with pytest.raises(StoreUnavailable, match="disk full"):
        scene.effect(outside.apply)
    assert not outside.applied
    assert not scene.desk.asked


def test_an_awaited_apply_has_no_place_in_a_plain_capability() -> None:
    scene = Scene("plain")

    async def apply(request_id: str) -> str:
        return request_id

    with pytest.raises(OutcomeUnknown, match="is a plain function"):
        scene.effect(apply)
