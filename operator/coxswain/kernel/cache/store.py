"""The store: an in-memory cache of parents and their objects as projections, rebuilt at every start.

Updates arrive in any order from watches, relists and write responses. Only a newer resourceVersion adds, replaces or
removes an entry. resourceVersions of one kind compare as integers (KEP-5504), also for different uids of one name. A
removal leaves a tombstone, so that an older update cannot restore the object.
"""

import dataclasses
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from coxswain.kernel.cache.condition_counts import ConditionCounts
from coxswain.kernel.cache.dense_table import DenseTable
from coxswain.kernel.cache.index import Index
from coxswain.kernel.cache.latest_changes import LatestChanges
from coxswain.kernel.cache.packed_table import PackedTable
from coxswain.kernel.cache.references import References
from coxswain.kernel.cache.tombstones import Tombstones
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection


class HistoryReset(Exception):
    """The resourceVersion ran backwards: etcd was restored from a backup, so the whole store is invalid."""


@dataclass(frozen=True, order=True)
class Key:
    """Namespace and name of an object."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class Relist:
    """A relist in progress."""

    kind: Kind
    namespace: str | None
    newest_before: int
    """The newest known resourceVersion before the LIST was sent."""

    def covers(self, place: Key) -> bool:
        """Report whether an object is in its scope."""
        return self.namespace in (None, place.namespace)


class Store:
    """Cache of parents and their objects. Not thread-safe: one event loop owns it."""

    def __init__(self, parent: Kind, conditions: Sequence[str] = (), *, records: Sequence[Kind] = ()) -> None:
        """Hold parents of kind `parent` and their objects.

        Args:
            parent: the kind of parents.
            conditions: the types of conditions by which parents are counted.
            records: the kinds with many objects that are rarely read.
        """
        self._records = frozenset(records)
        self._parent = parent
        self._conditions = ConditionCounts(conditions)
        self._entries: dict[Kind, PackedTable[Key] | DenseTable[Key]] = {}
        self._tombstones: Tombstones[Key] = Tombstones()
        self._newest: dict[Kind, int] = {}
        self._unserved: set[Kind] = set()
        """Kinds that the API server does not serve. An answer in flight may still bring an object of them."""
        self._of_parent: Index[tuple[Kind, Key], Key] = Index()
        self._references: References[Key, tuple[str, Key]] = References()
        self._latest: LatestChanges[Key] = LatestChanges()

    def clear(self) -> None:
        """Remove all entries and tombstones."""
        self._entries.clear()
        self._tombstones.clear()
        self._newest.clear()
        self._of_parent.clear()
        self._references.clear()
        self._latest.clear()
        self._conditions.clear()

    def serve(self, kind: Kind) -> None:
        """Store objects of a kind of children, because the API server serves it."""
        self._unserved.discard(kind)

    def drop(self, kind: Kind) -> None:
        """Remove all objects and tombstones of a kind of children until the API server serves it."""
        self._unserved.add(kind)
        for place in list(self._entries.get(kind, ())):
            self._replace(kind, place, self.get(kind, place), None, version=0)
        self._tombstones.drop(kind)

    def parent(self, key: Key) -> Projection | None:
        """Return a parent, or None."""
        return self.get(self._parent, key)

    def parents(self) -> list[Key]:
        """Return the keys of all parents."""
        return list(self._entries.get(self._parent, ()))

    def latest_first(self, keys: Iterable[Key]) -> list[Key]:
        """Return keys of parents sorted by their latest changes, the latest first: the order of a backlog.

        A change is an update or a removal of the parent or of one of its objects.
        """
        return self._latest.latest_first(keys)

    def count(self, kind: Kind) -> int:
        """Return the number of objects of a kind."""
        return len(self._entries.get(kind, ()))

    def conditions(self) -> dict[tuple[str, str], int]:
        """Return the number of parents by type and status of a condition."""
        return self._conditions.all()

    def get(self, kind: Kind, place: Key) -> Projection | None:
        """Return an object, or None."""
        entries = self._entries.get(kind)
        return None if entries is None else entries.get(place)

    def is_latest(self, observed: Projection) -> bool:
        """Return whether the store holds this version of the object, and no newer one or its removal."""
        known = self.get(observed.kind, Key(observed.namespace, observed.name))
        return known is not None and known.version == observed.version

    def objects_of(self, key: Key, *kinds: Kind) -> list[Projection]:
        """Return the objects with a label or controller reference to the parent, sorted by kind, namespace and name."""
        wanted = frozenset(kinds)
        places = [(kind, place) for kind, place in self._of_parent.at(key) if kind in wanted]
        if len(places) > 1:
            places.sort(key=lambda found: (found[0].kind, found[1].namespace, found[1].name))
        return [found for kind, place in places if (found := self.get(kind, place)) is not None]

    def users(self, kind: Kind, place: Key) -> set[Key]:
        """Return the parents that refer to an object of others."""
        return self._references.users((kind.kind, place))

    def follow(self, key: Key, referenced: Iterable[tuple[str, str]]) -> None:
        """Count a parent as a user of further objects: its running state refers to them, but perhaps not its spec.

        Args:
            key: the key of the parent. The references are dropped with it.
            referenced: kind and name of the objects, instead of those of the last call.
        """
        is_there = key in self._entries.get(self._parent, ())
        self._references.follow(key, _places(key.namespace, referenced) if is_there else frozenset())

    def observe(self, observed: Projection) -> set[Key]:
        """Store an object from a watch, a LIST, a GET or the response to a write, if it is newer.

        Returns:
            The parents to enqueue; empty if the store already held this version or a newer one, or if the API server
            does not serve the kind.
        """
        self._seen(observed.kind, observed.version)
        if observed.kind in self._unserved:
            return set()
        place = Key(observed.namespace, observed.name)
        known = self.get(observed.kind, place)
        if known is not None and observed.version <= known.version:
            return set()
        # Equal versions are valid: if an object stops matching the label selector of the watch, DELETED carries the
        # version of the live object (docs/decisions/0004). A true deletion has a revision of its own.
        if observed.version < self.removed_at(observed.kind, place):
            return set()
        self._tombstones.discard(observed.kind, place)
        return self._replace(observed.kind, place, known, observed, version=observed.version)

    def forget(self, kind: Kind, place: Key, version: int) -> set[Key]:
        """Remove an object after a DELETED event with resourceVersion `version`, if that is newer.

        Returns:
            The parents to enqueue.
        """
        self._seen(kind, version)
        if kind in self._unserved:
            return set()
        known = self.get(kind, place)
        if known is not None and version <= known.version:
            return set()
        return self._remove(kind, place, version)

    def _remove(self, kind: Kind, place: Key, version: int) -> set[Key]:
        known = self.get(kind, place)
        self._tombstones.add(kind, place, version)
        return self._replace(kind, place, known, None, version=version)

    def answer(self, observed: Projection, sent_for: Projection | None) -> set[Key]:
        """Store the response to a write. `sent_for` is the entry that the write was based on.

        Returns:
            The parents to enqueue.

        Raises:
            HistoryReset: The response is older than `sent_for`.
        """
        if sent_for is not None and observed.version < sent_for.version:
            raise HistoryReset(
                f"{observed.kind} {observed.namespace}/{observed.name} was at {sent_for.version}, "
                f"and a write was answered with {observed.version}"
            )
        return self.observe(observed)

    def removed_at(self, kind: Kind, place: Key) -> int:
        """Return the resourceVersion of the last known removal of an object; 0 without one."""
        return self._tombstones.version(kind, place)

    def begin_relist(self, kind: Kind, namespace: str | None) -> Relist:
        """Begin a relist of a kind in one namespace, or with None in all. Call this before sending the LIST."""
        return Relist(kind, namespace, self.newest(kind))

    def newest(self, kind: Kind) -> int:
        """Return the newest known resourceVersion of a kind, or 0."""
        return self._newest.get(kind, 0)

    def listed(self, observed: Projection, version: int) -> set[Key]:
        """Store an object of a relist. `version` is the resourceVersion of the LIST.

        Returns:
            The parents to enqueue.

        Raises:
            HistoryReset: The store held a newer object or its removal, also no newer than `version`.
        """
        place = Key(observed.namespace, observed.name)
        known = self.get(observed.kind, place)
        floor = max(known.version if known else 0, self.removed_at(observed.kind, place))
        if observed.version < floor <= version:
            raise HistoryReset(f"{observed.kind} {place}: {floor} was seen, and then {observed.version} at {version}")
        if known is not None and observed.version == known.version and observed != known:
            # The API server decodes the same stored object differently, for example after a change of CRD defaults.
            return self._replace(observed.kind, place, known, observed, version=observed.version)
        return self.observe(observed)

    def end_relist(self, relist: Relist, version: int, listed: Iterable[Key]) -> set[Key]:
        """End a relist: remove the objects of its scope that are absent from the LIST.

        Args:
            relist: The relist from `begin_relist`.
            version: The resourceVersion of the LIST.
            listed: All objects of the LIST.

        Returns:
            The parents to enqueue.

        Raises:
            HistoryReset: The LIST is older than the newest resourceVersion before the relist.
        """
        if version < relist.newest_before:
            raise HistoryReset(f"{relist.kind}: version {relist.newest_before} was seen, and then a list at {version}")
        self._seen(relist.kind, version)
        self._tombstones.age(relist.kind, relist.covers)
        present = set(listed)
        touched: set[Key] = set()
        held = self._entries.get(relist.kind, ())
        for place in [place for place in held if relist.covers(place) and place not in present]:
            known = self.get(relist.kind, place)
            # An object with the version of the LIST would be in the LIST.
            if known is not None and known.version <= version:
                touched |= self._remove(relist.kind, place, version)
        return touched

    def _seen(self, kind: Kind, version: int) -> None:
        self._newest[kind] = max(version, self._newest.get(kind, 0))

    def _replace(
        self, kind: Kind, place: Key, before: Projection | None, after: Projection | None, *, version: int
    ) -> set[Key]:
        """Replace an entry, and return the parents to enqueue. `version` is the resourceVersion of the change."""
        self._put(kind, place, before, after)
        touched = self._touched(kind, place, before, after)
        known = self._entries.get(self._parent, ())
        for key in touched:
            if key in known or self._of_parent.at(key):
                self._latest.record(key, version)
            else:
                self._latest.forget(key)
        return touched

    def _put(self, kind: Kind, place: Key, before: Projection | None, after: Projection | None) -> None:
        entries = self._entries.get(kind)
        if entries is None:
            entries = self._entries[kind] = DenseTable(kind) if kind in self._records else PackedTable(kind)
        if after is None:
            entries.remove(place)
        else:
            entries.put(place, after)
        if kind is self._parent:
            self._references.write(place, frozenset() if after is None else _places(after.namespace, after.referenced))
            if after is None:
                self._references.follow(place, frozenset())
            self._conditions.replace(before, after)
        else:
            self._of_parent.move((kind, place), _parents_of(before), _parents_of(after))

    def _touched(self, kind: Kind, place: Key, before: Projection | None, after: Projection | None) -> set[Key]:
        """Return the parents that a change affects."""
        old, new = _parents_of(before), _parents_of(after)
        # Projections omit much that controllers write, such as a ReplicaSet's status or an autoscaler's metrics. A new
        # version of a parent always counts: a status write may have been refused for the previous version.
        if kind is not self._parent and _same(before, after):
            return old ^ new
        if kind.metadata_only:
            return self.users(kind, place)
        known = self._entries.get(self._parent, ())
        return old | new | {key for key in _namesakes(before, after) if key in known}


def _places(namespace: str, objects: Iterable[tuple[str, str]]) -> Set[tuple[str, Key]]:
    """Return kind and key of objects in a namespace."""
    return {(kind, Key(namespace, name)) for kind, name in objects}


def _namesakes(*objects: Projection | None) -> set[Key]:
    """Return the parents for which an object has the name of a child: it may block that child, whatever its labels."""
    return {Key(each.namespace, name) for each in objects if each is not None for name in each.namesakes}


def _same(before: Projection | None, after: Projection | None) -> bool:
    """Return whether two projections differ at most in their resourceVersion."""
    return before is not None and after is not None and dataclasses.replace(after, version=before.version) == before


def _parents_of(observed: Projection | None) -> set[Key]:
    return set() if observed is None else {Key(observed.namespace, name) for name in observed.parents}
