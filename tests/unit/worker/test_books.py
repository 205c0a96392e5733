"""What a worker holds, and how much more it takes."""

import pytest

from tenure.worker.books import Books
from tenure.worker.config import BACKLOG_SHORT, RuntimeConfig


@pytest.fixture
def books() -> Books:
    return Books(RuntimeConfig("w1", "n1", {"cpu_millis": 1_000.0}, slots=2))


def run(books: Books, seconds: float) -> None:
    for _ in range(100):
        books.ran(seconds)


def test_the_backlog_is_as_long_as_the_slots_and_longer_while_runs_are_short(books: Books) -> None:
    """D21: room is slots and a backlog."""
    assert books.room == 4
    run(books, 0.001)
    assert books.room == 2 + BACKLOG_SHORT
    run(books, 10.0)
    assert books.room == 4


def test_a_start_that_an_earlier_room_asked_for_is_taken(books: Books) -> None:
    """C114, D21: room shrinks at once, and what is on the way for the larger one is no overload."""
    run(books, 10.0)
    assert books.capacity_promised == 4
    run(books, 0.001)
    run(books, 10.0)
    assert (books.room, books.capacity_promised) == (4, 2 + BACKLOG_SHORT)
