"""Read the recorded state that runs instead of the present one: the cache keeps records without their content."""

import json
import zlib
from collections.abc import Sequence
from typing import Generic

from coxswain.kernel.api.errors import OutOfDate, Refused
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child.world import CacheView
from coxswain.kernel.reconciling.memory.memory import Memory, Recalled
from coxswain.kernel.workload import P, Workload


class Recaller(Generic[P]):
    """Finds the state of a parent that runs."""

    def __init__(self, workload: Workload[P], store: Store, writer: Writer) -> None:
        """Read records with `writer`."""
        self._histories = [child_type.history for child_type in workload.children if child_type.history is not None]
        self._store = store
        self._writer = writer

    def chosen(self, parent: P, world: CacheView) -> list[Projection | None]:
        """Return the record that runs, for each kind of records; None for the present state."""
        return [history.recalled(parent, world) for history in self._histories]

    async def running(self, parent: P, world: CacheView, recalled: Sequence[Projection | None]) -> P:
        """Return the parent as it runs, with the records of `chosen`. A record is read once.

        A change of an object to which only the recalled state refers enqueues the parent from now on.

        Raises:
            RequestFailed: the record could not be read.
        """
        if all(record is None for record in recalled):
            world.memory.recalled = None
        for history, record in zip(self._histories, recalled, strict=True):
            content = None if record is None else await self._content(record, world.memory)
            parent = history.running(parent, world, content)
        recalling = [history for history, record in zip(self._histories, recalled, strict=True) if record is not None]
        self._store.follow(world.key, [each for history in recalling for each in history.referenced(parent)])
        return parent

    async def _content(self, record: Projection, memory: Memory) -> Manifest:
        if memory.recalled is None or memory.recalled.uid != record.uid:
            content = await self._read(record)
            memory.recalled = Recalled(record.uid, zlib.compress(json.dumps(content).encode()))
        content = json.loads(zlib.decompress(memory.recalled.content))
        return dict(content)

    async def _read(self, record: Projection) -> Manifest:
        try:
            content = await self._writer.read_whole(record)
        except Refused as error:
            if error.status == 404:
                place = Key(record.namespace, record.name)
                self._store.forget(record.kind, place, record.version + 1)
            raise
        if content["metadata"]["uid"] != record.uid:
            raise OutOfDate(f"{record.kind} {record.name} was created again")
        return content
