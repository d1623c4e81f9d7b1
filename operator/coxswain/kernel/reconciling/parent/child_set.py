"""Reconcile all children of a parent, in write order, and the records of the parent after them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Generic

from coxswain.kernel.api.errors import RequestFailed
from coxswain.kernel.cache.coverage import Coverage
from coxswain.kernel.objects.commands import Commands
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.manifests import kind_and_name
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child.child import ChildReconciler
from coxswain.kernel.reconciling.child.dependencies import awaited, serves
from coxswain.kernel.reconciling.child.result import Result, sooner
from coxswain.kernel.reconciling.child.world import CacheView
from coxswain.kernel.reconciling.parent.explaining import Explainer
from coxswain.kernel.reconciling.parent.removal import Remover
from coxswain.kernel.reconciling.parent.untouched import unread, untouched
from coxswain.kernel.status.health import Child, Level, not_listed, not_served
from coxswain.kernel.workload import ChildType, Desired, P, Workload


@dataclass
class _Reconciled:
    """The children reconciled so far."""

    results: list[Result] = field(default_factory=list)
    absent: list[Result] = field(default_factory=list)
    """Children of optional kinds that cannot be listed."""
    unusable: dict[Kind, str] = field(default_factory=dict)
    unhealthy: set[Kind] = field(default_factory=set)


class ChildSet(Generic[P]):
    """Reconciles all children of a parent."""

    def __init__(
        self,
        workload: Workload[P],
        reconciler: ChildReconciler[P],
        explainer: Explainer[P],
        remover: Remover[P],
        coverage: Coverage,
    ) -> None:
        """Reconcile each child with `reconciler`; `coverage` tells which optional kinds cannot be listed."""
        self._workload = workload
        self._reconciler = reconciler
        self._explainer = explainer
        self._remover = remover
        self._coverage = coverage

    async def compare(self, parent: P, world: CacheView, unlisted: Mapping[str, str]) -> list[Result]:
        """Compare all children without a write, since some kinds cannot be listed: an invisible child may exist."""
        return await self._explained(untouched(await self._compared(parent, world), unlisted), parent, world)

    async def compare_unread(
        self, parent: P, world: CacheView, record: Projection, error: RequestFailed
    ) -> list[Result]:
        """Compare all children without a write, since the recorded state to run cannot be read."""
        return await self._explained(unread(await self._compared(parent, world), record, error), parent, world)

    async def reconcile(self, parent: P, world: CacheView, *, patient: bool) -> list[Result]:
        """Bring all children to their desired state, and delete unwanted ones.

        A failed request concerns one child. If `patient`, transient failures are not reported yet.

        Raises:
            OutOfDate: the parent has changed.
            NotSent: the operator is shutting down or does not lead.
            Refused: the namespace is terminating.
            HistoryReset: an answer was older than the object of the request.
        """
        others = [child_type for child_type in self._workload.children if child_type.history is None]
        found = await self._reconcile_types(others, parent, world, patient=patient)
        explained = await self._explained(found.results + found.absent, parent, world)
        world = replace(world, children=[each.child for each in explained])
        types = [child_type for child_type in self._workload.children if child_type.history is not None]
        records = await self._reconcile_types(types, parent, world, patient=patient)
        explained += await self._explained(records.results + records.absent, parent, world)
        wanted = _keys(found.results + records.results)
        world.memory.retain(wanted)
        in_use = {
            kind
            for child_type in self._workload.children
            if child_type.kind in found.unhealthy
            for kind in child_type.needs
        }
        wanted |= _keys(found.absent + records.absent) | self._used(found.results)
        if parent.paused:
            return explained + self._remover.report_unwanted(parent, wanted, world, in_use=in_use)
        removed = await self._remover.remove_unwanted(parent, wanted, world, in_use=in_use, patient=patient)
        return explained + removed

    def _used(self, results: Sequence[Result]) -> set[str]:
        """Return the keys of the children that the live children use."""
        uses = {child_type.kind.kind: child_type.uses for child_type in self._workload.children}
        live = [each.live for each in results if each.live is not None]
        return {key for each in live for key in uses[each.kind.kind](each.content)}

    async def _compared(self, parent: P, world: CacheView) -> list[Result]:
        return [
            await self._reconciler.compare(child_type, desired, parent, world)
            for child_type in self._workload.children
            for desired in child_type.all_desired(parent, world)
        ]

    async def _reconcile_types(
        self, child_types: Sequence[ChildType[P]], parent: P, world: CacheView, *, patient: bool
    ) -> _Reconciled:
        found, unavailable = _Reconciled(), self._coverage.unavailable(parent.namespace)
        projector = self._workload.projector
        commands = Commands.of(parent, projector.kinds.parent, projector.manager)
        for child_type in child_types:
            for desired in child_type.all_desired(parent, world):
                if child_type.kind in unavailable:
                    found.absent.append(_unavailable(child_type, desired, unavailable[child_type.kind], commands))
                    continue
                live = _live(child_type, desired, parent, world)
                needed = awaited(child_type, live, found.unusable)
                if needed is not None and not parent.paused:
                    last = desired
                    result = self._reconciler.hold_back(child_type, desired, parent, world, needed=needed)
                else:
                    last, result = await self._reconciler.reconcile(child_type, desired, parent, world, patient=patient)
                found.results.append(replace(result, after=sooner(result.after, _seconds(desired.until, world.now))))
                if result.child.health.level is not Level.HEALTHY:
                    found.unhealthy.add(child_type.kind)
                if not serves(child_type, last.manifest, result.child.health.level, result.live):
                    found.unusable[child_type.kind] = f"{result.child.kind} {result.child.name}"
        return found

    async def _explained(self, results: Sequence[Result], parent: P, world: CacheView) -> list[Result]:
        return [await self._explainer.explain(parent, result, world) for result in results]


def _live(child_type: ChildType[P], desired: Desired, parent: P, world: CacheView) -> Projection | None:
    """Return the existing child."""
    found = world.live(child_type.kind, desired.manifest["metadata"]["name"])
    return found if found is not None and found.is_child_of(parent) else None


def _unavailable(child_type: ChildType[P], desired: Desired, message: str | None, commands: Commands) -> Result:
    """Return the result of a child of an optional kind that cannot be listed; without `message` it is not served."""
    kind, name = kind_and_name(desired.manifest)
    if message is not None:
        return Result(Child(kind, name, not_listed(message)))
    return Result(Child(kind, name, not_served(child_type.kind.api_version, child_type.optional or "", commands)))


def _keys(results: Sequence[Result]) -> set[str]:
    return {result.child.key for result in results}


def _seconds(until: datetime | None, now: datetime) -> float | None:
    return None if until is None else (until - now).total_seconds()
