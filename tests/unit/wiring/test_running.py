"""Of several errors that end a process one is told."""

import anyio
import anyio.lowlevel
import pytest

from tenure.core.errors import InvariantBroken, StoreUnavailable
from tenure.wiring.running import run_process


class Log:
    """Keeps the names of what is told."""

    def __init__(self) -> None:
        self.told: dict[str, object] = {}

    def tell(self, name: str, **fields: object) -> None:
        self.told[name] = fields.get("traceback")


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
        run_process(lambda: both(*errors), Log())
    assert not isinstance(raised.value, BaseExceptionGroup)


def test_a_process_that_ends_well_raises_nothing() -> None:
    run_process(anyio.lowlevel.checkpoint, Log())


@pytest.mark.parametrize(
    ("error", "is_bug"),
    [(ValueError("x"), True), (InvariantBroken("x"), True), (StoreUnavailable("x"), False)],
    ids=lambda value: type(value).__name__,
)
def test_a_bug_is_told_with_its_traceback_and_an_error_on_purpose_is_not(
    error: Exception, is_bug: bool
) -> None:
    async def alone() -> None:
        raise error

    for main in (alone, lambda: both(error)):
        log = Log()
        with pytest.raises(type(error)):
            run_process(main, log)
        assert ("process.failed" in log.told) is is_bug
        assert not is_bug or "Traceback" in str(log.told["process.failed"])
