"""The references of parents to objects of others."""

from collections.abc import Set
from typing import Generic

from coxswain.kernel.cache.index import Index, Item, Place


class References(Generic[Item, Place]):
    """Parents by the objects to which their spec or their running state refers."""

    def __init__(self) -> None:
        self._written: dict[Item, Set[Place]] = {}
        self._followed: dict[Item, Set[Place]] = {}
        self._users: Index[Item, Place] = Index()

    def users(self, referenced: Place) -> set[Item]:
        """Return the parents that refer to an object."""
        return set(self._users.at(referenced))

    def write(self, parent: Item, referenced: Set[Place]) -> None:
        """Set the objects to which the spec of a parent refers."""
        self._set(self._written, parent, referenced)

    def follow(self, parent: Item, referenced: Set[Place]) -> None:
        """Set the objects to which an earlier state of a parent refers while it runs."""
        self._set(self._followed, parent, referenced)

    def clear(self) -> None:
        """Remove all references."""
        for table in (self._written, self._followed, self._users):
            table.clear()

    def _set(self, table: dict[Item, Set[Place]], parent: Item, referenced: Set[Place]) -> None:
        before = self._of(parent)
        if referenced:
            table[parent] = referenced
        else:
            table.pop(parent, None)
        self._users.move(parent, before, self._of(parent))

    def _of(self, parent: Item) -> Set[Place]:
        return self._written.get(parent, frozenset()) | self._followed.get(parent, frozenset())
