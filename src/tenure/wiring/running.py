"""Running a process's async side, so that what ends it is one error and not a group of them."""

from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar, cast

import anyio

from tenure.core.errors import TenureError

T = TypeVar("T")


def run_process(main: Callable[[], Awaitable[T]]) -> T:
    """Run until it ends; of several errors at once the one that Tenure raised on purpose is told."""
    try:
        return anyio.run(main)
    except BaseExceptionGroup as group:
        raise _telling(group) from group


def _telling(group: BaseExceptionGroup[BaseException]) -> BaseException:
    leaves = list(_leaves(group))
    return next((error for error in leaves if isinstance(error, TenureError)), leaves[0])


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _leaves(inner)
    else:
        yield error
