"""How many requests may be under way, and when none may start because the API server asked for a pause."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from coxswain.kernel.api.errors import Ending, Refused

_SPREAD = 0.25
"""After a pause requests start within this part of it: all at once would bring the next refusal."""


class Throttle:
    """Lets requests start: so many at a time, none in a pause, and none at all once the end is near."""

    def __init__(self, *, in_flight: int, chance: Callable[[], float] = random.random) -> None:
        """Let `in_flight` requests go on at a time; `chance` gives the jitter of a pause, 0 to 1."""
        self._free = asyncio.Semaphore(in_flight)
        self._chance = chance
        self._pauses: dict[bool, tuple[float, float]] = {}
        self._ended = asyncio.Event()

    @asynccontextmanager
    async def turn(self, *, writing: bool) -> AsyncIterator[None]:
        """Wait for a turn, and hold it.

        Raises:
            Ending: no request may start any more.
        """
        await self._paused(writing)
        await self._free.acquire()
        # A pause may begin while a request waits for its slot. It waits out the pause without the slot, so that
        # requests that are not paused go on.
        while self._pauses_now(writing):
            self._free.release()
            await self._paused(writing)
            await self._free.acquire()
        try:
            if self._ended.is_set():
                raise Ending("the operator is ending")
            yield
        finally:
            self._free.release()

    def refused(self, error: Refused, *, writing: bool) -> None:
        """Take in a refusal: a 429 that names a time stops what is like it, reading or writing, for so long.

        All of our requests are one flow to the API server, and where it limits requests without priority and fairness
        it counts those that read and those that write apart.
        """
        if error.status == 429 and error.retry_after is not None:
            until = asyncio.get_running_loop().time() + error.retry_after
            if until > self._pauses.get(writing, (0.0, 0.0))[0]:
                self._pauses[writing] = until, error.retry_after

    def end(self) -> None:
        """Let no request start any more; those under way go on."""
        self._ended.set()

    def _pauses_now(self, writing: bool) -> bool:
        until, _ = self._pauses.get(writing, (0.0, 0.0))
        return not self._ended.is_set() and until > asyncio.get_running_loop().time()

    async def _paused(self, writing: bool) -> None:
        clock = asyncio.get_running_loop().time
        while not self._ended.is_set():
            until, seconds = self._pauses.get(writing, (0.0, 0.0))
            if until <= clock():
                return
            try:
                async with asyncio.timeout(until - clock() + seconds * _SPREAD * self._chance()):
                    await self._ended.wait()
            except TimeoutError:
                continue
