"""The workers: take keys from the workqueue, reconcile them, and requeue them according to the result."""

import asyncio
import logging
from collections.abc import Callable
from typing import Generic

from coxswain.kernel.api.errors import ErrorClass, NotSent, OutOfDate, RequestFailed
from coxswain.kernel.cache.coverage import Coverage
from coxswain.kernel.cache.store import HistoryReset, Key
from coxswain.kernel.cache.waiting import Waiting
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.parent.reconciler import Outcome, Reconciler
from coxswain.kernel.reconciling.queue.recovery_probe import RecoveryProbe
from coxswain.kernel.reconciling.queue.workqueue import Lane, WorkQueue
from coxswain.kernel.workload import P
from coxswain.logs import about
from coxswain.metrics import ControllerMetrics
from coxswain.settings import QueueSettings

log = logging.getLogger(__name__)


class Workers(Generic[P]):
    """Reconciles the keys of the workqueue concurrently. Keys of namespaces that are not listed wait."""

    def __init__(
        self,
        reconciler: Reconciler[P],
        queue: WorkQueue,
        coverage: Coverage,
        waiting: Waiting,
        settings: QueueSettings,
        *,
        serves: Callable[[str], bool],
        history_reset: Callable[[HistoryReset], None],
        parent: Callable[[Key], Projection | None],
        drain_timeout: float,
    ) -> None:
        """Reconcile the keys of `queue`. `start` starts the workers.

        Args:
            reconciler: Reconciles one key.
            queue: Keys to reconcile.
            coverage: The listed kinds of each namespace.
            waiting: Receives the keys to requeue when the coverage of their namespace changes.
            settings: Number of workers and interval of the recovery probe.
            serves: Whether this process may begin a reconcile in a namespace.
            history_reset: Called when a reconcile detects a history reset.
            parent: Returns the parent of a key from the store.
            drain_timeout: Maximum seconds of the drain of some namespaces.
        """
        self._metrics = ControllerMetrics(queue.name)
        self._reconciler = reconciler
        self._queue = queue
        self._coverage = coverage
        self._waiting = waiting
        self._settings = settings
        self._serves = serves
        self._history_reset = history_reset
        self._parent = parent
        self._drain_timeout = drain_timeout
        self._recovery_probe = RecoveryProbe()
        self._history_resets = 0
        self.processing: dict[asyncio.Task[None], Key] = {}
        """The in-flight reconciles and their keys. They outlive the workers."""

    @property
    def limit(self) -> int:
        """Maximum number of concurrent reconciles."""
        return self._settings.workers

    def start(self) -> list[asyncio.Task[None]]:
        """Start the workers. Return their tasks, which end only when cancelled."""
        return [
            asyncio.create_task(self._run_worker(), name=f"worker {number}") for number in range(self._settings.workers)
        ]

    async def probe_recovery(self) -> None:
        """Requeue one key with a server error at each interval, until cancelled."""
        while True:
            await asyncio.sleep(self._settings.recovery_probe_interval)
            if self._recovery_probe.candidate is not None:
                self._queue.add(self._recovery_probe.candidate, Lane.BACKLOG)

    def start_over(self) -> None:
        """Remove all keys and backoffs after a history reset."""
        self._history_resets += 1
        self._queue.clear()
        self._recovery_probe.clear()

    async def drain_namespaces(self, covers: Callable[[str], bool]) -> None:
        """Wait for the in-flight reconciles in some namespaces, and cancel them when the drain timeout has passed.

        A reconcile may send many requests, each with a timeout of its own, and nothing else is reconciled meanwhile.
        """
        in_flight = [task for task, key in self.processing.items() if covers(key.namespace)]
        if in_flight:
            _, late = await asyncio.wait(in_flight, timeout=self._drain_timeout)
            for task in late:
                task.cancel()
            await asyncio.wait(in_flight)

    def forget(self, covers: Callable[[str], bool]) -> None:
        """Remove the keys and backoffs of some namespaces."""
        self._queue.remove(covers)
        self._recovery_probe.remove(covers)

    async def drain(self, seconds: float, refuse_requests: Callable[[], None]) -> None:
        """Wait for the in-flight reconciles, and cancel them shortly before `seconds` have passed."""
        # Half of the time is for whole reconciles. Then the client refuses new requests. At 80 % they are cancelled.
        clock = asyncio.get_running_loop().time
        begun = clock()
        for then, part in ((refuse_requests, 0.5), (self._cancel_reconciles, 0.8)):
            if self.processing:
                await asyncio.wait(self.processing, timeout=begun + part * seconds - clock())
            then()

    def _cancel_reconciles(self) -> None:
        for task in self.processing:
            task.cancel()

    async def _run_worker(self) -> None:
        while True:
            key = await self._queue.get()
            if not self._serves(key.namespace):
                # It was requeued after its slot was given back or lost. The new leader enqueues it.
                self._queue.forget(key)
                self._queue.done(key)
                continue
            if not self._coverage.view(key.namespace).settled:
                # The worker does not wait here: namespaces that cannot be listed would block all workers.
                self._waiting.add(key)
                self._queue.done(key)
                continue
            # A separate task, so that the cancellation of this worker does not interrupt a reconcile.
            task = asyncio.create_task(self._process(key), name=f"reconcile {key}")
            self.processing[task] = key
            task.add_done_callback(self.processing.pop)
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()

    async def _process(self, key: Key) -> None:
        history_resets, before = self._history_resets, self._identity(key)
        # Coverage may change during the reconcile, so the key must wait from its start.
        self._waiting.add(key)
        with about(self._queue.name, str(key)):
            try:
                outcome = await self._reconcile(key)
            except HistoryReset as reset:
                self._history_reset(reset)
            except RequestFailed as error:
                if isinstance(error, OutOfDate) and self._identity(key) not in (None, before):
                    # The reconcile has read the new parent into the store, so its watch event will enqueue nothing.
                    log.debug("%s; requeued at once", error)
                    self._queue.add(key, Lane.CHANGED)
                else:
                    self._failed(key, error)
            except Exception:
                # An internal error in one parent must not stop the others, and it does not tell that the server fails.
                self._recovery_probe.discard(key)
                log.exception("internal error, requeued in %.1f s", self._queue.add_rate_limited(key))
            else:
                self._follow_up(key, outcome)
            finally:
                self._clean_up(key, history_resets)
                self._queue.done(key)

    def _clean_up(self, key: Key, history_resets: int) -> None:
        """After a reconcile, let its key wait for coverage, or forget an outdated memory.

        `history_resets` is the number of history resets before the reconcile.
        """
        view = self._coverage.view(key.namespace)
        if not self._serves(key.namespace):
            # Its slot was lost, so `forget` ran before this reconcile ended. The recovery probe would requeue the key
            # again and again, and no other one.
            self._reconciler.forget(key)
            self.forget(lambda namespace: namespace == key.namespace)
            self._waiting.discard(key)
        elif history_resets != self._history_resets:
            # The reconcile may have recorded versions of the old history.
            self._reconciler.forget(key)
        elif self._parent(key) is not None and (view.doubtful or view.unlisted):
            # A deleted parent does not wait: its creation would enqueue it.
            self._waiting.add(key)
        else:
            self._waiting.discard(key)

    def _identity(self, key: Key) -> tuple[str, int | None] | None:
        """Return the uid and the generation of a parent in the store. They tell whether it differs."""
        parent = self._parent(key)
        return None if parent is None else (parent.uid, parent.content["metadata"].get("generation"))

    async def _reconcile(self, key: Key) -> Outcome:
        """Reconcile a key and record the result in the metrics."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        try:
            outcome = await self._reconciler.reconcile(key, failures=self._queue.failures(key))
        except Exception as error:
            expected = isinstance(error, RequestFailed | HistoryReset)
            self._metrics.failed(clock() - begun, panic=not expected)
            raise
        if outcome.failed is not None:
            self._metrics.failed(clock() - begun)
        elif outcome.refused is not None:
            self._metrics.failed(clock() - begun, terminal=True)
        elif outcome.again:
            self._metrics.reconciled("requeue", clock() - begun)
        else:
            self._metrics.reconciled("success" if outcome.after is None else "requeue_after", clock() - begun)
        return outcome

    def _failed(self, key: Key, error: RequestFailed) -> None:
        self._recovery_probe.discard(key)
        if error.error_class is ErrorClass.TRANSIENT and not isinstance(error, NotSent):
            self._recovery_probe.server_failed(key)
        delay = self._requeue(key, error)
        expected = error.error_class is ErrorClass.CONFLICT or isinstance(error, NotSent)
        level = logging.DEBUG if expected else logging.WARNING
        log.log(level, "%s; requeued in %.1f s", error, delay)

    def _requeue(self, key: Key, error: RequestFailed) -> float:
        return self._queue.add_rate_limited(key, at_least=error.retry_after or 0.0)

    def _follow_up(self, key: Key, outcome: Outcome) -> None:
        if outcome.failed is not None or outcome.in_backoff:
            if outcome.failed is not None:
                self._requeue(key, outcome.failed)
            self._recovery_probe.attempt_failed(key)
        else:
            self._queue.forget(key)
            for other in self._recovery_probe.succeeded(key, answered=outcome.answered):
                self._queue.add(other, Lane.BACKLOG)
        if outcome.again:
            self._queue.add(key)
        elif outcome.after is not None:
            self._queue.add_after(key, outcome.after)
