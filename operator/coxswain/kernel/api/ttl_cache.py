"""A cache with a maximum age and a maximum number of entries."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class TtlCache(Generic[K, V]):
    """Forgets an entry after a time, and the oldest one if there are too many."""

    def __init__(self, seconds: float, limit: int, clock: Callable[[], float]) -> None:
        """Keep at most `limit` entries for `seconds` each; `clock` returns monotonic seconds."""
        self._seconds = seconds
        self._limit = limit
        self._clock = clock
        self._entries: OrderedDict[K, tuple[float, V]] = OrderedDict()
        """The time of expiry and the value, the oldest entry first."""

    def get(self, key: K) -> V | None:
        """Return the value, or None if there is none that is young enough."""
        expiry, value = self._entries.get(key, (float("-inf"), None))
        return value if self._clock() < expiry else None

    def put(self, key: K, value: V) -> None:
        """Keep a value from now on."""
        self._entries.pop(key, None)
        self._entries[key] = self._clock() + self._seconds, value
        if len(self._entries) > self._limit:
            self._entries.popitem(last=False)
