"""Reconcile one parent: read, decide and execute for each child, then status and Events.

It reads the present state, never the event. A reconcile without differences costs no request.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic

from coxswain.kernel.api.errors import Refused, RequestFailed
from coxswain.kernel.api.event_reader import EventReader
from coxswain.kernel.api.events import Recorder
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.coverage import Coverage
from coxswain.kernel.cache.store import HistoryReset, Key, Store
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child.answers import Answers
from coxswain.kernel.reconciling.child.child import ChildReconciler
from coxswain.kernel.reconciling.child.execute import Executor
from coxswain.kernel.reconciling.child.failures import PATIENCE, concerns_all
from coxswain.kernel.reconciling.child.generation_guard import GenerationGuard
from coxswain.kernel.reconciling.child.name_reader import NameReader
from coxswain.kernel.reconciling.child.result import Result, sooner
from coxswain.kernel.reconciling.child.world import CacheView
from coxswain.kernel.reconciling.memory.memory import Memories, Memory
from coxswain.kernel.reconciling.memory.writes import NOTHING_WRITTEN
from coxswain.kernel.reconciling.parent.changes_by_others import conflicts, repairs
from coxswain.kernel.reconciling.parent.child_set import ChildSet
from coxswain.kernel.reconciling.parent.event_reasons import event_records, records_of_writes
from coxswain.kernel.reconciling.parent.explaining import Explainer
from coxswain.kernel.reconciling.parent.overwritten import is_suspended, status_confirmed, status_written
from coxswain.kernel.reconciling.parent.recalling import Recaller
from coxswain.kernel.reconciling.parent.removal import Remover
from coxswain.kernel.status.conflict_report import Repair
from coxswain.kernel.status.health import HEALTHY, Child
from coxswain.kernel.status.status_writer import Report, StatusWriter
from coxswain.kernel.workload import ChildReport, Observations, P, Workload
from coxswain.settings import Settings

log = logging.getLogger(__name__)

_NAMESPACE_SECONDS = 60.0
"""Seconds without writes after the refusal of a create in a terminating namespace. An API server with a stale cache
refuses them as well for a moment, if the namespace was deleted and created again."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a reconcile."""

    failed: RequestFailed | None = None
    """A failed request to retry: requeue with backoff."""
    again: bool = False
    """The parent has changed meanwhile: requeue at once."""
    after: float | None = None
    """Requeue after this many seconds: for a delayed status, a probe deadline, or the end of a backoff."""
    in_backoff: bool = False
    """Whether a child or the status waits after failures: neither a success nor a failure."""
    answered: bool = False
    """Whether the API server answered a write: otherwise a success does not show that it is up."""
    refused: Refused | None = None
    """The terminal error of the status write. It is not retried until the parent or its children change."""


