"""The loop as a whole: what the watches bring goes into the store, keys into the queue, and workers reconcile them."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Generic

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import Ending, ErrorClass, Refused, RequestFailed
from coxswain.kernel.api.events import Recorder
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.coverage import Scope, shown
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
    """One operator's loop."""

    def __init__(
        self,
        workload: Workload[P],
        settings: Settings,
        client: Client,
        watches: Watches,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Run `workload` with `client`.

        `watches` is started again whenever it ends; `now` gives the time of day in UTC.
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
        self._outage = RecoveryProbe()
        self._feed: EventBridge | None = None
        self._resync = Resync(
            self._store,
            client,
            self._projector,
            settings.scopes,
            settings.resync_interval,
            found=lambda keys: self._enqueue(keys, Lane.BACKLOG),
            resynced=self._resynced,
            history_reset=self._start_over,
            covered=self._look_at_coverage,
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
            relist_parents=lambda namespace: self._resync.sweep_soon(kinds.parent, namespace),
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
        self._supervisor = Supervisor(client, kinds.watched, watches, settings.watch, self._new_feed)
        self._in_hand: set[asyncio.Task[None]] = set()
        self._histories = 0
        """How often history started over."""
        self._progress = WatchLiveness(
            [(kind, namespace) for kind in kinds.watched for namespace in settings.scopes],
            silence_timeout=settings.watch.silence_timeout,
            inactivity_timeout=settings.watch.inactivity_timeout,
            clock=clock,
        )

    @property
    def ready(self) -> bool:
        """Whether every kind of at least one namespace is listed and watched: one that is gone stops no other."""
        lacking = self._lacking()
        return self._supervisor.obstacle is None and any(
            all(scope[1] != namespace for scope in lacking) for namespace in self._settings.scopes
        )

    @property
    def missing(self) -> list[str]:
        """What is not listed or not watched, and why: nothing when all is in step with the cluster."""
        obstacle = [self._supervisor.obstacle] if self._supervisor.obstacle else []
        return obstacle + sorted(self._lacking().values())

    def _lacking(self) -> dict[Scope, str]:
        return {**self._coverage.missing(), **self._told(self._progress.silent())}

    def is_doubtful(self, kind: Kind, namespace: str) -> bool:
        """Tell whether the store may lack objects of a decisive kind in a namespace."""
        silent = self._progress.is_silent(self._coverage.scope(kind, namespace))
        return silent or kind in self._coverage.view(namespace).doubtful

    @property
    def dead(self) -> list[str]:
        """What is beyond help in this process: nothing while it is live."""
        return sorted(self._told(self._progress.dead()).values())

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set; then end what is in hand, and return within the drain timeout."""
        supervision = asyncio.create_task(self._supervisor.run(), name="supervision")
        services = [
            asyncio.create_task(self._resync.run(), name="resync"),
            asyncio.create_task(self._look_after_watches(), name="progress"),
            asyncio.create_task(self._scout(), name="scout"),
        ]
        workers = [
            asyncio.create_task(self._work(), name=f"worker {number}") for number in range(self._settings.queue.workers)
        ]
        stopped = asyncio.create_task(stop.wait(), name="stop")
        try:
            # None but the first ends by itself, unless something is broken that no retry mends.
            everything = [stopped, supervision, *services, *workers]
            ended, _ = await asyncio.wait(everything, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            self._supervisor.stop()
            await _cancelled([*workers, *services, stopped])
            await self._drain(supervision)

    async def _drain(self, supervision: asyncio.Task[None]) -> None:
        """End what is in hand: whole reconciles while there is time, then at least the request that is under way."""
        clock = asyncio.get_running_loop().time
        begun, budget = clock(), self._settings.drain_timeout
        for then, part in ((self._client.end, 0.5), (self._cut, 0.8)):
            if self._in_hand:
                await asyncio.wait(self._in_hand, timeout=begun + part * budget - clock())
            then()
        await asyncio.wait([supervision], timeout=max(0.0, begun + 0.95 * budget - clock()))
        await _cancelled([supervision, *self._in_hand])

    def _cut(self) -> None:
        for task in self._in_hand:
            task.cancel()

    async def _look_after_watches(self) -> None:
        clock = asyncio.get_running_loop().time
        bound = self._settings.watch.silence_timeout
        while True:
            before = clock()
            await asyncio.sleep(bound / 20)
            if clock() - before > bound / 2:
                # This process was stopped, not the watches.
                self._progress.begin()
            if self._supervisor.obstacle is not None:
                continue
            silent = self._told(self._progress.to_restart())
            if silent:
                log.warning("%s; starting all watches anew", ", ".join(sorted(silent.values())))
                self._supervisor.restart()

    async def _scout(self) -> None:
        while True:
            await asyncio.sleep(self._settings.queue.scout_interval)
            if self._outage.scout is not None:
                self._queue.add(self._outage.scout, Lane.BACKLOG)

    def _told(self, silent: Mapping[Scope, float]) -> dict[Scope, str]:
        # While Kopf is not to run, nothing can be heard.
        if self._supervisor.obstacle is not None:
            return {}
        return {scope: f"{shown(scope)} silent for {seconds:.0f} s" for scope, seconds in silent.items()}

    async def _work(self) -> None:
        while True:
            key = await self._queue.take()
            if not self._coverage.view(key.namespace).settled:
                # No worker waits: a namespace that can't be listed would stop the others.
                self._waiting.add(key)
                self._queue.done(key)
                continue
            # A task of its own, so that the end of this worker doesn't cut a reconcile short.
            task = asyncio.create_task(self._handle(key), name=f"reconcile {key}")
            self._in_hand.add(task)
            task.add_done_callback(self._in_hand.discard)
            await asyncio.shield(task)

    async def _handle(self, key: Key) -> None:
        histories = self._histories
        # While it is in hand: what the reconcile takes for unknown may become known before it ends.
        self._waiting.add(key)
        with about(str(key)):
            try:
                outcome = await self._reconciler.reconcile(key, failures=self._queue.failures(key))
            except HistoryReset as reset:
                self._start_over(reset)
            except RequestFailed as error:
                self._failed(key, error)
            except Exception:
                # What one WebApp brings out must not end the service of the others.
                log.exception("a defect of the operator; trying again in %.1f s", self._queue.retry(key))
            else:
                self._follow_up(key, outcome)
            finally:
                if histories != self._histories:
                    # What it noted after everything was forgotten is about the former history.
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
            log.error("not tried again until something changes: %s", error)
            return
        if error.error_class is ErrorClass.TRANSIENT:
            self._outage.met_by(key)
        delay = self._retry(key, error)
        expected = error.error_class is ErrorClass.CONFLICT or isinstance(error, Ending)
        level = logging.DEBUG if expected else logging.WARNING
        log.log(level, "%s; trying again in %.1f s", error, delay)

    def _retry(self, key: Key, error: RequestFailed) -> float:
        at_least = (error.retry_after if isinstance(error, Refused) else None) or 0.0
        return self._queue.retry(key, at_least=at_least)

    def _follow_up(self, key: Key, outcome: Outcome) -> None:
        if outcome.failed is not None:
            self._retry(key, outcome.failed)
            self._outage.still_met_by(key)
        else:
            self._queue.succeeded(key)
            self._enqueue(set(self._outage.over_for(key)), Lane.BACKLOG)
        if outcome.again:
            self._queue.add(key)
        elif outcome.after is not None:
            self._queue.add_after(key, outcome.after)

    def _look_at_coverage(self) -> None:
        self._enqueue(self._waiting.released(self._store.parents), Lane.BACKLOG)

    def _enqueue(self, keys: set[Key], lane: Lane) -> None:
        for key in keys:
            self._queue.add(key, lane)

    def _resynced(self) -> None:
        self._reconciler.resynced()
        self._enqueue(set(self._store.parents()), Lane.BACKLOG)

    def _start_over(self, reset: HistoryReset) -> None:
        log.warning("history ran backwards (%s): everything is listed and watched anew", reset)
        # Late news of the watches that are about to end must not reach the store.
        self._feed = None
        self._histories += 1
        self._store.clear()
        self._reconciler.start_over()
        self._queue.clear()
        self._outage.clear()
        self._resync.start_over()
        self._waiting.clear()
        self._supervisor.restart()

    def _new_feed(self) -> EventBridge:
        self._coverage.begin_watches()
        self._look_at_coverage()
        self._feed = EventBridge(
            asyncio.get_running_loop(),
            self._projector,
            event=self._take,
            started_over=self._take_start,
            alive=self._take_sign,
        )
        self._progress.begin()
        return self._feed

    def _take(self, feed: EventBridge, observed: Projection, gone: bool) -> None:
        if feed is not self._feed:
            return
        lane = Lane.CHANGED if observed.kind is self._parent_kind else Lane.UNDER_WAY
        if gone:
            place = Key(observed.namespace, observed.name)
            self._enqueue(self._store.forget(observed.kind, place, observed.version), lane)
        else:
            self._enqueue(self._store.observe(observed), lane)

    def _take_start(self, feed: EventBridge, kind: Kind, namespace: str | None) -> None:
        if feed is self._feed:
            self._coverage.watch_started((kind, namespace))
            self._reconciler.doubt()
            self._resync.sweep_soon(kind, namespace)
            self._look_at_coverage()

    def _take_sign(self, feed: EventBridge, kind: Kind, namespace: str | None, sign: Activity) -> None:
        if feed is not self._feed:
            return
        self._progress.take((kind, namespace), sign)
        scope = (kind, namespace)
        if sign is Activity.FAILED:
            self._coverage.watch_refused(scope)
            self._resync.ask_why(scope)
            self._look_at_coverage()
        elif sign is Activity.OPENED and self._coverage.watch_opened(scope):
            # The server is back: what waits out a long delay, since it was away, need not. And if it came back with an
            # older history, the watches would stay silent, while a LIST tells. An autoscaler that came or went
            # meanwhile decides whose the replicas are.
            self._queue.overtake()
            if kind in (self._parent_kind, *self._decisive):
                self._resync.sweep_soon(kind, namespace)
            self._look_at_coverage()


async def _cancelled(tasks: Iterable[asyncio.Task[Any]]) -> None:
    pending = list(tasks)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
