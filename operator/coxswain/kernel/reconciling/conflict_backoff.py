"""Backoff of a child whose writes are refused with 409 again and again, whatever events come meanwhile.

The controller of a Deployment writes its status several times a second during a rollout. Each of its events reconciles
the WebApp, and while the watch is behind the writes each attempt would be one more 409 with its two GETs.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from coxswain.kernel.cache.store import Key
from coxswain.kernel.reconciling.retention import retain
from coxswain.settings import StatusSettings
from coxswain.webapp.health import Health


@dataclass(frozen=True)
class _Conflicts:
    count: int
    """Conflicts in a row."""
    last: float
    state: Health
    """The health that was reported with the last one."""


@dataclass(frozen=True)
class Waiting:
    """A child that is not written now."""

    state: Health
    seconds: float


class ConflictBackoff:
    """The children whose last write was a conflict."""

    def __init__(self, settings: StatusSettings, clock: Callable[[], float]) -> None:
        """Wait as a status does after conflicts; `clock` gives monotonic seconds."""
        self._settings = settings
        self._clock = clock
        self._of_webapp: dict[Key, dict[str, _Conflicts]] = {}

    def conflicted(self, key: Key, child: str, state: Health) -> None:
        """Note a write that was refused since the child had changed; `state` is reported while it waits."""
        children = self._of_webapp.setdefault(key, {})
        before = children.get(child)
        children[child] = _Conflicts(1 if before is None else before.count + 1, self._clock(), state)

    def succeeded(self, key: Key, child: str) -> None:
        """Note that a child was written, or needs no write."""
        self._of_webapp.get(key, {}).pop(child, None)

    def waiting(self, key: Key, child: str) -> Waiting | None:
        """Return a child that must not be written yet; most often a single conflict is one change by one person."""
        found = self._of_webapp.get(key, {}).get(child)
        if found is None or found.count < 2:
            return None
        delay = min(
            self._settings.conflict_delay * 2.0 ** min(found.count - 2, 30), self._settings.conflict_delay_limit
        )
        remaining = found.last + delay - self._clock()
        return Waiting(found.state, remaining) if remaining > 0 else None

    def retain(self, key: Key, children: Collection[str]) -> None:
        """Forget all children of a WebApp but these, each given as kind/name."""
        retain(self._of_webapp, key, lambda child: child in children)

    def forget(self, key: Key) -> None:
        """Forget the children of a WebApp that is gone."""
        self._of_webapp.pop(key, None)

    def clear(self) -> None:
        """Forget all WebApps."""
        self._of_webapp.clear()
