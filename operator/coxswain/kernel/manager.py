"""The manager: stores the watch events, enqueues the affected parents, and runs the workers."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Generic

from coxswain import event_loop
from coxswain.gauges import Readings
from coxswain.kernel.api.client import Client
from coxswain.kernel.api.event_reader import EventReader
from coxswain.kernel.api.events import Recorder
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.coverage import Scope
from coxswain.kernel.cache.resync import Resync
from coxswain.kernel.cache.store import HistoryReset, Key, Store
from coxswain.kernel.cache.waiting import Waiting
from coxswain.kernel.election.election import Election, Unelected
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.readings import readings
from coxswain.kernel.reconciling.parent.reconciler import Reconciler
from coxswain.kernel.reconciling.queue.workers import Workers
from coxswain.kernel.reconciling.queue.workqueue import Lane, WorkQueue
from coxswain.kernel.slot_lifecycle import SlotLifecycle
from coxswain.kernel.status.status_writer import StatusWriter
from coxswain.kernel.watching.event_bridge import Activity, EventBridge
from coxswain.kernel.watching.liveness import WatchLiveness
from coxswain.kernel.watching.supervisor import Supervisor, Watches
from coxswain.kernel.watching.watchdog import Watchdog
from coxswain.kernel.workload import P, Workload
from coxswain.metrics import create_series, history_reset
from coxswain.settings import Settings

log = logging.getLogger(__name__)


class Manager(Generic[P]):
    """Runs one workload: watches, relists, the workqueue and its workers.

    A standby runs all of them as well, so that its cache is warm. It enqueues nothing, so it writes nothing, and the
    workqueue stays empty. The same holds for the slots that this process does not lead.
    """

    def __init__(
        self,
        workload: Workload[P],
        settings: Settings,
        client: Client,
        watches: Watches,
        *,
        election: Election | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Manage `workload`. Call this in the main loop.

        `watches` runs all watches and is restarted whenever it ends; `now` returns the current time in UTC. Without
        `election` this process always leads.

        Raises:
            UnknownKind: the workload has no kind of `settings.watch_metadata`.
        """
        self._settings = settings
        self._client = client
        self._election = election or Unelected()
        self._projector = workload.projector.with_referenced(settings.watch_metadata)
        kinds = self._projector.kinds
        self._parent_kind, self._decisive, self._referenced = kinds.parent, kinds.decisive, kinds.referenced
        create_series((kind.collection for kind in kinds.watched), (kind.kind for kind in kinds.children))
        self._store = Store(kinds.parent, workload.status_rules.types, records=kinds.records)
        self._queue = self._new_queue()
        self._bridge: EventBridge | None = None
        self._resync = self._new_resync()
        self._coverage = self._resync.coverage
        self._waiting = Waiting(self._coverage, settings.scopes)
        scopes = [(kind, namespace) for kind in kinds.watched for namespace in settings.scopes]
        self._liveness = self._new_liveness(scopes)
        self._reconciler = self._new_reconciler(workload, now)
        self._workers = self._new_workers()
        self._slot_lifecycle = SlotLifecycle(
            self._election, self._store, self._workers, self._reconciler, self._enqueue
        )
        self._supervisor = Supervisor(
            client,
            kinds,
            watches,
            settings.watch,
            self._new_bridge,
            ended=lambda: self._handle_lost_watches(scopes),
        )
        self._watchdog = Watchdog(
            self._liveness, self._supervisor, settings.watch.silence_timeout, lost=self._handle_lost_watches
        )

    def _new_queue(self) -> WorkQueue:
        return WorkQueue(
            self._parent_kind.kind.lower(),
            retry_delay=self._settings.queue.retry_delay,
            retry_delay_limit=self._settings.queue.retry_delay_limit,
            clock=asyncio.get_running_loop().time,
        )

    def _new_liveness(self, scopes: Sequence[Scope]) -> WatchLiveness:
        return WatchLiveness(
            scopes,
            silence_timeout=self._settings.watch.silence_timeout,
            inactivity_timeout=self._settings.watch.inactivity_timeout,
            clock=asyncio.get_running_loop().time,
        )

    def _new_workers(self) -> Workers[P]:
        return Workers(
            self._reconciler,
            self._queue,
            self._coverage,
            self._waiting,
            self._settings.queue,
            serves=self._election.serves,
            history_reset=self._start_over,
            parent=self._store.parent,
            drain_timeout=self._settings.drain_timeout,
        )

    def _new_resync(self) -> Resync:
        return Resync(
            self._store,
            self._client,
            self._projector,
            self._settings.scopes,
            self._settings.resync_interval,
            found=lambda keys: self._enqueue(keys, Lane.BACKLOG),
            resynced=self._resynced,
            history_reset=self._start_over,
            covered=self._enqueue_waiting,
        )

    def _new_reconciler(self, workload: Workload[P], now: Callable[[], datetime]) -> Reconciler[P]:
        clock = asyncio.get_running_loop().time
        writer = Writer(self._client, self._projector)
        status_writer = StatusWriter(
            self._store,
            writer,
            self._settings.status,
            workload.status_rules,
            clock=clock,
            relist_parents=lambda namespace: self._resync.relist_soon(self._parent_kind, namespace),
        )
        return Reconciler(
            workload,
            self._store,
            self._coverage,
            writer,
            recorder=Recorder(self._client, workload.name, clock),
            event_reader=EventReader(self._client),
            status_writer=status_writer,
            settings=self._settings,
            clock=clock,
            now=now,
        )

    @property
    def ready(self) -> bool:
        """Whether every kind is listed and watched in at least one namespace."""
        # One is enough: a deleted namespace must not make the operator unready for the others.
        lacking = self._not_synced()
        return self._supervisor.obstacle is None and any(
            all(scope[1] != namespace for scope in lacking) for namespace in self._settings.scopes
        )

    @property
    def missing(self) -> list[str]:
        """Each scope that is not listed or not watched, with the reason. Empty if all caches are synced."""
        obstacle = [self._supervisor.obstacle] if self._supervisor.obstacle else []
        return obstacle + sorted(self._not_synced().values())

    def _not_synced(self) -> dict[Scope, str]:
        return {**self._coverage.missing(), **self._watchdog.silent()}

    @property
    def dead(self) -> list[str]:
        """The watches that no restart of Kopf recovers. Empty while the process is live."""
        return sorted(self._watchdog.dead().values())

    @property
    def readings(self) -> Readings:
        """The gauges for /metrics."""
        return readings(
            self._projector.kinds,
            store=self._store,
            queue=self._queue,
            workers=self._workers,
            reconciler=self._reconciler,
            liveness=self._liveness,
            coverage=self._coverage,
            led_slots=self._election.led_slots,
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set, then drain in-flight reconciles and return within the drain timeout.

        A standby returns at once.

        Raises:
            LeadershipLost: this process led, and has lost the Lease. Nothing is drained.
        """
        supervision = asyncio.create_task(self._supervisor.run(), name="supervision")
        services = [
            asyncio.create_task(self._resync.run(), name="resync"),
            asyncio.create_task(self._watchdog.run(), name="watch liveness"),
            asyncio.create_task(self._workers.probe_recovery(), name="recovery probe"),
            asyncio.create_task(self._slot_lifecycle.run(), name="leadership"),
            asyncio.create_task(self._election.ended(), name="leader election"),
        ]
        workers = self._workers.start()
        stopped = asyncio.create_task(stop.wait(), name="stop")
        try:
            # Only `stopped` ends normally. Any other task ends only with an internal error, which is raised here.
            everything = [stopped, supervision, *services, *workers]
            ended, _ = await asyncio.wait(everything, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            self._supervisor.stop()
            await event_loop.cancel([*workers, *services, stopped])
            await self._drain(supervision)

    async def _drain(self, supervision: asyncio.Task[None]) -> None:
        """Drain in-flight reconciles within the drain timeout."""
        clock = asyncio.get_running_loop().time
        begun, timeout = clock(), self._settings.drain_timeout if self._election.led_slots else 0.0
        await self._workers.drain(timeout, self._client.end)
        await asyncio.wait([supervision], timeout=max(0.0, begun + 0.95 * timeout - clock()))
        await event_loop.cancel([supervision, *self._workers.processing])

    def _enqueue_waiting(self) -> None:
        self._enqueue(self._waiting.take_due(self._store.parents), Lane.BACKLOG)
        # The workers of this process would wait for a namespace without a LIST. Another replica may serve it meanwhile.
        if self.ready and self._coverage.answered:
            self._election.synced()

    def _enqueue(self, keys: set[Key], lane: Lane) -> None:
        # The parents of a slot are enqueued when this process begins to lead it.
        for key in self._store.latest_first(keys):
            if self._election.serves(key.namespace):
                self._queue.add(key, lane)

    def _resynced(self) -> None:
        self._reconciler.resynced()
        self._enqueue(set(self._store.parents()), Lane.BACKLOG)

    def _start_over(self, reset: HistoryReset) -> None:
        history_reset()
        log.warning("the resourceVersion ran backwards (%s): relisting and watching all kinds again", reset)
        self._close_bridge()
        self._store.clear()
        self._reconciler.start_over()
        self._workers.start_over()
        self._resync.start_over()
        self._waiting.clear()
        self._supervisor.restart()

    def _new_bridge(self, kinds: Sequence[Kind]) -> EventBridge:
        self._resync.begin_watches(kinds)
        self._enqueue_waiting()
        self._close_bridge()
        self._bridge = EventBridge(
            asyncio.get_running_loop(),
            self._projector,
            event=self._handle_event,
            watch_started=self._handle_watch_started,
            watch_activity=self._handle_activity,
        )
        self._liveness.begin(kinds)
        return self._bridge

    def _close_bridge(self) -> None:
        """Let no late event of the previous watches reach the store."""
        if self._bridge is not None:
            self._bridge.close()

    def _handle_event(self, observed: Projection, gone: bool) -> None:
        lane = Lane.CHANGED if observed.kind is self._parent_kind else Lane.IN_PROGRESS
        if gone:
            place = Key(observed.namespace, observed.name)
            self._enqueue(self._store.forget(observed.kind, place, observed.version), lane)
        else:
            self._enqueue(self._store.observe(observed), lane)

    def _handle_watch_started(self, kind: Kind, namespace: str | None) -> None:
        self._coverage.watch_started((kind, namespace))
        self._reconciler.doubt()
        self._resync.relist_soon(kind, namespace)
        self._enqueue_waiting()

    def _handle_lost_watches(self, scopes: Iterable[Scope]) -> None:
        for scope in scopes:
            self._coverage.watch_lost(scope)
        self._reconciler.doubt()
        self._enqueue_waiting()

    def _handle_activity(self, kind: Kind, namespace: str | None, activity: Activity) -> None:
        scope = (kind, namespace)
        self._liveness.record(scope, activity)
        if activity is Activity.FAILED:
            self._coverage.watch_refused(scope)
            self._resync.diagnose(scope)
            self._enqueue_waiting()
        elif activity is Activity.OPENED and self._coverage.watch_opened(scope):
            # The API server is back, so keys in backoff are retried now. The relist detects a restored etcd: watches
            # from a future resourceVersion stay silent. It also finds new and deleted autoscalers: they own the
            # replicas. It ends the doubt about referenced objects: restarts wait for that.
            self._queue.retry_now()
            if kind in (self._parent_kind, *self._decisive, *self._referenced):
                self._resync.relist_soon(kind, namespace)
            self._enqueue_waiting()
