"""A table of many objects that are rarely read: compressed, with one of them as dictionary for the others.

A history has more objects than everything else together, and they differ in a few values only.
"""

import pickle
import zlib
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from coxswain.kernel.cache.packed_table import LARGE_BYTES, packed_fields
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection

RECENT = 256
"""Number of objects that are kept unpacked as well: several times the history of the parents in progress. Large
ones are unpacked for each read."""

_DICTIONARY_BYTES = 32 * 1024
"""zlib looks back no further."""

_Place = TypeVar("_Place", bound=Hashable)


class DenseTable(Generic[_Place]):
    """Objects of one kind by namespace and name."""

    def __init__(self, kind: Kind, *, recent: int = RECENT) -> None:
        """Hold objects of `kind`, and keep `recent` of them unpacked besides."""
        self._kind = kind
        self._limit = recent
        self._dictionary = b""
        self._packed: dict[_Place, bytes] = {}
        self._recent: OrderedDict[_Place, Projection] = OrderedDict()

    def __iter__(self) -> Iterator[_Place]:
        yield from list(self._packed)

    def __len__(self) -> int:
        return len(self._packed)

    def __contains__(self, place: object) -> bool:
        return place in self._packed

    def get(self, place: _Place) -> Projection | None:
        """Return an object, or None."""
        found = self._recent.get(place)
        if found is not None:
            self._recent.move_to_end(place)
            return found
        if place not in self._packed:
            return None
        content = zlib.decompressobj(zdict=self._dictionary).decompress(self._packed[place])
        found = Projection(self._kind, *pickle.loads(content))  # noqa: S301 - we packed it
        self._keep(place, found, len(content))
        return found

    def put(self, place: _Place, observed: Projection) -> None:
        """Add an object or replace the previous one."""
        content = pickle.dumps(packed_fields(observed), pickle.HIGHEST_PROTOCOL)
        if not self._packed:
            self._dictionary = content[-_DICTIONARY_BYTES:]
        packing = zlib.compressobj(level=6, zdict=self._dictionary)
        self._packed[place] = packing.compress(content) + packing.flush()
        self._recent.pop(place, None)
        self._keep(place, observed, len(content))

    def remove(self, place: _Place) -> None:
        """Remove an object, if present."""
        self._packed.pop(place, None)
        self._recent.pop(place, None)

    def _keep(self, place: _Place, observed: Projection, size: int) -> None:
        if size > LARGE_BYTES:
            return
        self._recent[place] = observed
        if len(self._recent) > self._limit:
            self._recent.popitem(last=False)
