"""The generation guard: no write that was computed from a stale parent.

Watches catch up in any order. After a start, the watches of the children may be ahead of the watch of the parents.
Then the store holds an old parent, and a write for it would undo what the present one asked for. So the first write for
a parent that an operator has worked on waits for a GET of it: a GET without a resourceVersion returns the most recent
state
(https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions).

The store may also learn of a change during a reconcile, while a request or a Retry-After takes its time. So each write
compares the parent with the store, without a request.
"""

from coxswain.kernel.api.errors import OutOfDate, Refused
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.objects.kinds import Kinds
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.memory.memory import Memory
from coxswain.kernel.workload import Parent


class GenerationGuard:
    """Lets a write pass if its parent is up to date. Reads it before the first write, and after each gap in a watch."""

    def __init__(self, store: Store, writer: Writer, kinds: Kinds) -> None:
        self._kinds = kinds
        self._store = store
        self._writer = writer

    async def before_a_write(self, parent: Parent, memory: Memory) -> None:
        """Require that the store has no newer parent, and read it before the first write if anybody has worked on it.

        Raises:
            OutOfDate: it has changed or is gone; a changed one is in the store now.
            RequestFailed: it could not be read.
        """
        key = Key(parent.namespace, parent.name)
        self._require_unchanged(parent, self._store.parent(key))
        if memory.verified and not self._is_doubted(key, memory):
            return
        if memory.verified or self._was_worked_on(key):
            await self.check(parent, memory)
        memory.verified, memory.doubted_since = True, None

    async def check(self, parent: Parent, memory: Memory) -> None:
        """Read a parent.

        Raises:
            OutOfDate: it has changed or is gone; a changed one is in the store now.
            RequestFailed: it could not be read.
        """
        key = Key(parent.namespace, parent.name)
        try:
            found = await self._writer.read_parent(parent)
        except Refused as error:
            if error.status != 404:
                raise
            raise OutOfDate(f"{self._kinds.parent} {key} is gone; its DELETED event will follow") from error
        self._store.observe(found)
        if found.uid == parent.uid:
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
