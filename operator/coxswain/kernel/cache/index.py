"""An index: finds the items at a place."""

from collections.abc import Hashable, Set
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)
Place = TypeVar("Place", bound=Hashable)


class Index(Generic[Item, Place]):
    """Items by their places. An item has any number of places."""

    def __init__(self) -> None:
        self._items: dict[Place, set[Item]] = {}

    def at(self, place: Place) -> Set[Item]:
        """Return the items at a place."""
        return self._items.get(place, frozenset())

    def move(self, item: Item, old: Set[Place], new: Set[Place]) -> None:
        """Move an item from its old places to its new ones. Places without items are removed."""
        for place in old - new:
            self._items[place].discard(item)
            if not self._items[place]:
                del self._items[place]
        for place in new:
            self._items.setdefault(place, set()).add(item)

    def clear(self) -> None:
        """Remove all items."""
        self._items.clear()
