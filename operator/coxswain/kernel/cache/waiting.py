"""Holds WebApps back until the coverage of their namespace changes."""

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
        """Remove all keys after a history reset: the relist enqueues every existing WebApp."""
        self._keys.clear()
        self.released(lambda: ())

    def released(self, webapps: Callable[[], Iterable[Key]]) -> set[Key]:
        """Remove and return the keys of namespaces with changed coverage.

        If a kind can no longer be listed in a namespace, or an optional kind comes or goes, also return all of its
        WebApps: their status must report it. `webapps` returns the keys of all WebApps.
        """
        found: set[Key] = set()
        for namespace, before in self._views.items():
            now = self._views[namespace] = self._coverage.view(namespace)
            if now == before:
                continue
            found |= {key for key in self._keys if namespace in (None, key.namespace)}
            if set(now.unlisted) - set(before.unlisted) or now.unavailable != before.unavailable:
                found |= {key for key in webapps() if namespace in (None, key.namespace)}
        self._keys -= found
        return found
