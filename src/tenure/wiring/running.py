"""Running a process's async side, so that what ends it is one error and not a group of them."""

import traceback
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar, cast

import anyio

from tenure.core.errors import InvariantBroken, TenureError
from tenure.ports.observer import Observer

T = TypeVar("T")


def run_process(main: Callable[[], Awaitable[T]], observer: Observer) -> T:
    """Run until it ends; of several errors at once the one that Tenure raised on purpose is told.

    What nobody raised on purpose is a bug: then the log gets the whole traceback before the process ends.
    """
    try:
        return anyio.run(main)
    except BaseExceptionGroup as group:
        error = _telling(group)
        _tell_bug(error, group, observer)
        raise error from group
    except Exception as error:
        _tell_bug(error, error, observer)
        raise


def _tell_bug(error: BaseException, whole: BaseException, observer: Observer) -> None:
    if isinstance(error, InvariantBroken) or not isinstance(error, TenureError | KeyboardInterrupt):
        told = "".join(traceback.format_exception(whole))
        observer.tell("process.failed", error=error, traceback=told)


def _telling(group: BaseExceptionGroup[BaseException]) -> BaseException:
    leaves = list(_leaves(group))
    return next((error for error in leaves if isinstance(error, TenureError)), leaves[0])


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _leaves(inner)
    else:
        yield error
