"""Holds parents back until the coverage of their namespace changes."""

from collections.abc import Callable, Iterable, Sequence

from coxswain.kernel.cache.coverage import Coverage
from coxswain.kernel.cache.store import Key


class Waiting:
    """Keys to requeue when the coverage of their namespace changes."""

    def __init__(self, coverage: Coverage, namespaces: Sequence[str | None]) -> None:
        self._coverage = coverage
        self._views = {namespace: coverage.view(namespace) for namespace in namespaces}
        self._keys: set[Key] = set()

    def add(self, key: Key) -> None:
        """Add a key."""
        self._keys.add(key)

    def discard(self, key: Key) -> None:
        """Remove a key, if present."""
        self._keys.discard(key)

    def clear(self) -> None:
        """Remove all keys after a history reset: the relist enqueues every existing parent."""
        self._keys.clear()
        # Take over the present views: the next change counts from now.
        self.take_due(lambda: ())

    def take_due(self, parents: Callable[[], Iterable[Key]]) -> set[Key]:
        """Remove and return the keys of namespaces with changed coverage.

        If a kind can no longer be listed in a namespace, or an optional kind comes or goes, also return all of its
        parents: their status must report it. So it is if the watch of a kind of referenced objects is lost or opens
        again. `parents` returns the keys of all parents.
        """
        found: set[Key] = set()
        for namespace, before in self._views.items():
            now = self._views[namespace] = self._coverage.view(namespace)
            if now == before:
                continue
            found |= {key for key in self._keys if namespace in (None, key.namespace)}
            reported = now.unavailable != before.unavailable or now.unwatched != before.unwatched
            if reported or now.unserved != before.unserved or set(now.unlisted) - set(before.unlisted):
                found |= {key for key in parents() if namespace in (None, key.namespace)}
        self._keys -= found
        return found
