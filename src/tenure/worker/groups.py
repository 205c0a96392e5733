"""One group in flight; whatever arrives meanwhile is the next. No timers: a lone request goes at once."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Generic, NoReturn, TypeVar

from tenure.core.errors import TenureError

T = TypeVar("T")
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

GROUP_MAX = 256  # Bound: operations in one group


class Inflow(Generic[T]):
    """What arrives from many and is taken in groups by one."""

    def __init__(self) -> None:
        """Begin empty."""
        self._waiting: deque[T] = deque()
        self._arrived = asyncio.Event()

    def put(self, arrived: Iterable[T]) -> None:
        """Add to what waits; never blocks."""
        self._waiting.extend(arrived)
        if self._waiting:
            self._arrived.set()

    async def take(self, limit: int = GROUP_MAX) -> list[T]:
        """Wait until there is something, and return the first so many."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        return [self._waiting.popleft() for _ in range(min(limit, len(self._waiting)))]

    def __len__(self) -> int:
        return len(self._waiting)


class Groups(Generic[Asked, Answer]):
    """Answers single requests by performing them in groups."""

    def __init__(
        self, perform: Callable[[Sequence[Asked]], Awaitable[Sequence[Answer]]], limit: int = GROUP_MAX
    ) -> None:
        """Perform groups with a function that answers each request, or raises for all of them."""
        self._perform = perform
        self._limit = limit
        self._inflow: Inflow[tuple[Asked, asyncio.Future[Answer]]] = Inflow()

    def ask(self, asked: Asked) -> "asyncio.Future[Answer]":
        """Put a request into the next group; whoever waits may leave without harm to the others."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._inflow.put([(asked, answer)])
        return answer

    async def run(self) -> NoReturn:
        """Perform group after group, for ever."""
        while True:
            group = [pair for pair in await self._inflow.take(self._limit) if not pair[1].done()]
            if group:
                await self._answer(group)

    async def _answer(self, group: "list[tuple[Asked, asyncio.Future[Answer]]]") -> None:
        try:
            answers = await self._perform([asked for asked, _ in group])
        except TenureError as error:
            for _, future in group:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), answer in zip(group, answers, strict=True):
            if not future.done():
                future.set_result(answer)
