"""The table of evidence, computed from histories that are written out here."""

from tenure.core.capability import Recovery
from tenure.demo.story.evidence import Evidence, evidence_of
from tenure.wire.tasks import HistoryLine
from tests.unit.demo.build import line, view


def evidence(
    rule: Recovery, *history: HistoryLine, losses: int = 0, unheard: tuple[str, ...] = ()
) -> Evidence:
    generation = max(line.generation for line in history)
    return evidence_of(rule, view(generation, losses=losses), history, unheard)


def test_an_undisturbed_task_has_nothing_to_tell() -> None:
    told = evidence(Recovery.RECOMPUTE, line("claimed", agent="north"), line("succeeded", 1))
    assert (told.generations, told.holders, told.losses) == (1, ("north",), 0)
    assert (told.reused, told.rerun, told.found, told.decided) == ((), (), (), ())


def test_a_recomputation_counts_what_died_and_names_its_holders() -> None:
    told = evidence(
        Recovery.RECOMPUTE,
        line("claimed", agent="north"),
        line("lost", 1),
        line("claimed", generation=2, agent="south"),
        line("succeeded", 1, generation=2),
        losses=2,
    )
    assert (told.generations, told.holders, told.losses) == (2, ("north", "south"), 2)
    assert told.rerun == ("all of it, 2 times",)


def test_a_walk_names_the_checkpoint_behind_which_it_went_on() -> None:
    told = evidence(
        Recovery.RESUME,
        line("checkpoint", 1, value={"next_item": 3, "items": 9}),
        line("checkpoint", 1, value={"next_item": 4, "items": 9}),
        line("lost", 1),
        line("checkpoint", 2, value={"next_item": 9, "items": 9}),
        line("lost", 2),
        line("succeeded", 3),
        losses=2,
    )
    assert told.reused == ("checkpoint at item 4, 9 of 9",)
    assert told.rerun == ("from its checkpoint, 2 times",)


def test_an_effect_of_an_earlier_execution_is_reused() -> None:
    told = evidence(
        Recovery.QUERY,
        line("witnessed", 1, name="create"),
        line("effect", 1, name="create", state="applied", result="r-1"),
        line("lost", 1),
        line("succeeded", 2),
    )
    assert (told.reused, told.found) == (("create = r-1",), ())


def test_an_effect_that_a_later_execution_settles_was_found() -> None:
    told = evidence(
        Recovery.QUERY,
        line("witnessed", 1, name="create"),
        line("effect", 1, generation=2, name="create", state="applied", result="r-1"),
        line("succeeded", 1, generation=2),
    )
    assert (told.reused, told.found) == ((), ("create = r-1",))


def test_an_effect_whose_reply_was_lost_was_found() -> None:
    history = (
        line("witnessed", 1, name="create"),
        line("effect", 1, name="create", state="applied", result="r-1"),
        line("succeeded", 1),
    )
    assert evidence(Recovery.QUERY, *history).found == ()
    assert evidence(Recovery.QUERY, *history, unheard=("r-1",)).found == ("create = r-1",)


def test_a_verdict_is_told_with_its_giver() -> None:
    told = evidence(
        Recovery.QUERY,
        line("witnessed", 1, name="charge"),
        line("unknown", 2),
        line("verdict", subject="charge", verdict="did_not_happen", by="admin"),
        line("succeeded", 1, generation=3),
    )
    assert told.decided == ("charge did not happen, by admin",)
