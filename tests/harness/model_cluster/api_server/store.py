"""The stored objects and their history: LIST at a past version, WATCH, compaction, snapshots."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from model_cluster.api_server.kinds import Kind
from model_cluster.api_server.schema import Object


class Expired(Exception):
    """410: the changes since then are compacted."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one object."""

    version: int
    namespace: str
    name: str
    old: Object | None
    new: Object | None
    """None for a deletion."""
    gone: Object | None = None
    """The deleted object, with the version of its removal."""


@dataclass(frozen=True)
class Snapshot:
    """All stored data at one moment."""

    version: int
    compacted: int
    objects: dict[Kind, dict[tuple[str, str], Object]]
    changes: dict[Kind, list[Change]]


class Store:
    """Objects by kind, namespace and name. The version grows by one with each change."""

    def __init__(self) -> None:
        self.version = 1
        self.compacted = 0
        self._objects: dict[Kind, dict[tuple[str, str], Object]] = {}
        self._changes: dict[Kind, list[Change]] = {}

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Return an object."""
        return self._objects.get(kind, {}).get((namespace, name))

    def all(self) -> Iterator[tuple[Kind, Object]]:
        """Yield every object."""
        for kind, objects in list(self._objects.items()):
            for found in list(objects.values()):
                yield kind, found

    def put(self, kind: Kind, obj: Object) -> Object:
        """Store an object; return it with its version."""
        metadata = obj["metadata"]
        place = (metadata.get("namespace", ""), metadata["name"])
        objects = self._objects.setdefault(kind, {})
        self.version += 1
        stored = {**obj, "metadata": {**metadata, "resourceVersion": str(self.version)}}
        self._changes.setdefault(kind, []).append(Change(self.version, *place, objects.get(place), stored))
        objects[place] = stored
        return stored

    def remove(self, kind: Kind, obj: Object) -> Object:
        """Remove an object; return it with the version of its removal."""
        metadata = obj["metadata"]
        place = (metadata.get("namespace", ""), metadata["name"])
        self.version += 1
        gone = {**obj, "metadata": {**metadata, "resourceVersion": str(self.version)}}
        old = self._objects[kind].pop(place)
        self._changes.setdefault(kind, []).append(Change(self.version, *place, old, None, gone))
        return gone

    def listed(self, kind: Kind, namespace: str | None, version: int) -> list[tuple[tuple[str, str], Object]]:
        """Return the objects of a kind at a version, by namespace and name.

        Raises:
            Expired: the version is compacted.
        """
        if version < self.compacted:
            raise Expired
        objects = self._objects.get(kind, {})
        past = dict(objects) if version < self.version else objects
        for change in reversed(self._changes.get(kind, [])):
            if change.version <= version:
                break
            if change.old is None:
                past.pop((change.namespace, change.name), None)
            else:
                past[change.namespace, change.name] = change.old
        found = [each for each in past.items() if namespace is None or each[0][0] == namespace]
        found.sort(key=lambda each: "/".join(each[0]))
        return found

    def changes(self, kind: Kind, since: int) -> list[Change]:
        """Return the changes of a kind after a version.

        Raises:
            Expired: some changes are compacted.
        """
        if since < self.compacted:
            raise Expired
        changes = self._changes.get(kind, [])
        return changes[bisect_right(changes, since, key=lambda change: change.version) :]

    def compact(self, version: int) -> None:
        """Compact the changes up to a version."""
        self.compacted = max(self.compacted, min(version, self.version))
        for kind, changes in self._changes.items():
            self._changes[kind] = changes[bisect_right(changes, self.compacted, key=lambda change: change.version) :]

    def snapshot(self) -> Snapshot:
        """Return all data stored now."""
        return Snapshot(
            self.version,
            self.compacted,
            {kind: dict(objects) for kind, objects in self._objects.items()},
            {kind: list(changes) for kind, changes in self._changes.items()},
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot: versions go backwards."""
        self.version = snapshot.version
        self.compacted = snapshot.compacted
        self._objects = {kind: dict(objects) for kind, objects in snapshot.objects.items()}
        self._changes = {kind: list(changes) for kind, changes in snapshot.changes.items()}
