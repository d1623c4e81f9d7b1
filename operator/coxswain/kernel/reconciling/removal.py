"""Removal of children without a desired state."""

import logging
from collections.abc import Collection
from typing import Generic

from coxswain.kernel.api.errors import Refused, RequestFailed
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Named, Projection
from coxswain.kernel.reconciling.failures import PATIENCE, concerns_all
from coxswain.kernel.reconciling.generation_guard import GenerationGuard
from coxswain.kernel.reconciling.memory import Memory, RemovalMemory
from coxswain.kernel.reconciling.result import Result
from coxswain.kernel.status.health import Child, not_removed, retried
from coxswain.kernel.workload import P, Removal, Workload

log = logging.getLogger(__name__)


class Remover(Generic[P]):
    """Deletes children without a desired state."""

    def __init__(self, workload: Workload[P], store: Store, writer: Writer, guard: GenerationGuard) -> None:
        self._removals = {
            child_type.kind: child_type.removal
            for child_type in workload.children
            if child_type.removal is not Removal.NEVER
        }
        self._store = store
        self._writer = writer
        self._guard = guard

    async def remove_unwanted(
        self, parent: P, wanted: Collection[str], memory: Memory, *, in_use: Collection[Kind], patient: bool
    ) -> list[Result]:
        """Delete all children except the `wanted` ones (kind/name) and the kinds still in use.

        Returns:
            One result for each child whose deletion failed.

        Raises:
            OutOfDate: the parent has changed.
            Ending: the operator is ending.
            Refused: the namespace is terminating.
        """
        key, removal = Key(parent.namespace, parent.name), memory.removal
        unwanted = [child for child in self._store.objects_of(key, *self._removals) if _place(child) not in wanted]
        places = {_place(child) for child in unwanted}
        removal.deleted &= {child.uid for child in unwanted}
        removal.failures = {place: count for place, count in removal.failures.items() if place in places}
        failed = []
        for child in unwanted:
            if not _removable(parent, child) or child.uid in removal.deleted:
                continue
            if self._removals[child.kind] is Removal.WHEN_UNUSED and child.kind in in_use:
                continue
            try:
                await self._guard.before_a_write(parent, memory)
                await self._remove(child, removal)
            except RequestFailed as error:
                if concerns_all(error):
                    raise
                failed.append(_failed(child, removal, error, patient=patient))
        return failed

    async def _remove(self, child: Projection, removal: RemovalMemory) -> None:
        try:
            await self._writer.remove(child)
        except Refused as error:
            if error.status != 404 or error.by_admission:
                raise
        removal.deleted.add(child.uid)
        removal.failures.pop(_place(child), None)
        log.info("removed %s %s, which is no longer wanted", child.kind, child.name)


def _failed(child: Projection, removal: RemovalMemory, error: RequestFailed, *, patient: bool) -> Result:
    failures = removal.failures[_place(child)] = removal.failures.get(_place(child), 0) + 1
    refused = isinstance(error, Refused) and (error.status == 403 or error.by_admission)
    if not refused and (patient or failures <= PATIENCE):
        state = retried(there=True)
    else:
        log.warning("%s %s cannot be removed: %s", child.kind, child.name, error)
        state = not_removed(error.message if isinstance(error, Refused) else str(error))
    return Result(Child(child.kind.kind, child.name, state), failed=error)


def _place(child: Projection) -> str:
    return f"{child.kind.kind}/{child.name}"


def _removable(parent: Named, child: Projection) -> bool:
    """Tell whether a child may be deleted: ours by label and reference, written by us, and not going already."""
    referred = child.controller is not None and child.controller.uid == parent.uid
    return referred and child.label == parent.name and child.owned is not None and not child.terminating
