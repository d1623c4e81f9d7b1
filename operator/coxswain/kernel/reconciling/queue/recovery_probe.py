"""Detects the recovery of the API server by requeueing one failing parent at a time.

After an outage of minutes, the backoff of each parent is about a minute. No other event reports the recovery, because
the watches may have stayed open. Short retries of all parents would overload the API server again.
"""

from collections.abc import Callable

from coxswain.kernel.cache.store import Key


class RecoveryProbe:
    """Tracks the keys with a transient server error in their last attempt."""

    def __init__(self) -> None:
        self._failing: dict[Key, None] = {}

    def clear(self) -> None:
        """Remove all keys."""
        self._failing.clear()

    def remove(self, covers: Callable[[str], bool]) -> None:
        """Remove the keys of some namespaces."""
        self._failing = {key: None for key in self._failing if not covers(key.namespace)}

    def server_failed(self, key: Key) -> None:
        """Record a transient server error and move the key to the end."""
        self._failing.pop(key, None)
        self._failing[key] = None

    def attempt_failed(self, key: Key) -> None:
        """Record any failure of an attempt: move the key to the end if it is tracked."""
        if key in self._failing:
            self.server_failed(key)

    def discard(self, key: Key) -> None:
        """Remove a key, if it is tracked: its last attempt met no server error."""
        self._failing.pop(key, None)

    def succeeded(self, key: Key, *, answered: bool) -> list[Key]:
        """Record a success of a key. If it was tracked, remove all keys and return the others, to be requeued now.

        A success proves nothing unless the API server `answered` a request. Then only this key is removed.
        """
        if key not in self._failing or not answered:
            self.discard(key)
            return []
        others = [other for other in self._failing if other != key]
        self._failing.clear()
        return others

    @property
    def candidate(self) -> Key | None:
        """The key to requeue next: its last attempt is the longest ago. None if the API server does not fail."""
        return next(iter(self._failing), None)
