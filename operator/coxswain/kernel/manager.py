"""The manager: stores the watch events, enqueues the affected WebApps, and runs the workers that reconcile them."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Generic

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import Ending, ErrorClass, Refused, RequestFailed
from coxswain.kernel.api.events import Recorder
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.coverage import Scope, describe
from coxswain.kernel.cache.resync import Resync
from coxswain.kernel.cache.store import HistoryReset, Key, Store
from coxswain.kernel.cache.waiting import Waiting
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.reconciler import Outcome, Reconciler
from coxswain.kernel.reconciling.recovery_probe import RecoveryProbe
from coxswain.kernel.reconciling.workqueue import Lane, WorkQueue
from coxswain.kernel.status.status_writer import StatusWriter
from coxswain.kernel.watching.event_bridge import Activity, EventBridge
from coxswain.kernel.watching.liveness import WatchLiveness
from coxswain.kernel.watching.supervisor import Supervisor, Watches
from coxswain.kernel.workload import P, Workload
from coxswain.logs import about
from coxswain.settings import Settings

log = logging.getLogger(__name__)


class Manager(Generic[P]):
    """Runs one workload: watches, relists, the workqueue and its workers."""

    def __init__(
        self,
        workload: Workload[P],
        settings: Settings,
        client: Client,
        watches: Watches,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Manage `workload`. Call this in the main loop.

        `watches` runs all watches and is restarted whenever it ends; `now` returns the current time in UTC.
        """
        clock = asyncio.get_running_loop().time
        self._settings = settings
        self._client = client
        self._projector, kinds = workload.projector, workload.projector.kinds
        self._parent_kind, self._decisive = kinds.parent, kinds.decisive
        self._store = Store(kinds.parent)
        self._queue = WorkQueue(
            retry_delay=settings.queue.retry_delay, retry_delay_limit=settings.queue.retry_delay_limit
        )
        self._recovery_probe = RecoveryProbe()
        self._bridge: EventBridge | None = None
        self._resync = Resync(
            self._store,
            client,
            self._projector,
            settings.scopes,
            settings.resync_interval,
            found=lambda keys: self._enqueue(keys, Lane.BACKLOG),
            resynced=self._resynced,
            history_reset=self._start_over,
            covered=self._enqueue_released,
        )
        self._coverage = self._resync.coverage
        self._waiting = Waiting(self._coverage, settings.scopes)
        writer = Writer(client, self._projector)
        status_writer = StatusWriter(
            self._store,
            writer,
            settings.status,
            workload.status_rules,
            clock=clock,
            relist_parents=lambda namespace: self._resync.relist_soon(kinds.parent, namespace),
        )
        recorder = Recorder(client, workload.name, clock)
        self._reconciler = Reconciler(
            workload,
            self._store,
            writer,
            recorder=recorder,
            status_writer=status_writer,
            settings=settings,
            clock=clock,
            now=now,
            doubtful=self.is_doubtful,
            unlisted=self._coverage.unlisted,
        )
        self._supervisor = Supervisor(client, kinds.watched, watches, settings.watch, self._new_bridge)
        self._processing: set[asyncio.Task[None]] = set()
        self._history_resets = 0
        """Number of history resets."""
        self._liveness = WatchLiveness(
            [(kind, namespace) for kind in kinds.watched for namespace in settings.scopes],
            silence_timeout=settings.watch.silence_timeout,
            inactivity_timeout=settings.watch.inactivity_timeout,
            clock=clock,
        )

    @property
    def ready(self) -> bool:
        """Whether every kind is listed and watched in at least one namespace."""
        # One is enough: a deleted namespace must not make the operator unready for the others.
        lacking = self._unavailable()
        return self._supervisor.obstacle is None and any(
            all(scope[1] != namespace for scope in lacking) for namespace in self._settings.scopes
        )

    @property
    def missing(self) -> list[str]:
        """Each scope that is not listed or not watched, with the reason. Empty if all caches are synced."""
        obstacle = [self._supervisor.obstacle] if self._supervisor.obstacle else []
        return obstacle + sorted(self._unavailable().values())

    def _unavailable(self) -> dict[Scope, str]:
        return {**self._coverage.missing(), **self._described(self._liveness.silent())}

    def is_doubtful(self, kind: Kind, namespace: str) -> bool:
        """Return whether the store may be incomplete for a decisive kind in a namespace."""
        silent = self._liveness.is_silent(self._coverage.scope(kind, namespace))
        return silent or kind in self._coverage.view(namespace).doubtful

    @property
    def dead(self) -> list[str]:
        """The watches that no restart of Kopf recovers. Empty while the process is live."""
        return sorted(self._described(self._liveness.dead()).values())

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set, then drain in-flight reconciles and return within the drain timeout."""
        supervision = asyncio.create_task(self._supervisor.run(), name="supervision")
        services = [
            asyncio.create_task(self._resync.run(), name="resync"),
            asyncio.create_task(self._monitor_watches(), name="watch liveness"),
            asyncio.create_task(self._probe_recovery(), name="recovery probe"),
        ]
        workers = [
            asyncio.create_task(self._run_worker(), name=f"worker {number}")
            for number in range(self._settings.queue.workers)
        ]
        stopped = asyncio.create_task(stop.wait(), name="stop")
        try:
            # Only `stopped` ends normally. Any other task ends only with an internal error, which is raised here.
            everything = [stopped, supervision, *services, *workers]
            ended, _ = await asyncio.wait(everything, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            self._supervisor.stop()
            await _cancelled([*workers, *services, stopped])
            await self._drain(supervision)

    async def _drain(self, supervision: asyncio.Task[None]) -> None:
        """Drain in-flight reconciles within the drain timeout."""
        # Half of the time is for whole reconciles. Then the client refuses new requests. At 80 % they are cancelled.
        clock = asyncio.get_running_loop().time
        begun, budget = clock(), self._settings.drain_timeout
        for then, part in ((self._client.end, 0.5), (self._cancel_reconciles, 0.8)):
            if self._processing:
                await asyncio.wait(self._processing, timeout=begun + part * budget - clock())
            then()
        await asyncio.wait([supervision], timeout=max(0.0, begun + 0.95 * budget - clock()))
        await _cancelled([supervision, *self._processing])

    def _cancel_reconciles(self) -> None:
        for task in self._processing:
            task.cancel()

    async def _monitor_watches(self) -> None:
        clock = asyncio.get_running_loop().time
        bound = self._settings.watch.silence_timeout
        while True:
            before = clock()
            await asyncio.sleep(bound / 20)
            if clock() - before > bound / 2:
                # The process itself was suspended, so silence says nothing about the watches.
                self._liveness.begin()
            if self._supervisor.obstacle is not None:
                continue
            silent = self._described(self._liveness.to_restart())
            if silent:
                log.warning("%s; restarting all watches", ", ".join(sorted(silent.values())))
                self._supervisor.restart()

    async def _probe_recovery(self) -> None:
        while True:
            await asyncio.sleep(self._settings.queue.recovery_probe_interval)
            if self._recovery_probe.candidate is not None:
                self._queue.add(self._recovery_probe.candidate, Lane.BACKLOG)

    def _described(self, silent: Mapping[Scope, float]) -> dict[Scope, str]:
        # Without a running Kopf, silence is expected.
        if self._supervisor.obstacle is not None:
            return {}
        return {scope: f"{describe(scope)} silent for {seconds:.0f} s" for scope, seconds in silent.items()}

    async def _run_worker(self) -> None:
        while True:
            key = await self._queue.get()
            if not self._coverage.view(key.namespace).settled:
                # The worker does not wait here: namespaces that cannot be listed would block all workers.
                self._waiting.add(key)
                self._queue.done(key)
                continue
            # A separate task, so that the cancellation of this worker does not interrupt a reconcile.
            task = asyncio.create_task(self._process(key), name=f"reconcile {key}")
            self._processing.add(task)
            task.add_done_callback(self._processing.discard)
            await asyncio.shield(task)

    async def _process(self, key: Key) -> None:
        history_resets = self._history_resets
        # Coverage may change during the reconcile, so the key must wait from its start.
        self._waiting.add(key)
        with about(str(key)):
            try:
                outcome = await self._reconciler.reconcile(key, failures=self._queue.failures(key))
            except HistoryReset as reset:
                self._start_over(reset)
            except RequestFailed as error:
                self._failed(key, error)
            except Exception:
                # An internal error in one WebApp must not stop the others.
                log.exception("internal error, requeued in %.1f s", self._queue.add_rate_limited(key))
            else:
                self._follow_up(key, outcome)
            finally:
                if history_resets != self._history_resets:
                    # After the reset, this reconcile may have recorded versions of the old history.
                    self._reconciler.forget(key)
                elif self._any_doubtful(key.namespace) or self._coverage.view(key.namespace).unlisted:
                    self._waiting.add(key)
                else:
                    self._waiting.discard(key)
                self._queue.done(key)

    def _any_doubtful(self, namespace: str) -> bool:
        return any(self.is_doubtful(kind, namespace) for kind in self._decisive)

    def _failed(self, key: Key, error: RequestFailed) -> None:
        if error.error_class is ErrorClass.TERMINAL:
            log.error("%s; not retried until the parent or its children change", error)
            return
        if error.error_class is ErrorClass.TRANSIENT:
            self._recovery_probe.server_failed(key)
        delay = self._requeue(key, error)
        expected = error.error_class is ErrorClass.CONFLICT or isinstance(error, Ending)
        level = logging.DEBUG if expected else logging.WARNING
        log.log(level, "%s; requeued in %.1f s", error, delay)

    def _requeue(self, key: Key, error: RequestFailed) -> float:
        at_least = (error.retry_after if isinstance(error, Refused) else None) or 0.0
        return self._queue.add_rate_limited(key, at_least=at_least)

    def _follow_up(self, key: Key, outcome: Outcome) -> None:
        if outcome.failed is not None:
            self._requeue(key, outcome.failed)
            self._recovery_probe.attempt_failed(key)
        else:
            self._queue.forget(key)
            self._enqueue(set(self._recovery_probe.succeeded(key)), Lane.BACKLOG)
        if outcome.again:
            self._queue.add(key)
        elif outcome.after is not None:
            self._queue.add_after(key, outcome.after)

    def _enqueue_released(self) -> None:
        self._enqueue(self._waiting.released(self._store.parents), Lane.BACKLOG)

    def _enqueue(self, keys: set[Key], lane: Lane) -> None:
        for key in keys:
            self._queue.add(key, lane)

    def _resynced(self) -> None:
        self._reconciler.resynced()
        self._enqueue(set(self._store.parents()), Lane.BACKLOG)

    def _start_over(self, reset: HistoryReset) -> None:
        log.warning("the resourceVersion ran backwards (%s): relisting and watching all kinds again", reset)
        # Late events of the previous watches must not reach the store.
        self._bridge = None
        self._history_resets += 1
        self._store.clear()
        self._reconciler.start_over()
        self._queue.clear()
        self._recovery_probe.clear()
        self._resync.start_over()
        self._waiting.clear()
        self._supervisor.restart()

    def _new_bridge(self) -> EventBridge:
        self._coverage.begin_watches()
        self._enqueue_released()
        self._bridge = EventBridge(
            asyncio.get_running_loop(),
            self._projector,
            event=self._handle_event,
            watch_started=self._handle_watch_started,
            watch_activity=self._handle_activity,
        )
        self._liveness.begin()
        return self._bridge

    def _handle_event(self, bridge: EventBridge, observed: Projection, gone: bool) -> None:
        if bridge is not self._bridge:
            return
        lane = Lane.CHANGED if observed.kind is self._parent_kind else Lane.IN_PROGRESS
        if gone:
            place = Key(observed.namespace, observed.name)
            self._enqueue(self._store.forget(observed.kind, place, observed.version), lane)
        else:
            self._enqueue(self._store.observe(observed), lane)

    def _handle_watch_started(self, bridge: EventBridge, kind: Kind, namespace: str | None) -> None:
        if bridge is self._bridge:
            self._coverage.watch_started((kind, namespace))
            self._reconciler.doubt()
            self._resync.relist_soon(kind, namespace)
            self._enqueue_released()

    def _handle_activity(self, bridge: EventBridge, kind: Kind, namespace: str | None, activity: Activity) -> None:
        if bridge is not self._bridge:
            return
        self._liveness.record((kind, namespace), activity)
        scope = (kind, namespace)
        if activity is Activity.FAILED:
            self._coverage.watch_refused(scope)
            self._resync.diagnose(scope)
            self._enqueue_released()
        elif activity is Activity.OPENED and self._coverage.watch_opened(scope):
            # The API server is back, so keys in backoff are retried now. The relist detects a restored etcd: watches
            # from a future resourceVersion stay silent. It also finds new and deleted autoscalers: they own the
            # replicas.
            self._queue.retry_now()
            if kind in (self._parent_kind, *self._decisive):
                self._resync.relist_soon(kind, namespace)
            self._enqueue_released()


async def _cancelled(tasks: Iterable[asyncio.Task[Any]]) -> None:
    pending = list(tasks)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
