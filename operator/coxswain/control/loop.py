"""The loop as a whole: what the watches bring goes into the store, keys into the queue, and workers reconcile them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from kubernetes.aio.client import Configuration

from coxswain.control.reconcile import Outcome, Reconciler
from coxswain.control.report import Reporter
from coxswain.control.resync import Resync, Scope, shown
from coxswain.control.store import HistoryReset, Key, Store
from coxswain.control.supervise import Supervisor
from coxswain.control.workqueue import WorkQueue
from coxswain.kube.apply import Writer
from coxswain.kube.client import Client
from coxswain.kube.errors import RequestFailed, Sort
from coxswain.kube.events import Recorder
from coxswain.kube.kinds import KINDS, WEBAPP, Kind
from coxswain.kube.observed import Observed, observe
from coxswain.logs import about
from coxswain.settings import Settings

log = logging.getLogger(__name__)


class Loop:
    """One operator's loop."""

    def __init__(self, settings: Settings, client: Client, connect: Callable[[], Awaitable[Configuration]]) -> None:
        """Work with `client`; `connect` makes a connection for each start of the watches."""
        clock = asyncio.get_running_loop().time
        self._settings = settings
        self._store = Store()
        self._queue = WorkQueue(
            retry_delay=settings.queue.retry_delay, retry_delay_limit=settings.queue.retry_delay_limit
        )
        self._feed: _ThreadsafeFeed | None = None
        self._unwatched: set[Scope] = set()
        self._resync = Resync(
            self._store,
            client,
            settings.scopes,
            settings.resync_interval,
            found=lambda keys: self._enqueue(keys, backlog=True),
            resynced=self._resynced,
            history_reset=self._start_over,
        )
        writer = Writer(client)
        reporter = Reporter(
            self._store,
            writer,
            settings.status,
            clock=clock,
            sweep_webapps=lambda namespace: self._resync.sweep_soon(WEBAPP, namespace),
        )
        recorder = Recorder(client, clock)
        self._reconciler = Reconciler(self._store, writer, recorder, reporter, lambda: datetime.now(UTC))
        self._supervisor = Supervisor(client, connect, settings.scopes, settings.watch, self._new_feed)
        self._in_hand: set[asyncio.Task[None]] = set()

    @property
    def missing(self) -> list[str]:
        """What is missing before WebApps are reconciled: nothing when the operator is ready."""
        obstacle = [self._supervisor.obstacle] if self._supervisor.obstacle else []
        unwatched = sorted(f"{shown(scope)} not watched yet" for scope in self._unwatched)
        return obstacle + unwatched + self._resync.pending

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set; then end what is in hand, within the drain timeout, and return."""
        supervision = asyncio.create_task(self._supervisor.run(), name="supervision")
        resync = asyncio.create_task(self._resync.run(), name="resync")
        workers = [
            asyncio.create_task(self._work(), name=f"worker {number}") for number in range(self._settings.queue.workers)
        ]
        stopped = asyncio.create_task(stop.wait(), name="stop")
        try:
            # None but the first ends by itself, unless something is broken that no retry mends.
            ended, _ = await asyncio.wait([stopped, supervision, resync, *workers], return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            self._supervisor.stop()
            await _cancelled([*workers, stopped])
            if self._in_hand:
                await asyncio.wait(self._in_hand, timeout=self._settings.drain_timeout)
            await asyncio.wait([supervision], timeout=self._settings.drain_timeout)
            await _cancelled([supervision, resync, *self._in_hand])

    async def _work(self) -> None:
        while True:
            key = await self._queue.take()
            await self._resync.complete.wait()
            # A task of its own, so that the end of this worker doesn't cut a reconcile short.
            task = asyncio.create_task(self._handle(key), name=f"reconcile {key}")
            self._in_hand.add(task)
            task.add_done_callback(self._in_hand.discard)
            await asyncio.shield(task)

    async def _handle(self, key: Key) -> None:
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
                self._queue.done(key)

    def _failed(self, key: Key, error: RequestFailed) -> None:
        if error.sort is Sort.TERMINAL:
            log.error("not tried again until something changes: %s", error)
            return
        delay = self._queue.retry(key)
        level = logging.DEBUG if error.sort is Sort.CONFLICT else logging.WARNING
        log.log(level, "%s; trying again in %.1f s", error, delay)

    def _follow_up(self, key: Key, outcome: Outcome) -> None:
        if outcome.retry:
            self._queue.retry(key)
        else:
            self._queue.succeeded(key)
        if outcome.again:
            self._queue.add(key)
        elif outcome.after is not None:
            self._queue.add_after(key, outcome.after)

    def _enqueue(self, keys: set[Key], *, backlog: bool = False) -> None:
        for key in keys:
            self._queue.add(key, backlog=backlog)

    def _resynced(self) -> None:
        self._reconciler.look_again()
        self._enqueue(set(self._store.webapps()), backlog=True)

    def _start_over(self, reset: HistoryReset) -> None:
        log.warning("history ran backwards (%s): everything is listed and watched anew", reset)
        # Late news of the watches that are about to end must not reach the store.
        self._feed = None
        self._store.clear()
        self._queue.clear()
        self._resync.start_over()
        self._supervisor.restart()

    def _new_feed(self) -> "_ThreadsafeFeed":
        self._unwatched = {(kind, namespace) for kind in KINDS for namespace in self._settings.scopes}
        self._feed = _ThreadsafeFeed(self, asyncio.get_running_loop())
        return self._feed

    def _take(self, feed: "_ThreadsafeFeed", observed: Observed, *, gone: bool) -> None:
        if feed is not self._feed:
            return
        if gone:
            place = Key(observed.namespace, observed.name)
            self._enqueue(self._store.forget(observed.kind, place, observed.version))
        else:
            self._enqueue(self._store.observe(observed))

    def _take_start(self, feed: "_ThreadsafeFeed", kind: Kind, namespace: str | None) -> None:
        if feed is self._feed:
            self._unwatched.discard((kind, namespace))
            self._resync.sweep_soon(kind, namespace)


class _ThreadsafeFeed:
    """Carries what the watches bring from Kopf's thread into the main loop."""

    def __init__(self, loop: Loop, main: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._main = main

    def event(self, kind: Kind, change: str | None, raw: Mapping[str, Any]) -> None:
        try:
            observed = observe(kind, raw)
        except (KeyError, ValueError, TypeError):
            log.exception("an event of %s can't be read; the next sweep will tell", kind.plural)
            return
        self._call(self._loop._take, observed, gone=change == "DELETED")

    def started_over(self, kind: Kind, namespace: str | None) -> None:
        self._call(self._loop._take_start, kind, namespace)

    def _call(self, take: Callable[..., None], *arguments: object, **named: object) -> None:
        if not self._main.is_closed():
            self._main.call_soon_threadsafe(lambda: take(self, *arguments, **named))


async def _cancelled(tasks: Iterable[asyncio.Task[Any]]) -> None:
    pending = list(tasks)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
