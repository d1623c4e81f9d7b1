"""The workqueue: keys, never events.

A key is in it once however many events came, and in one worker's hand at a time; added while it is in hand, it runs
once more afterwards. A person's change overtakes the backlog of a resync.
"""

import asyncio
import random
from collections import OrderedDict
from collections.abc import Callable

from coxswain.control.store import Key


class WorkQueue:
    """Keys of WebApps that should be looked at."""

    def __init__(
        self, *, retry_delay: float, retry_delay_limit: float, chance: Callable[[], float] = random.random
    ) -> None:
        """Retry after `retry_delay` seconds, doubled up to `retry_delay_limit`; `chance` gives the jitter, 0 to 1."""
        self._retry_delay = retry_delay
        self._retry_delay_limit = retry_delay_limit
        self._chance = chance
        self._urgent: OrderedDict[Key, None] = OrderedDict()
        self._backlog: OrderedDict[Key, None] = OrderedDict()
        self._in_hand: set[Key] = set()
        self._again: dict[Key, bool] = {}
        self._delayed: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._retry_at: dict[Key, float] = {}
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return len(self._urgent) + len(self._backlog)

    def add(self, key: Key, *, backlog: bool = False) -> None:
        """Put a key in: at once, or in the backlog that everything else overtakes."""
        if key in self._in_hand:
            self._again[key] = self._again.get(key, True) and backlog
            return
        self._cancel(key)
        if not backlog:
            self._backlog.pop(key, None)
            self._urgent[key] = None
        elif key not in self._urgent:
            self._backlog[key] = None
        self._filled.set()

    def add_after(self, key: Key, delay: float) -> None:
        """Put a key in after so many seconds, unless it comes in sooner; of several delays the shortest counts."""
        loop = asyncio.get_running_loop()
        pending = self._delayed.get(key)
        if pending is not None and pending.when() <= loop.time() + delay:
            return
        self._cancel(key)
        self._delayed[key] = loop.call_later(delay, self._due, key)

    def retry(self, key: Key, *, at_least: float = 0.0) -> float:
        """Put a key in again after a failure; return the seconds until then, more than `at_least`.

        An attempt that overtook the time of the last retry leaves that as it was: else each event of a rollout under
        way would double the delay.
        """
        now = asyncio.get_running_loop().time()
        delay = self._retry_at.get(key, 0.0) - now
        if delay <= 0:
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            delay = min(self._retry_delay * 2 ** min(failures - 1, 30), self._retry_delay_limit)
            delay *= 0.75 + self._chance() / 4
        if delay < at_least:
            delay = at_least * (1 + self._chance() / 4)
        self._retry_at[key] = now + delay
        self.add_after(key, delay)
        return delay

    def overtake(self) -> None:
        """Put every key in that waits for its retry: what it failed for may be over."""
        for key in [key for key in self._delayed if key in self._retry_at]:
            self.add(key, backlog=True)

    def failures(self, key: Key) -> int:
        """Return how often in a row a key has failed."""
        return self._failures.get(key, 0)

    def succeeded(self, key: Key) -> None:
        """Forget the failures of a key."""
        self._failures.pop(key, None)
        self._retry_at.pop(key, None)

    async def take(self) -> Key:
        """Wait for a key and take it in hand."""
        while not (self._urgent or self._backlog):
            self._filled.clear()
            await self._filled.wait()
        key, _ = (self._urgent or self._backlog).popitem(last=False)
        self._in_hand.add(key)
        return key

    def done(self, key: Key) -> None:
        """Give a key back."""
        self._in_hand.discard(key)
        if key in self._again:
            self.add(key, backlog=self._again.pop(key))

    def clear(self) -> None:
        """Drop all keys that are in no hand, and those that would come later."""
        for handle in self._delayed.values():
            handle.cancel()
        for table in (self._urgent, self._backlog, self._again, self._delayed, self._failures, self._retry_at):
            table.clear()

    def _due(self, key: Key) -> None:
        del self._delayed[key]
        self.add(key)

    def _cancel(self, key: Key) -> None:
        handle = self._delayed.pop(key, None)
        if handle is not None:
            handle.cancel()
