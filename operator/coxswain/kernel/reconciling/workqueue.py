"""The workqueue: keys, never events.

A key is in it once however many events came, and in one worker's hand at a time; added while it is in hand, it runs
once more afterwards. What has changed and what is under way take turns, so that in a wave of changes the first are
brought to their end while the last wait for their beginning; both overtake the backlog of a resync.
"""

import asyncio
import random
from collections import OrderedDict
from collections.abc import Callable
from enum import IntEnum

from coxswain.kernel.cache.store import Key


class Lane(IntEnum):
    """Why a key is in the queue, the most urgent first."""

    CHANGED = 0
    """Someone changed the WebApp."""
    UNDER_WAY = 1
    """There is news of its children, or a delay is over."""
    BACKLOG = 2
    """It is looked at to be sure."""


class WorkQueue:
    """Keys of WebApps that should be looked at."""

    def __init__(
        self, *, retry_delay: float, retry_delay_limit: float, chance: Callable[[], float] = random.random
    ) -> None:
        """Retry after `retry_delay` seconds, doubled up to `retry_delay_limit`; `chance` gives the jitter, 0 to 1."""
        self._retry_delay = retry_delay
        self._retry_delay_limit = retry_delay_limit
        self._chance = chance
        self._lanes: dict[Lane, OrderedDict[Key, None]] = {lane: OrderedDict() for lane in Lane}
        self._taken_from = Lane.UNDER_WAY
        """Of the two that take turns."""
        self._in_hand: set[Key] = set()
        self._again: dict[Key, Lane] = {}
        self._delayed: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._retry_at: dict[Key, float] = {}
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    def add(self, key: Key, lane: Lane = Lane.UNDER_WAY) -> None:
        """Put a key in; where it waits already it stays, unless that is the backlog."""
        if key in self._in_hand:
            self._again[key] = min(lane, self._again.get(key, lane))
            return
        self._cancel(key)
        if lane is not Lane.BACKLOG:
            self._lanes[Lane.BACKLOG].pop(key, None)
        if not any(key in waiting for waiting in self._lanes.values()):
            self._lanes[lane][key] = None
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
            self.add(key, Lane.BACKLOG)

    def failures(self, key: Key) -> int:
        """Return how often in a row a key has failed."""
        return self._failures.get(key, 0)

    def succeeded(self, key: Key) -> None:
        """Forget the failures of a key."""
        self._failures.pop(key, None)
        self._retry_at.pop(key, None)

    async def take(self) -> Key:
        """Wait for a key and take it in hand."""
        while not len(self):
            self._filled.clear()
            await self._filled.wait()
        turns = (Lane.CHANGED, Lane.UNDER_WAY) if self._taken_from is Lane.UNDER_WAY else (Lane.UNDER_WAY, Lane.CHANGED)
        lane = next(lane for lane in (*turns, Lane.BACKLOG) if self._lanes[lane])
        if lane is not Lane.BACKLOG:
            self._taken_from = lane
        key, _ = self._lanes[lane].popitem(last=False)
        self._in_hand.add(key)
        return key

    def done(self, key: Key) -> None:
        """Give a key back."""
        self._in_hand.discard(key)
        if key in self._again:
            self.add(key, self._again.pop(key))

    def clear(self) -> None:
        """Drop all keys that are in no hand, and those that would come later."""
        for handle in self._delayed.values():
            handle.cancel()
        for lane in self._lanes.values():
            lane.clear()
        for table in (self._again, self._delayed, self._failures, self._retry_at):
            table.clear()

    def _due(self, key: Key) -> None:
        del self._delayed[key]
        self.add(key)

    def _cancel(self, key: Key) -> None:
        handle = self._delayed.pop(key, None)
        if handle is not None:
            handle.cancel()
