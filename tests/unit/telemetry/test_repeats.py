"""Identical lines are shown once and then counted."""

from tenure.telemetry.repeats import Repeats


def test_the_first_line_is_shown_at_once_and_repeats_are_counted() -> None:
    repeats: Repeats[str] = Repeats(window_s=10)
    assert repeats.take("a", 0) == [("a", 0)]
    assert [repeats.take("a", t) for t in (1, 2, 3)] == [[], [], []]
    assert repeats.next_end() == 10
    assert repeats.due(9.9) == []
    assert repeats.due(10) == [("a", 3)]
    assert repeats.take("a", 11) == [("a", 0)]


def test_other_lines_between_do_not_hide_a_repeat() -> None:
    repeats: Repeats[str] = Repeats(window_s=10)
    shown = [line for t in range(6) for line in repeats.take("ab"[t % 2], t)]
    assert shown == [("a", 0), ("b", 0)]
    assert repeats.flush() == [("a", 2), ("b", 2)]
    assert repeats.flush() == []


def test_a_window_without_repeats_ends_silently() -> None:
    repeats: Repeats[str] = Repeats(window_s=10)
    repeats.take("a", 0)
    assert repeats.next_end() is None
    assert repeats.take("a", 10) == [("a", 0)]


def test_memory_is_bounded_and_a_count_is_never_lost() -> None:
    repeats: Repeats[str] = Repeats(window_s=10, kept_max=2)
    repeats.take("a", 0)
    repeats.take("a", 0)
    repeats.take("b", 0)
    assert repeats.take("c", 0) == [("a", 1), ("c", 0)]
