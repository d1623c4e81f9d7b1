"""A table of objects with a small memory footprint: recently used objects as they are, the others pickled.

Most objects are read when they change and then not for hours. As Python dicts they need several times the size of their
JSON.
"""

import pickle
import zlib
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Generic, TypeVar

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection

RECENT = 64
"""Number of unpacked objects of a kind: several times the number of workers."""

LARGE_BYTES = 32 * 1024
"""Pickled size in bytes above which an object is compressed immediately. The limit of etcd for an object is 1.5 MB."""

_Place = TypeVar("_Place", bound=Hashable)
packed_fields = attrgetter(*(field.name for field in fields(Projection)[1:]))
"""Returns the fields of a projection, without its kind: that is the same for a whole table."""


@dataclass(frozen=True)
class _Compressed:
    """A large object. It is unpacked for each read and never kept unpacked."""

    content: bytes


class PackedTable(Generic[_Place]):
    """Objects of one kind by namespace and name."""

    def __init__(self, kind: Kind, *, recent: int = RECENT) -> None:
        """Hold objects of `kind`, and keep `recent` of them unpacked."""
        self._kind = kind
        self._limit = recent
        self._recent: OrderedDict[_Place, Projection] = OrderedDict()
        self._packed: dict[_Place, bytes | _Compressed] = {}

    def __iter__(self) -> Iterator[_Place]:
        yield from list(self._packed)
        yield from list(self._recent)

    def __len__(self) -> int:
        return len(self._packed) + len(self._recent)

    def __contains__(self, place: object) -> bool:
        return place in self._recent or place in self._packed

    def get(self, place: _Place) -> Projection | None:
        """Return an object, or None."""
        found = self._recent.get(place)
        if found is not None:
            self._recent.move_to_end(place)
            return found
        packed = self._packed.get(place)
        if packed is None:
            return None
        found = Projection(self._kind, *_unpacked(packed))
        if isinstance(packed, bytes):
            del self._packed[place]
            self._keep(place, found)
        return found

    def put(self, place: _Place, observed: Projection) -> None:
        """Add an object or replace the previous one."""
        # First: if it fails, the previous object stays.
        packed = _packed(observed)
        self.remove(place)
        if isinstance(packed, bytes):
            self._keep(place, observed)
        else:
            self._packed[place] = packed

    def remove(self, place: _Place) -> None:
        """Remove an object, if present."""
        self._packed.pop(place, None)
        self._recent.pop(place, None)

    def _keep(self, place: _Place, observed: Projection) -> None:
        self._recent[place] = observed
        self._recent.move_to_end(place)
        if len(self._recent) > self._limit:
            oldest, content = self._recent.popitem(last=False)
            self._packed[oldest] = _packed(content)


def _packed(observed: Projection) -> bytes | _Compressed:
    packed = pickle.dumps(packed_fields(observed), pickle.HIGHEST_PROTOCOL)
    return packed if len(packed) <= LARGE_BYTES else _Compressed(zlib.compress(packed, 1))


def _unpacked(packed: bytes | _Compressed) -> tuple[Any, ...]:
    content = packed if isinstance(packed, bytes) else zlib.decompress(packed.content)
    fields_but_kind: tuple[Any, ...] = pickle.loads(content)  # noqa: S301 - we packed it
    return fields_but_kind
