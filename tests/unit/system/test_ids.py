"""Ids that sort, tokens that cannot be guessed, jitter."""

import uuid

from tenure.core.ids import check_id
from tenure.system.ids import SystemIds


def test_ids_are_uuids_of_version_7_and_sort_in_the_order_they_were_drawn() -> None:
    """D18."""
    ids = SystemIds()
    drawn = [ids.new_id() for _ in range(10_000)]
    assert drawn == sorted(set(drawn))
    assert uuid.UUID(drawn[0]).version == 7
    assert check_id("id", drawn[0]) == drawn[0]


def test_tokens_differ_and_carry_their_prefix() -> None:
    """C118."""
    ids = SystemIds()
    tokens = {ids.new_token("tnr_s_") for _ in range(1000)}
    assert len(tokens) == 1000
    assert all(token.startswith("tnr_s_") and len(token) >= len("tnr_s_") + 43 for token in tokens)


def test_jitter_lies_in_its_range_and_differs_between_processes() -> None:
    """B31."""
    one, other = SystemIds(), SystemIds()
    drawn = [one.jitter() for _ in range(1000)]
    assert all(0 <= number < 1 for number in drawn)
    assert drawn[:10] != [other.jitter() for _ in range(10)]
