"""Limit the number of concurrent requests, and pause them after a 429 with Retry-After."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from coxswain.kernel.api.errors import Refused, ShuttingDown

_SPREAD = 0.25
"""Jitter after a pause, as a part of its length: without it all requests would start at once and hit the next 429."""


class Throttle:
    """Limits concurrent requests, and blocks them during a pause and after shutdown has begun."""

    def __init__(self, *, in_flight: int, chance: Callable[[], float] = random.random) -> None:
        """Allow `in_flight` concurrent requests; `chance` returns the jitter of a pause, 0 to 1."""
        self._slots = asyncio.Semaphore(in_flight)
        self._chance = chance
        self._pauses: dict[bool, tuple[float, float]] = {}
        self._shutdown = asyncio.Event()

    @asynccontextmanager
    async def turn(self, *, writing: bool) -> AsyncIterator[None]:
        """Wait for a slot and hold it.

        Raises:
            ShuttingDown: the operator is shutting down.
        """
        await self._wait_for_pause(writing)
        await self._slots.acquire()
        # A pause may begin while a request waits for its slot. The request releases the slot during the pause, so that
        # requests without a pause (reads or writes) proceed.
        while self._is_paused(writing):
            self._slots.release()
            await self._wait_for_pause(writing)
            await self._slots.acquire()
        try:
            if self._shutdown.is_set():
                raise ShuttingDown("the operator is shutting down")
            yield
        finally:
            self._slots.release()

    def refused(self, error: Refused, *, writing: bool) -> None:
        """Start a pause for reads or writes after a 429 with Retry-After.

        All our requests belong to one flow of API Priority and Fairness. Without this feature the API server has
        separate limits for reads and writes, so each has its own pause. A webhook chooses its status code and
        Retry-After too: they concern the refused object, and no other.
        """
        if error.status == 429 and error.retry_after is not None and not error.by_admission:
            until = asyncio.get_running_loop().time() + error.retry_after
            if until > self._pauses.get(writing, (0.0, 0.0))[0]:
                self._pauses[writing] = until, error.retry_after

    def end(self) -> None:
        """Start no more requests; requests in flight complete."""
        self._shutdown.set()

    def _is_paused(self, writing: bool) -> bool:
        until, _ = self._pauses.get(writing, (0.0, 0.0))
        return not self._shutdown.is_set() and until > asyncio.get_running_loop().time()

    async def _wait_for_pause(self, writing: bool) -> None:
        clock = asyncio.get_running_loop().time
        while not self._shutdown.is_set():
            until, seconds = self._pauses.get(writing, (0.0, 0.0))
            if until <= clock():
                return
            try:
                async with asyncio.timeout(until - clock() + seconds * _SPREAD * self._chance()):
                    await self._shutdown.wait()
            except TimeoutError:
                continue
