"""Reconcile one parent: read, decide and execute for each child, then status and Events.

It reads the present state, never the event. A reconcile without differences costs no request.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic

from coxswain.kernel.api.errors import Refused, RequestFailed
from coxswain.kernel.api.events import Recorder
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.manifests import kind_and_name
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child import Children
from coxswain.kernel.reconciling.drift_ledger import conflicts, repairs
from coxswain.kernel.reconciling.event_reasons import event_records
from coxswain.kernel.reconciling.execute import Executor
from coxswain.kernel.reconciling.failures import PATIENCE
from coxswain.kernel.reconciling.generation_guard import GenerationGuard
from coxswain.kernel.reconciling.memory import Memories
from coxswain.kernel.reconciling.overwritten import is_left_alone, status_written
from coxswain.kernel.reconciling.removal import Remover
from coxswain.kernel.reconciling.result import Result
from coxswain.kernel.reconciling.untouched import untouched
from coxswain.kernel.reconciling.world import CacheView
from coxswain.kernel.status.conflict_report import Repair
from coxswain.kernel.status.health import Child, Level, held_back
from coxswain.kernel.status.status_writer import Report, StatusWriter
from coxswain.kernel.workload import ChildReport, ChildType, Desired, Observations, P, Workload
from coxswain.settings import Settings

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a reconcile."""

    failed: RequestFailed | None = None
    """A failed request to retry: requeue with backoff."""
    again: bool = False
    """The parent has changed meanwhile: requeue at once."""
    after: float | None = None
    """Requeue after this many seconds: for a delayed status, a probe deadline, or the end of a backoff."""

    @property
    def retry(self) -> bool:
        """Whether to requeue with backoff."""
        return self.failed is not None