class Reconciler(Generic[P]):
    """Reconciles the parents of one workload."""

    def __init__(
        self,
        workload: Workload[P],
        store: Store,
        coverage: Coverage,
        writer: Writer,
        *,
        recorder: Recorder,
        event_reader: EventReader,
        status_writer: StatusWriter,
        settings: Settings,
        clock: Callable[[], float],
        now: Callable[[], datetime],
    ) -> None:
        """Reconcile the parents of the store.

        Args:
            workload: the parents and their children.
            store: the cache.
            coverage: tells which objects the cache may lack.
            writer: sends the writes.
            recorder: posts Events.
            event_reader: reads the Events about related objects.
            status_writer: writes the status.
            settings: the settings of the operator.
            clock: monotonic seconds.
            now: the time of day, in UTC.
        """
        self._workload = workload
        self._clock = clock
        self._now = now
        self._coverage = coverage
        self._records = workload.projector.kinds.records
        self._store = store
        self._recorder = recorder
        self._status_writer = status_writer
        self._memories = Memories(settings.write_war)
        guard = GenerationGuard(store, writer, workload)
        interval = settings.events_interval
        self._recaller = Recaller(workload, store, writer)
        answers = Answers(store, name_interval=settings.taken_name_interval, clock=clock)
        reader = NameReader(writer, answers)
        executor = Executor(store, writer, guard, answers, reader, clock=clock)
        self._child_set = ChildSet(
            workload,
            ChildReconciler(workload, executor, reader, settings.status, clock=clock),
            Explainer(workload, event_reader, interval=interval, clock=clock, now=now),
            Remover(workload, store, guard, settings.status, clock=clock),
            coverage,
        )

    def resynced(self) -> None:
        """Forget refused writes, so that a resync tries them again."""
        self._memories.resynced(self._clock())
        self._status_writer.resynced()

    def doubt(self) -> None:
        """Read each parent before the next write for it: a watch has a gap, and that of the parents may lag behind."""
        self._memories.doubt(self._store.newest(self._workload.projector.kinds.parent))

    def contested(self) -> int:
        """Return the number of fields with suspended enforcement, of all parents."""
        return self._memories.contested(self._clock())

    def start_over(self) -> None:
        """Forget all parents: history ran backwards, so nothing remembered needs to be true."""
        self._memories.clear()

    def forget(self, key: Key) -> None:
        """Forget a deleted parent, or one reconciled during a history reset."""
        self._memories.forget(key)

    def forget_namespaces(self, covers: Callable[[str], bool]) -> None:
        """Forget the parents of some namespaces: another process changes their children from now on."""
        self._memories.forget_namespaces(covers)

    async def reconcile(self, key: Key, *, failures: int) -> Outcome:
        """Reconcile a parent that has failed so many times in a row.

        Raises:
            RequestFailed: the status could not be written, the parent has changed, or its recorded state cannot be
                read for now.
            HistoryReset: an answer was older than the object of the request.
        """
        begun = self._clock()
        observed = self._store.parent(key)
        if observed is None or observed.terminating:
            # A parent missing from the store never means delete; children deleted in the foreground stay deleted.
            self.forget(key)
            return Outcome()
        memory = self._memories.of(key, observed.uid)
        if memory.namespace_terminating_until > begun:
            return Outcome(after=memory.namespace_terminating_until - begun)
        confirmed = self._status_writer.confirm(memory.status, observed)
        if confirmed is not None:
            status_confirmed(memory, self._workload.status_rules, observed, confirmed)
        parent = self._workload.parse(observed)
        world = CacheView(self._store, self._coverage, parent, memory, self._now())
        recalled = self._recaller.chosen(parent, world)
        try:
            parent = await self._recaller.running(parent, world, recalled)
        except RequestFailed as error:
            record = next((each for each in recalled if each is not None), None)
            if record is None or concerns_all(error) or failures < PATIENCE:
                raise
            results = await self._child_set.compare_unread(parent, world, record, error)
            return await self._report(observed, parent, results, world, begun=begun)
        unlisted = self._coverage.unlisted(key.namespace)
        if unlisted:
            # An invisible child would be created again.
            results = await self._child_set.compare(parent, world, unlisted)
            return await self._report(observed, parent, results, world, begun=begun)
        deleted = set(memory.removal.deleted)
        try:
            results = await self._child_set.reconcile(parent, world, patient=failures < PATIENCE)
        except RequestFailed as error:
            await self._report_writes(observed, parent, memory)
            if isinstance(error, Refused) and error.namespace_terminating:
                log.info("the namespace is terminating: no writes for %.0f s", _NAMESPACE_SECONDS)
                memory.namespace_terminating_until = self._clock() + _NAMESPACE_SECONDS
                return Outcome(after=_NAMESPACE_SECONDS, answered=True)
            raise
        outcome = await self._report(observed, parent, results, world, begun=begun)
        # A record of this reconcile may let another state run, and causes no event.
        again = outcome.again or self._recaller.chosen(parent, world) != recalled
        return replace(outcome, again=again, answered=outcome.answered or not memory.removal.deleted <= deleted)

    async def _report_writes(self, observed: Projection, parent: P, memory: Memory) -> None:
        """Report the writes of a reconcile that has ended early: the next one finds nothing to correct."""
        results = []
        for child, writes in memory.unreported().items():
            kind, _, name = child.partition("/")
            results.append(Result(Child(kind, name, HEALTHY), writes=writes))
        memory.drift.add(repairs(results))
        memory.reported()
        await self._record(
            observed, memory, records_of_writes(parent, self._workload, results, observed.content.get("status", {}))
        )

    async def _report(
        self, observed: Projection, parent: P, results: Sequence[Result], world: CacheView, *, begun: float
    ) -> Outcome:
        """Write the status and the Events; return what follows."""
        now, memory, rules = self._now(), world.memory, self._workload.status_rules
        previous = observed.content.get("status", {})
        memory.drift.add(repairs(results))
        memory.reported()
        unreported = memory.drift.unreported()
        records = [each for kind in self._records for each in world.related(kind) if each.is_child_of(parent)]
        observations = _observations(results, unreported, records)
        wanted = self._workload.status(parent, observations, previous, now.strftime("%Y-%m-%dT%H:%M:%SZ"))
        report = Report()
        events = self._workload.events(parent, observations, previous, wanted)
        try:
            if not is_suspended(memory, rules, observed, self._clock()):
                pace = self._workload.pace(parent, observations)
                report = await self._status_writer.report(memory.status, observed, wanted, pace, unreported)
        except (RequestFailed, HistoryReset):
            # The next reconcile finds nothing to report. A cancelled one ends at once, as in a crash.
            of_children = event_records(parent, self._workload, results, previous, wanted)
            await self._record(observed, memory, [*of_children, *events])
            raise
        if report.written or wanted.get("drift") == previous.get("drift"):
            memory.drift.written(unreported)
        if report.written:
            present, manager = self._store.parent(world.key), self._workload.projector.manager
            events += status_written(memory, rules, observed, present, manager=manager, now=self._clock())
        undeclared = report.undeclared
        of_children = event_records(parent, self._workload, results, previous, wanted, undeclared=undeclared)
        await self._record(observed, memory, [*of_children, *events])
        return self._outcome(results, report, memory, begun=begun)

    async def _record(self, observed: Projection, memory: Memory, events: Sequence[EventRecord]) -> None:
        for event in events:
            await self._recorder.record(observed, event, memory.events)

    def _outcome(self, results: Sequence[Result], report: Report, memory: Memory, *, begun: float) -> Outcome:
        """Return what follows from the results of the children and of the status."""
        # An adopted object may cause no event, so children with that precondition are requeued here.
        adopted = any(result.writes.adopted for result in results)
        failed = next((result.failed for result in results if result.retry), None)
        # A retry is due anyway. Two children out of phase would wake each other, and defeat the backoff of the parent.
        backoffs = [result.backoff for result in results] if failed is None else []
        return Outcome(
            failed=failed,
            again=report.again or adopted,
            after=sooner(
                report.after,
                memory.suspension_ends(begun, self._clock()),
                memory.removal.report_due(begun, self._clock()),
                *(result.after for result in results),
                *backoffs,
            ),
            in_backoff=report.in_backoff or any(result.in_backoff for result in results),
            answered=report.written
            or report.refused is not None
            or any(each.writes != NOTHING_WRITTEN for each in results),
            refused=report.refused,
        )


def _observations(results: Sequence[Result], drift: Sequence[Repair], records: Sequence[Projection]) -> Observations:
    reports = [
        ChildReport(
            result.child,
            result.live,
            created=result.writes.created,
            corrected=tuple(correction.difference for correction in result.writes.corrections),
        )
        for result in results
    ]
    return Observations(reports, conflicts(results), drift, records)
