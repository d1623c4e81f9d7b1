"""Tombstones: the removed objects of the cache, so that an older update cannot restore them."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from coxswain.kernel.objects.kinds import Kind

_RELISTS = 2
"""Completed relists after which no older update is in flight."""

Place = TypeVar("Place", bound=Hashable)


@dataclass
class _Tombstone:
    version: int
    relists: int = 0
    """Completed relists of its kind and scope since the removal."""


class Tombstones(Generic[Place]):
    """The resourceVersion of the removal of each object, until the second relist after it."""

    def __init__(self) -> None:
        self._of: dict[Kind, dict[Place, _Tombstone]] = {}

    def version(self, kind: Kind, place: Place) -> int:
        """Return the resourceVersion of the last known removal of an object; 0 without one."""
        found = self._of.get(kind, {}).get(place)
        return 0 if found is None else found.version

    def add(self, kind: Kind, place: Place, version: int) -> None:
        """Record a removal, unless a newer one is known."""
        if version > self.version(kind, place):
            self._of.setdefault(kind, {})[place] = _Tombstone(version)

    def discard(self, kind: Kind, place: Place) -> None:
        """Remove the tombstone of an object that exists again."""
        self._of.get(kind, {}).pop(place, None)

    def drop(self, kind: Kind) -> None:
        """Remove the tombstones of a kind."""
        self._of.pop(kind, None)

    def age(self, kind: Kind, is_in_scope: Callable[[Place], bool]) -> None:
        """Count a relist of a kind in a scope, and remove the tombstones that are old enough."""
        tombstones = self._of.get(kind, {})
        for place in [place for place in tombstones if is_in_scope(place)]:
            tombstones[place].relists += 1
            if tombstones[place].relists >= _RELISTS:
                del tombstones[place]

    def clear(self) -> None:
        """Remove all tombstones."""
        self._of.clear()