class Reconciler(Generic[P]):
    """Reconciles the parents of one workload."""

    def __init__(
        self,
        workload: Workload[P],
        store: Store,
        writer: Writer,
        *,
        recorder: Recorder,
        status_writer: StatusWriter,
        settings: Settings,
        clock: Callable[[], float],
        now: Callable[[], datetime],
        doubtful: Callable[[Kind, str], bool] = lambda *_: False,
        unlisted: Callable[[str], Mapping[str, str]] = lambda _: {},
    ) -> None:
        """Reconcile the parents of the store.

        Args:
            workload: the parents and their children.
            store: the cache.
            writer: sends the writes.
            recorder: posts Events.
            status_writer: writes the status.
            settings: the settings of the operator.
            clock: monotonic seconds.
            now: the time of day, in UTC.
            doubtful: whether the store may lack objects of a decisive kind in a namespace.
            unlisted: the kinds of children that cannot be listed in a namespace, and why.
        """
        self._workload = workload
        self._clock = clock
        self._now = now
        self._doubtful = doubtful
        self._unlisted = unlisted
        self._store = store
        self._recorder = recorder
        self._status_writer = status_writer
        self._memories = Memories(settings.contest)
        guard = GenerationGuard(store, writer, workload.projector.kinds)
        executor = Executor(store, writer, guard, name_interval=settings.taken_name_interval, clock=clock)
        self._children = Children(workload, store, executor, settings.status, clock=clock)
        self._remover = Remover(workload, store, writer, guard)

    def resynced(self) -> None:
        """Forget refused writes, so that a resync tries them again."""
        self._memories.resynced(self._clock())
        self._status_writer.resynced()

    def doubt(self) -> None:
        """Read each parent before the next write for it: a watch has a gap, and that of the parents may lag behind."""
        self._memories.doubt(self._store.newest(self._workload.projector.kinds.parent))

    def start_over(self) -> None:
        """Forget all parents: history ran backwards, so nothing remembered needs to be true."""
        self._memories.clear()

    def forget(self, key: Key) -> None:
        """Forget a deleted parent, or one reconciled during a history reset."""
        self._memories.forget(key)

    async def reconcile(self, key: Key, *, failures: int) -> Outcome:
        """Reconcile a parent that has failed so many times in a row.

        Raises:
            RequestFailed: the status could not be written, or the parent has changed.
            HistoryReset: an answer was older than the object of the request.
        """
        begun = self._clock()
        observed = self._store.parent(key)
        if observed is None or observed.terminating:
            # A parent missing from the store never means delete; children deleted in the foreground stay deleted.
            self.forget(key)
            return Outcome()
        memory = self._memories.of(key, observed.uid)
        if memory.namespace_terminating:
            return Outcome()
        parent = self._workload.parse(observed)
        world = CacheView(self._store, parent, memory, self._doubtful)
        unlisted = self._unlisted(key.namespace)
        if unlisted:
            # An invisible child would be created again.
            compared = [self._children.compare(child_type, parent, world) for child_type in self._workload.children]
            results = untouched([found[1] for found in compared if found is not None], unlisted)
            return await self._report(observed, parent, results, world, begun=begun)
        try:
            results = await self._reconcile_children(parent, world, patient=failures < PATIENCE)
        except Refused as error:
            if error.namespace_terminating:
                log.info("the namespace is terminating: no writes until the next resync")
                memory.namespace_terminating = True
                return Outcome()
            raise
        return await self._report(observed, parent, results, world, begun=begun)

    async def _reconcile_children(self, parent: P, world: CacheView, *, patient: bool) -> list[Result]:
        results: list[Result] = []
        unusable: dict[Kind, str] = {}
        unhealthy: set[Kind] = set()
        for child_type in self._workload.children:
            blocked = next((unusable[kind] for kind in child_type.needs if kind in unusable), None)
            if blocked is not None and not parent.paused:
                found = _held_back(child_type, parent, world, blocked)
            else:
                found = await self._children.reconcile(child_type, parent, world, patient=patient)
            if found is None:
                continue
            desired, result = found
            results.append(result)
            if result.child.health.level is not Level.HEALTHY:
                unhealthy.add(child_type.kind)
            if not _is_usable(child_type, desired, result):
                unusable[child_type.kind] = f"{result.child.kind} {result.child.name}"
        wanted = {f"{result.child.kind}/{result.child.name}" for result in results}
        world.memory.retain(wanted)
        if parent.paused:
            return results
        in_use = {
            kind for child_type in self._workload.children if child_type.kind in unhealthy for kind in child_type.needs
        }
        removed = await self._remover.remove_unwanted(parent, wanted, world.memory, in_use=in_use, patient=patient)
        return results + removed

    def _explained(self, parent: P, result: Result, world: CacheView, now: datetime) -> tuple[Result, float | None]:
        """Return a child with the cause of its health, and the seconds until the next evaluation without an event."""
        child_type = next(each for each in self._workload.children if each.kind.kind == result.child.kind)
        if result.live is None or child_type.explain is None or not result.child.health.for_pods:
            return result, None
        found = child_type.explain(parent, result.live, result.child.health, world, now)
        child = replace(result.child, health=found.health)
        return replace(result, child=child), None if found.until is None else (found.until - now).total_seconds()

    async def _report(
        self, observed: Projection, parent: P, children: Sequence[Result], world: CacheView, *, begun: float
    ) -> Outcome:
        """Write the status and the Events; return what follows."""
        now, memory, rules = self._now(), world.memory, self._workload.status_rules
        explained = [self._explained(parent, result, world, now) for result in children]
        results = [result for result, _ in explained]
        previous = observed.content.get("status", {})
        memory.drift.add(repairs(results))
        observations = _observations(results, memory.drift.waiting())
        wanted = self._workload.status(parent, observations, previous, now.strftime("%Y-%m-%dT%H:%M:%SZ"))
        report = Report()
        try:
            if not is_left_alone(memory, rules, observed, self._clock()):
                pace = self._workload.pace(parent, observations)
                report = await self._status_writer.report(memory.status, observed, wanted, pace)
            if report.written or wanted.get("drift") == previous.get("drift"):
                memory.drift.written()
        finally:
            # Also if the status cannot be written: the next reconcile finds nothing to report.
            records = event_records(parent, self._workload, results, previous, wanted, undeclared=report.undeclared)
            records += self._workload.events(parent, observations, previous, wanted)
            if report.written:
                present = self._store.parent(world.key)
                records += status_written(memory, rules, observed, present, self._clock())
            for record in records:
                await self._recorder.record(observed, record, memory.events)
        # An adopted object may cause no event, so children with that precondition are requeued here.
        adopted = any(result.adopted for result in results)
        return Outcome(
            failed=next((result.failed for result in results if result.retry), None),
            again=report.again or adopted,
            after=_sooner(
                report.after,
                memory.rest_ends(begun, self._clock()),
                *(delay for _, delay in explained),
                *(result.after for result in results),
            ),
        )


def _held_back(child_type: ChildType[P], parent: P, world: CacheView, needed: str) -> tuple[Desired, Result] | None:
    """Return the result of a child with an unusable dependency."""
    desired = child_type.desired(parent, world)
    if desired is None:
        return None
    kind, name = kind_and_name(desired.manifest)
    found = world.live(child_type.kind, name)
    live = found if found is not None and found.is_child_of(parent) else None
    return desired, Result(Child(kind, name, held_back(needed, there=live is not None)), live)


def _is_usable(child_type: ChildType[P], desired: Desired, result: Result) -> bool:
    """Tell whether a child is usable for its dependents."""
    level, live = result.child.health.level, result.live
    if level is Level.HEALTHY:
        return True
    if live is None or live.terminating or level in (Level.TERMINATING, Level.MISSING):
        return False
    return child_type.is_usable(child_type.comparable(desired.manifest), live.content)


def _observations(results: Sequence[Result], waiting: Sequence[Repair]) -> Observations:
    reports = [
        ChildReport(
            result.child,
            result.live,
            created=result.created,
            corrected=tuple(correction.difference for correction in result.corrections),
        )
        for result in results
    ]
    return Observations(reports, conflicts(results), waiting)


def _sooner(*delays: float | None) -> float | None:
    return min((delay for delay in delays if delay is not None), default=None)
