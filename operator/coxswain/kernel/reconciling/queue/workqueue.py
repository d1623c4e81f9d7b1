"""A rate-limited workqueue of keys with three lanes, modelled on client-go's workqueue.

The queue holds each key at most once, and one worker processes it at a time. A key that is added during its processing
is processed again afterwards. Changed parents and those in progress alternate, so that rollouts complete during a wave
of changes. The backlog of a relist comes last.
"""

import asyncio
import random
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from coxswain.kernel.cache.store import Key
from coxswain.metrics import QueueMetrics


class Lane(IntEnum):
    """The reason why a key is queued, in order of priority."""

    CHANGED = 0
    """The parent changed."""
    IN_PROGRESS = 1
    """A child changed, or a delay has expired."""
    BACKLOG = 2
    """A relist, a resync or the end of an outage requeued the parent without a known change."""


class WorkQueue:
    """Keys of parents to reconcile. Not thread-safe: one event loop owns it."""

    def __init__(
        self,
        name: str,
        *,
        retry_delay: float,
        retry_delay_limit: float,
        chance: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create an empty queue.

        Args:
            name: Name of the queue and its controller for the metrics.
            retry_delay: Initial backoff in seconds, doubled with each failure.
            retry_delay_limit: Maximum backoff in seconds.
            chance: Returns random numbers from 0 to 1 for the jitter.
            clock: Returns monotonic seconds for the metrics.
        """
        self.name = name
        self._metrics = QueueMetrics(name)
        self._clock = clock
        self._retry_delay = retry_delay
        self._retry_delay_limit = retry_delay_limit
        self._chance = chance
        self._lanes: dict[Lane, OrderedDict[Key, None]] = {lane: OrderedDict() for lane in Lane}
        self._last_lane = Lane.IN_PROGRESS
        """The last used lane of the two alternating ones."""
        self._processing: dict[Key, float] = {}
        """The time at which a worker took each key in processing."""
        self._dirty: dict[Key, Lane] = {}
        self._added: dict[Key, float] = {}
        """The time at which each key that waits for a worker was added."""
        self._delayed: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._retry_at: dict[Key, float] = {}
        self._not_empty = asyncio.Event()

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    def add(self, key: Key, lane: Lane = Lane.IN_PROGRESS) -> None:
        """Add a key. A queued key keeps its place, unless it moves up from the backlog."""
        if key not in self._added:
            self._added[key] = self._clock()
            self._metrics.added()
        if key in self._processing:
            self._dirty[key] = min(lane, self._dirty.get(key, lane))
            return
        self._cancel(key)
        if lane is not Lane.BACKLOG:
            self._lanes[Lane.BACKLOG].pop(key, None)
        if not any(key in queued for queued in self._lanes.values()):
            self._lanes[lane][key] = None
        self._not_empty.set()

    def add_after(self, key: Key, delay: float) -> None:
        """Add a key after `delay` seconds. The shortest of several delays counts."""
        self._metrics.delayed()
        loop = asyncio.get_running_loop()
        pending = self._delayed.get(key)
        if pending is not None and pending.when() <= loop.time() + delay:
            return
        self._cancel(key)
        self._delayed[key] = loop.call_later(delay, self._due, key)

    def add_rate_limited(self, key: Key, *, at_least: float = 0.0) -> float:
        """Requeue a key with exponential backoff after a failure; return the delay in seconds.

        `at_least` is a minimum in seconds, such as Retry-After. A failure before the scheduled retry does not increase
        the backoff: otherwise each event of a rollout would double it.
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

    def retry_now(self) -> None:
        """Add all keys in backoff now, because the cause of their failures may be resolved."""
        for key in [key for key in self._delayed if key in self._retry_at]:
            self.add(key, Lane.BACKLOG)

    def failures(self, key: Key) -> int:
        """Return the number of consecutive failures of a key."""
        return self._failures.get(key, 0)

    def forget(self, key: Key) -> None:
        """Reset the backoff of a key after a success."""
        self._failures.pop(key, None)
        self._retry_at.pop(key, None)

    async def get(self) -> Key:
        """Wait for a key and mark it as processing. Call `done` afterwards."""
        while not len(self):
            self._not_empty.clear()
            await self._not_empty.wait()
        turns = [Lane.CHANGED, Lane.IN_PROGRESS]
        if self._last_lane is Lane.CHANGED:
            turns.reverse()
        lane = next(lane for lane in (*turns, Lane.BACKLOG) if self._lanes[lane])
        if lane is not Lane.BACKLOG:
            self._last_lane = lane
        key, _ = self._lanes[lane].popitem(last=False)
        now = self._processing[key] = self._clock()
        self._metrics.taken(now - self._added.pop(key))
        return key

    def done(self, key: Key) -> None:
        """Mark a key as processed, and requeue it if it was added meanwhile."""
        self._metrics.done(self._clock() - self._processing.pop(key))
        if key in self._dirty:
            self.add(key, self._dirty.pop(key))

    def clear(self) -> None:
        """Remove all queued and delayed keys and all backoffs. Keys in processing stay."""
        for handle in self._delayed.values():
            handle.cancel()
        for lane in self._lanes.values():
            lane.clear()
        for table in (self._dirty, self._added, self._delayed, self._failures, self._retry_at):
            table.clear()

    def remove(self, covers: Callable[[str], bool]) -> None:
        """Remove the queued and delayed keys of some namespaces, and their backoffs. Keys in processing stay."""
        for key in [key for key in self._delayed if covers(key.namespace)]:
            self._cancel(key)
        tables: list[dict[Key, Any]] = [*self._lanes.values(), self._dirty, self._added, self._failures, self._retry_at]
        for table in tables:
            for key in [key for key in table if covers(key.namespace)]:
                del table[key]

    def depths(self) -> dict[Lane, int]:
        """Return the number of keys that wait for a worker, by lane, with those in processing that were added again."""
        again = Counter(self._dirty.values())
        return {lane: len(keys) + again[lane] for lane, keys in self._lanes.items()}

    def processing_seconds(self) -> list[float]:
        """Return the seconds since a worker took each key in processing."""
        now = self._clock()
        return [now - taken for taken in self._processing.values()]

    def _due(self, key: Key) -> None:
        del self._delayed[key]
        self.add(key)

    def _cancel(self, key: Key) -> None:
        handle = self._delayed.pop(key, None)
        if handle is not None:
            handle.cancel()
