"""The store: what is known of the cluster, in small projections; rebuilt at every start.

One rule orders what reaches it from watches, sweeps and answers: only something newer adds, replaces or removes an
entry. resourceVersions of one kind compare as integers, also across the uids of one name. A removal leaves a tombstone,
so that news older than it can't bring the object back.
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

from coxswain.kernel.cache.packed_table import PackedTable
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection


class HistoryReset(Exception):
    """History ran backwards: etcd was restored from a backup, so nothing in the store can be trusted."""


@dataclass(frozen=True, order=True)
class Key:
    """A parent, by its place."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass
class _Tombstone:
    version: int
    sweeps: int = 0
    """Sweeps of its kind and scope that have ended since."""


@dataclass(frozen=True)
class Sweep:
    """One sweep of a kind that is under way."""

    kind: Kind
    namespace: str | None
    newest_before: int
    """The newest resourceVersion that was known when its LIST was about to be sent."""


class Store:
    """Projections of parents and their objects. Not thread-safe: one event loop owns it."""

    def __init__(self, parent: Kind) -> None:
        """Hold parents of this kind and their objects."""
        self._parent = parent
        self._entries: dict[Kind, PackedTable[Key]] = {}
        self._tombstones: dict[Kind, dict[Key, _Tombstone]] = {}
        self._newest: dict[Kind, int] = {}
        self._of_parent: dict[Key, set[tuple[Kind, Key]]] = {}

    def clear(self) -> None:
        """Drop everything."""
        for table in (self._entries, self._tombstones, self._newest, self._of_parent):
            table.clear()

    def parent(self, key: Key) -> Projection | None:
        """Return a parent."""
        return self.get(self._parent, key)

    def parents(self) -> list[Key]:
        """Return the keys of all parents."""
        return list(self._entries.get(self._parent, ()))

    def get(self, kind: Kind, place: Key) -> Projection | None:
        """Return an object."""
        entries = self._entries.get(kind)
        return None if entries is None else entries.get(place)

    def is_latest(self, observed: Projection) -> bool:
        """Tell whether nothing newer is known than this object, and not that it is gone."""
        known = self.get(observed.kind, Key(observed.namespace, observed.name))
        return known is not None and known.version == observed.version

    def objects_of(self, key: Key, *kinds: Kind) -> list[Projection]:
        """Return the objects of these kinds whose label or controller reference names the WebApp, in order."""
        places = [(kind, place) for kind, place in self._of_parent.get(key, ()) if kind in kinds]
        places.sort(key=lambda found: (found[0].kind, found[1]))
        return [found for kind, place in places if (found := self.get(kind, place)) is not None]

    def observe(self, observed: Projection) -> set[Key]:
        """Take in an object from a watch, a page of a LIST, a GET or the answer of a write.

        Returns:
            The WebApps that should be looked at: empty if the store knew as much already.
        """
        self._seen(observed.kind, observed.version)
        place = Key(observed.namespace, observed.name)
        known = self.get(observed.kind, place)
        tombstone = self._tombstones.get(observed.kind, {}).get(place)
        if known is not None and observed.version <= known.version:
            return set()
        # Equal is no contradiction: an object that left the watch's label filter was told as DELETED with the very
        # version that a GET then finds. A revision that deleted an object is never the version of one.
        if tombstone is not None and observed.version < tombstone.version:
            return set()
        self._tombstones.get(observed.kind, {}).pop(place, None)
        return self._replace(observed.kind, place, known, observed)

    def forget(self, kind: Kind, place: Key, version: int) -> set[Key]:
        """Take in a removal at a resourceVersion, as a DELETED tells it."""
        self._seen(kind, version)
        known = self.get(kind, place)
        if known is not None and version <= known.version:
            return set()
        return self._remove(kind, place, version)

    def _remove(self, kind: Kind, place: Key, version: int) -> set[Key]:
        known = self.get(kind, place)
        tombstone = self._tombstones.setdefault(kind, {}).setdefault(place, _Tombstone(version))
        if version > tombstone.version:
            self._tombstones[kind][place] = _Tombstone(version)
        return self._replace(kind, place, known, None)

    def answer(self, observed: Projection, sent_for: Projection | None) -> set[Key]:
        """Take in the answer of a write that was sent for an entry.

        Raises:
            HistoryReset: the answer is older than that entry.
        """
        if sent_for is not None and observed.version < sent_for.version:
            raise HistoryReset(
                f"{observed.kind} {observed.namespace}/{observed.name} was at {sent_for.version}, "
                f"and a write was answered with {observed.version}"
            )
        return self.observe(observed)

    def begin_sweep(self, kind: Kind, namespace: str | None) -> Sweep:
        """Begin a sweep of a kind, in one namespace or all: call it before the LIST is sent."""
        return Sweep(kind, namespace, self.newest(kind))

    def newest(self, kind: Kind) -> int:
        """Return the newest resourceVersion of a kind that is known; 0 if none is."""
        return self._newest.get(kind, 0)

    def listed(self, observed: Projection, version: int) -> set[Key]:
        """Take in an object of a sweep's LIST, which is consistent at this resourceVersion.

        Raises:
            HistoryReset: by then the object should have been newer, or gone for good.
        """
        place = Key(observed.namespace, observed.name)
        known = self.get(observed.kind, place)
        removed = self._tombstones.get(observed.kind, {}).get(place)
        floor = max(known.version if known else 0, removed.version if removed else 0)
        if observed.version < floor <= version:
            raise HistoryReset(f"{observed.kind} {place}: {floor} was seen, and then {observed.version} at {version}")
        if known is not None and observed.version == known.version and observed != known:
            # The server reads what is stored in another way now: a CRD has other defaults.
            return self._replace(observed.kind, place, known, observed)
        return self.observe(observed)

    def end_sweep(self, sweep: Sweep, version: int, listed: Iterable[Key]) -> set[Key]:
        """End a sweep: what its LIST, at this resourceVersion, did not hold, goes.

        Raises:
            HistoryReset: the LIST is older than what was known before it was sent.
        """
        if version < sweep.newest_before:
            raise HistoryReset(f"{sweep.kind}: version {sweep.newest_before} was seen, and then a list at {version}")
        self._seen(sweep.kind, version)
        self._age_tombstones(sweep)
        present = set(listed)
        touched: set[Key] = set()
        for place in [place for place in _in_scope(sweep, self._entries.get(sweep.kind, ())) if place not in present]:
            known = self.get(sweep.kind, place)
            # Equal is older too: what has the list's very version would be in it.
            if known is not None and known.version <= version:
                touched |= self._remove(sweep.kind, place, version)
        return touched

    def _seen(self, kind: Kind, version: int) -> None:
        self._newest[kind] = max(version, self._newest.get(kind, 0))

    def _age_tombstones(self, sweep: Sweep) -> None:
        tombstones = self._tombstones.get(sweep.kind, {})
        for place in _in_scope(sweep, tombstones):
            tombstones[place].sweeps += 1
            if tombstones[place].sweeps >= 2:
                del tombstones[place]

    def _replace(self, kind: Kind, place: Key, before: Projection | None, after: Projection | None) -> set[Key]:
        entries = self._entries.setdefault(kind, PackedTable(kind))
        old = _named(before)
        new = _named(after)
        if after is None:
            entries.remove(place)
        else:
            entries.put(place, after)
        if kind is not self._parent:
            for key in old - new:
                self._of_parent[key].discard((kind, place))
                if not self._of_parent[key]:
                    del self._of_parent[key]
            for key in new:
                self._of_parent.setdefault(key, set()).add((kind, place))
        # Much of what controllers write is not kept: a ReplicaSet's status, an autoscaler's metrics. Another version
        # of a WebApp is news all the same: its status may have been refused for the one before.
        if kind is not self._parent and _same(before, after):
            return old ^ new
        known = self._entries.get(self._parent, ())
        return old | new | {key for key in _namesakes(before, after) if key in known}


def _in_scope(sweep: Sweep, places: Iterable[Key]) -> list[Key]:
    return [place for place in places if sweep.namespace in (None, place.namespace)]


def _namesakes(*objects: Projection | None) -> set[Key]:
    """Return the WebApps whose children's names objects bear: whatever their labels, they may be in the way."""
    return {Key(each.namespace, each.namesake) for each in objects if each is not None and each.namesake is not None}


def _same(before: Projection | None, after: Projection | None) -> bool:
    """Tell whether nothing but the resourceVersion is another."""
    return before is not None and after is not None and dataclasses.replace(after, version=before.version) == before


def _named(observed: Projection | None) -> set[Key]:
    return set() if observed is None else {Key(observed.namespace, name) for name in observed.parents}
