"""Removal of children without a desired state, and reports about those that stay."""

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Generic

from coxswain.kernel.api.errors import Refused, RequestFailed
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Store
from coxswain.kernel.objects.commands import Commands
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.manifests import child_key
from coxswain.kernel.objects.projection import Named, Projection
from coxswain.kernel.objects.status_fields import Status
from coxswain.kernel.reconciling.child.failures import PATIENCE, concerns_all, next_step
from coxswain.kernel.reconciling.child.generation_guard import GenerationGuard
from coxswain.kernel.reconciling.child.result import Result
from coxswain.kernel.reconciling.child.world import CacheView
from coxswain.kernel.reconciling.memory.backoff import Backoff
from coxswain.kernel.reconciling.memory.memory import Memory, RemovalMemory
from coxswain.kernel.status.health import Child, Health, Level, not_needed, not_removed, removed_later, retried
from coxswain.kernel.workload import P, Removal, Workload
from coxswain.settings import StatusSettings

log = logging.getLogger(__name__)


class Remover(Generic[P]):
    """Deletes children without a desired state."""

    def __init__(
        self,
        workload: Workload[P],
        store: Store,
        guard: GenerationGuard,
        settings: StatusSettings,
        *,
        clock: Callable[[], float],
    ) -> None:
        """Take the backoff after failures from `settings`; `clock` gives monotonic seconds."""
        self._removals = {
            child_type.kind: child_type.removal
            for child_type in workload.children
            if child_type.removal is not Removal.NEVER
        }
        self._records = workload.projector.kinds.records
        self._workload = workload
        self._store = store
        self._guard = guard
        self._settings = settings
        self._clock = clock

    async def remove_unwanted(
        self, parent: P, wanted: Collection[str], world: CacheView, *, in_use: Collection[Kind], patient: bool
    ) -> list[Result]:
        """Delete all children except the `wanted` ones (kind/name), the retained ones, and the kinds still in use.

        Returns:
            One result for each child whose deletion failed, waits after failures, or lasts. After a kind may not be
            deleted, the others of that kind are left out.

        Raises:
            OutOfDate: the parent has changed.
            NotSent: the operator is shutting down or does not lead.
            Refused: the namespace is terminating.
        """
        memory, removal = world.memory, world.memory.removal
        unwanted = self._unwanted(parent, wanted, world)
        results = self._lasting(parent, unwanted, world)
        forbidden: set[Kind] = set()
        for child in self._removable(unwanted, removal, in_use):
            if child.kind in forbidden:
                continue
            result = await self._tried(child, parent, memory, patient=patient)
            if result is not None:
                results.append(result)
                if removal.backoffs[_key(child)].forbidden:
                    forbidden.add(child.kind)
        return results

    def report_unwanted(
        self, parent: P, wanted: Collection[str], world: CacheView, *, in_use: Collection[Kind]
    ) -> list[Result]:
        """Return one result for each child to delete when the parent is no longer paused, or whose deletion lasts.

        Records are left out: while the parent is paused, none is desired.
        """
        removal, commands = world.memory.removal, self._commands(parent)
        unwanted = self._unwanted(parent, wanted, world)
        later = [each for each in self._removable(unwanted, removal, in_use) if each.kind not in self._records]
        return [
            *self._lasting(parent, unwanted, world),
            *(Result(_child(child, removed_later(commands))) for child in later),
        ]

    def _unwanted(self, parent: P, wanted: Collection[str], world: CacheView) -> list[Projection]:
        """Return all children that are neither wanted nor retained, and forget what concerns none of them."""
        kept = {*wanted, *self._retained(parent, world)}
        present = self._store.objects_of(world.key, *self._removals)
        unwanted = [child for child in present if _key(child) not in kept]
        self._retain(unwanted, world.memory.removal)
        return [child for child in unwanted if _is_ours(parent, child)]

    def _removable(
        self, unwanted: Collection[Projection], removal: RemovalMemory, in_use: Collection[Kind]
    ) -> Sequence[Projection]:
        """Return the children that may be deleted now."""
        return [
            child
            for child in unwanted
            if not child.terminating
            and child.uid not in removal.deleted
            and not (self._removals[child.kind] is Removal.WHEN_UNUSED and child.kind in in_use)
        ]

    def _lasting(self, parent: P, unwanted: Collection[Projection], world: CacheView) -> list[Result]:
        """Return one result for each child that finalizers have held for some time. Most deletions are quick.

        A new process goes on to report what the status reports.
        """
        now, commands, removal = self._clock(), self._commands(parent), world.memory.removal
        held = [child for child in unwanted if child.terminating and child.finalizers]
        known = self._reported(world) if held else set()
        due = {child.uid: now + (0 if _key(child) in known else self._settings.removal_interval) for child in held}
        removal.reported_from = {uid: removal.reported_from.get(uid, time) for uid, time in due.items()}
        lasting = [child for child in held if removal.reported_from[child.uid] <= now]
        return [Result(_child(child, not_needed(child, commands))) for child in lasting]

    def _reported(self, world: CacheView) -> set[str]:
        """Return the keys of the children that the status reports as terminating."""
        observed = self._store.parent(world.key)
        status: Status = observed.content.get("status", {}) if observed is not None else {}
        found = [each for each in status.get("children", []) if each.get("health") == Level.TERMINATING.text]
        return {child_key(each["kind"], each["name"]) for each in found}

    def _commands(self, parent: P) -> Commands:
        projector = self._workload.projector
        return Commands.of(parent, projector.kinds.parent, projector.manager)

    def _retained(self, parent: P, world: CacheView) -> set[str]:
        return {
            child_key(child_type.kind.kind, name)
            for child_type in self._workload.children
            for name in child_type.retained(parent, world)
        }

    def _retain(self, unwanted: Collection[Projection], removal: RemovalMemory) -> None:
        """Forget what concerns none of these children."""
        keys, now = {_key(child) for child in unwanted}, self._clock()
        removal.deleted &= {child.uid for child in unwanted}
        removal.failures = {key: count for key, count in removal.failures.items() if key in keys}
        removal.backoffs = {
            key: backoff for key, backoff in removal.backoffs.items() if backoff.counts(self._settings, now)
        }

    async def _tried(self, child: Projection, parent: P, memory: Memory, *, patient: bool) -> Result | None:
        """Delete a child, unless it waits in its backoff. Return a result if it waits, or if its deletion failed."""
        backoff = memory.removal.backoffs.get(_key(child))
        if backoff is not None and (left := backoff.ends(self._settings) - self._clock()) > 0:
            return Result(_child(child, backoff.health), backoff=left)
        try:
            writer = await self._guard.before_a_write(parent, memory)
            await self._remove(child, memory.removal, writer)
        except RequestFailed as error:
            if concerns_all(error):
                raise
            return self._failed(child, memory.removal, error, patient=patient)
        return None

    async def _remove(self, child: Projection, removal: RemovalMemory, writer: Writer) -> None:
        try:
            await writer.remove(child)
        except Refused as error:
            if error.status != 404 or error.by_admission:
                raise
        removal.deleted.add(child.uid)
        removal.failures.pop(_key(child), None)
        removal.backoffs.pop(_key(child), None)
        log.info("removed %s %s, which is no longer wanted", child.kind, child.name)

    def _failed(self, child: Projection, removal: RemovalMemory, error: RequestFailed, *, patient: bool) -> Result:
        failures = removal.failures[_key(child)] = removal.failures.get(_key(child), 0) + 1
        refused = isinstance(error, Refused) and (error.status == 403 or error.by_admission)
        if not refused and (patient or failures <= PATIENCE):
            health = retried(there=True)
        else:
            log.warning("%s %s cannot be removed: %s", child.kind, child.name, error)
            message = error.message if isinstance(error, Refused) else str(error)
            health = not_removed(message, next_step(error, child.namespace))
        before = removal.backoffs.get(_key(child))
        removal.backoffs[_key(child)] = Backoff.after(before, error, health, self._clock())
        return Result(_child(child, health), failed=error)


def _child(child: Projection, health: Health) -> Child:
    return Child(child.kind.kind, child.name, health)


def _key(child: Projection) -> str:
    return child_key(child.kind.kind, child.name)


def _is_ours(parent: Named, child: Projection) -> bool:
    """Tell whether a child may be deleted: ours by label and reference, and written by us."""
    referred = child.controller is not None and child.controller.uid == parent.uid
    return referred and child.label == parent.name and child.owned is not None
