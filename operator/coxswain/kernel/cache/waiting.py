"""WebApps that wait for more of their namespace to be listed."""

from collections.abc import Callable, Iterable, Sequence

from coxswain.kernel.cache.coverage import Coverage
from coxswain.kernel.cache.store import Key


class Waiting:
    """Keys that are looked at again when the coverage of their namespace changes."""

    def __init__(self, coverage: Coverage, namespaces: Sequence[str | None]) -> None:
        self._coverage = coverage
        self._views = {namespace: coverage.view(namespace) for namespace in namespaces}
        self._keys: set[Key] = set()

    def add(self, key: Key) -> None:
        """Let a key wait."""
        self._keys.add(key)

    def discard(self, key: Key) -> None:
        """Let a key wait no longer."""
        self._keys.discard(key)

    def clear(self) -> None:
        """Let no key wait: history starts over, and each WebApp that there is will be listed."""
        self._keys.clear()
        self.released(lambda: ())

    def released(self, webapps: Callable[[], Iterable[Key]]) -> set[Key]:
        """Return the keys whose wait is over, and of `webapps` those for which a kind can't be listed any more."""
        found: set[Key] = set()
        for namespace, before in self._views.items():
            now = self._views[namespace] = self._coverage.view(namespace)
            if now == before:
                continue
            found |= {key for key in self._keys if namespace in (None, key.namespace)}
            if set(now.unlisted) - set(before.unlisted):
                found |= {key for key in webapps() if namespace in (None, key.namespace)}
        self._keys -= found
        return found
