"""Of several errors that end a process one is told."""

import anyio
import anyio.lowlevel
import pytest

from tenure.core.errors import StoreUnavailable
from tenure.wiring.running import run_process


async def both(*errors: Exception) -> None:
    async def fail(error: Exception) -> None:
        raise error

    async with anyio.create_task_group() as outer, anyio.create_task_group() as inner:
        for error in errors:
            (outer if error is errors[0] else inner).start_soon(fail, error)


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        ([ValueError("x"), StoreUnavailable("the store")], "the store"),
        ([StoreUnavailable("the store"), ValueError("x")], "the store"),
        ([ValueError("x")], "x"),
    ],
    ids=["last", "first", "none"],
)
def test_the_error_that_was_raised_on_purpose_is_told(errors: list[Exception], told: str) -> None:
    with pytest.raises(Exception, match=told) as raised:
        run_process(lambda: both(*errors))
    assert not isinstance(raised.value, BaseExceptionGroup)


def test_a_process_that_ends_well_raises_nothing() -> None:
    run_process(anyio.lowlevel.checkpoint)
