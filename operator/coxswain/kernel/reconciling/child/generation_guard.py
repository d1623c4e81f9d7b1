"""The generation guard: no write that was computed from a stale parent.

Watches catch up in any order. After a start, the watches of the children may be ahead of the watch of the parents.
Then the store holds an old parent, and a write for it would undo what the present one asked for. So the first write for
a parent that an operator has worked on waits for a GET of it: a GET without a resourceVersion returns the most recent
state
(https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions). The watch of its records may lag
behind, too. So the record that decides which state runs is read next, once.

The store may also learn of a change during a reconcile, while a request or a Retry-After takes its time. So the parent
is compared with the store immediately before each write is sent, without a request.
"""

from typing import Any

from coxswain.kernel.api.errors import OutOfDate, Refused
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.memory.memory import Memory
from coxswain.kernel.workload import Parent, Workload


class GenerationGuard:
    """Lets a write pass if its parent is up to date. Reads it before the first write, and after each gap in a watch."""

    def __init__(self, store: Store, writer: Writer, workload: Workload[Any]) -> None:
        self._kinds = workload.projector.kinds
        self._histories = [(each.kind, each.history) for each in workload.children if each.history is not None]
        self._store = store
        self._writer = writer

    async def before_a_write(self, parent: Parent, memory: Memory) -> Writer:
        """Return a writer that writes only while the store has no newer parent.

        Read the parent before its first write if anybody has worked on it. A write that is not sent raises `OutOfDate`.

        Raises:
            OutOfDate: the parent has changed or is gone, or its record has changed; a changed one is in the store now.
            RequestFailed: one of them could not be read.
        """
        key = Key(parent.namespace, parent.name)
        # Before the reads: the event of a record may arrive during them, and the reconcile began without it.
        known = [] if memory.records_verified else self._deciding_records(parent)
        if not memory.verified or self._is_doubted(key, memory):
            await self._verify(key, parent, memory)
        if not memory.records_verified:
            # After the parent: an old one names the record of another state.
            for kind, place, record in known:
                await self._check_record(kind, place, record)
            memory.records_verified = True
        return self._writer.checking(lambda: self._require_unchanged(parent, self._store.parent(key)))

    async def _verify(self, key: Key, parent: Parent, memory: Memory) -> None:
        """Read the parent if anybody has worked on it, and once more after a gap of a watch during the read.

        Watches may break all the time. A gap during the second read leaves the parent in doubt for the next write.
        """
        for _ in range(2):
            gaps = memory.gaps
            if memory.verified or self._was_worked_on(key):
                await self.check(parent, memory)
            else:
                memory.records_verified = True
            if memory.gaps == gaps:
                memory.verified, memory.doubted_since = True, None
                return

    def _deciding_records(self, parent: Parent) -> list[tuple[Kind, Key, Projection | None]]:
        """Return the kind, the key and the cached state of each record that decides which state runs."""
        names = [(kind, history.deciding_record(parent)) for kind, history in self._histories]
        keys = [(kind, Key(parent.namespace, name)) for kind, name in names if name is not None]
        return [(kind, key, self._store.get(kind, key)) for kind, key in keys]

    async def _check_record(self, kind: Kind, key: Key, known: Projection | None) -> None:
        """Read a record. Its absence is no error: it may not be written yet."""
        try:
            found = await self._writer.read_record(kind, key.namespace, key.name)
        except Refused as error:
            if error.status != 404:
                raise
            return
        # A record that no watch reports does not belong in the cache.
        if found.is_watched:
            self._store.observe(found)
        if self._store.get(kind, key) != known:
            raise OutOfDate(f"{kind.kind} {key} was recorded or has changed")

    async def check(self, parent: Parent, memory: Memory) -> None:
        """Read a parent.

        Raises:
            OutOfDate: it has changed or is gone; a changed one is in the store now.
            RequestFailed: it could not be read.
        """
        key, gaps = Key(parent.namespace, parent.name), memory.gaps
        try:
            found = await self._writer.read_parent(parent)
        except Refused as error:
            if error.status != 404:
                raise
            raise OutOfDate(f"{self._kinds.parent} {key} is gone; its DELETED event will follow") from error
        self._store.observe(found)
        if found.uid == parent.uid and memory.gaps == gaps:
            memory.verified, memory.doubted_since = True, None
        self._require_unchanged(parent, found)

    def _require_unchanged(self, parent: Parent, found: Projection | None) -> None:
        if found is None or (found.uid, found.generation) != (parent.uid, parent.generation):
            name = f"{self._kinds.parent} {parent.namespace}/{parent.name}"
            raise OutOfDate(f"{name} has changed since generation {parent.generation}")

    def _is_doubted(self, key: Key, memory: Memory) -> bool:
        observed = self._store.parent(key)
        newest_before = memory.doubted_since
        return newest_before is not None and (observed is None or observed.version <= newest_before)

    def _was_worked_on(self, key: Key) -> bool:
        observed = self._store.parent(key)
        reported = observed is not None and observed.content["status"].get("observedGeneration", 0) > 0
        # An object of others may be related to the parent, and have the kind of a child.
        found = self._store.objects_of(key, *self._kinds.children)
        return reported or any(each.label is not None or each.controller is not None for each in found)
