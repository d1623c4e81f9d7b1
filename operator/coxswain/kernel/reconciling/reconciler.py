"""Reconcile: reads the present, never the event, and makes one WebApp's children equal to what it says.

A reconcile that finds nothing to do costs no request.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from coxswain.kernel.api.errors import Refused, RequestFailed
from coxswain.kernel.api.events import Recorder
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.objects.kinds import CONFIG_MAP, DEPLOYMENT, POD, REPLICA_SET, SERVICE_ACCOUNT, WEBAPP
from coxswain.kernel.objects.projection import Projection, comparable, webapp_of
from coxswain.kernel.reconciling.child import Children
from coxswain.kernel.reconciling.drift_ledger import conflicts, repairs
from coxswain.kernel.reconciling.event_reasons import news
from coxswain.kernel.reconciling.execute import Executor
from coxswain.kernel.reconciling.finding import PATIENCE
from coxswain.kernel.reconciling.generation_guard import GenerationGuard
from coxswain.kernel.reconciling.memory import Memories, Memory
from coxswain.kernel.reconciling.overwritten import is_left_alone, status_written
from coxswain.kernel.reconciling.removal import Remover
from coxswain.kernel.reconciling.result import Result
from coxswain.kernel.reconciling.security import violations_of
from coxswain.kernel.reconciling.untouched import untouched
from coxswain.kernel.status.status_writer import Deployed, Report, StatusWriter
from coxswain.settings import Settings
from coxswain.webapp.children import desired
from coxswain.webapp.conditions import Observations, status, worst
from coxswain.webapp.health import Child, Level, held_back, is_complete
from coxswain.webapp.pods import diagnosis, explained
from coxswain.webapp.spec import Manifest, WebApp

log = logging.getLogger(__name__)

_NEEDED_BY_PODS = (SERVICE_ACCOUNT.kind, CONFIG_MAP.kind)
"""Kinds without which no pod should start, still less with a foreign one; they go only when no pod needs them."""


@dataclass(frozen=True)
class Outcome:
    """What follows from a reconcile."""

    failed: RequestFailed | None = None
    """A request failed that may succeed later: come back with backoff."""
    again: bool = False
    """The WebApp has changed meanwhile: come back at once."""
    after: float | None = None
    """Come back after so many seconds: to write progress that waits, or because a probe's time is up then."""

    @property
    def retry(self) -> bool:
        """Whether to come back with backoff."""
        return self.failed is not None


class Reconciler:
    """Reconciles WebApps."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        *,
        recorder: Recorder,
        status_writer: StatusWriter,
        settings: Settings,
        clock: Callable[[], float],
        now: Callable[[], datetime],
        replicas_unknown: Callable[[str], bool] = lambda _: False,
        unlisted: Callable[[str], Mapping[str, str]] = lambda _: {},
    ) -> None:
        """Reconcile the WebApps of the store.

        Args:
            store: the cache.
            writer: sends the writes.
            recorder: posts Events.
            status_writer: writes the status.
            settings: the operator's settings.
            clock: monotonic seconds.
            now: the time of day, in UTC.
            replicas_unknown: whether the store may lack autoscalers of a namespace.
            unlisted: the kinds of children that cannot be listed in a namespace, and why.
        """
        self._clock = clock
        self._now = now
        self._unlisted = unlisted
        self._store = store
        self._recorder = recorder
        self._status_writer = status_writer
        self._memories = Memories(settings.contest)
        guard = GenerationGuard(store, writer)
        executor = Executor(store, writer, guard, name_interval=settings.taken_name_interval, clock=clock)
        self._children = Children(store, executor, settings.status, clock=clock, replicas_unknown=replicas_unknown)
        self._remover = Remover(store, writer, guard)

    def resynced(self) -> None:
        """Forget whatever a resync should try again, such as refused writes."""
        self._memories.resynced(self._clock())
        self._status_writer.resynced()
        self._recorder.forget_old()

    def doubt(self) -> None:
        """Read each WebApp before the next write for it: a watch has a gap, and that of WebApps may lag behind."""
        self._memories.doubt(self._store.newest(WEBAPP))

    def start_over(self) -> None:
        """Forget all WebApps: history ran backwards, so nothing remembered needs to be true."""
        self._memories.clear()

    def forget(self, key: Key) -> None:
        """Forget a WebApp that is gone, or that was reconciled while history started over."""
        self._memories.forget(key)

    async def reconcile(self, key: Key, *, failures: int) -> Outcome:
        """Reconcile a WebApp that has failed so many times in a row.

        Raises:
            RequestFailed: the status could not be written, or the WebApp has changed.
            HistoryReset: an answer was older than the object that the request was sent for.
        """
        begun = self._clock()
        observed = self._store.webapp(key)
        if observed is None or observed.going:
            # A WebApp missing from the store never means delete; children deleted in the foreground stay deleted.
            self.forget(key)
            return Outcome()
        memory = self._memories.of(key, observed.uid)
        if memory.namespace_terminating:
            return Outcome()
        parent = webapp_of(observed)
        unlisted = self._unlisted(key.namespace)
        if unlisted:
            # A child that cannot be seen cannot be compared: it would be created again.
            compared = [self._children.compare(parent, manifest, memory) for manifest in desired(parent)]
            return await self._report(observed, parent, untouched(compared, unlisted), memory, begun=begun)
        try:
            results = await self._reconcile_children(parent, memory, patient=failures < PATIENCE)
            memory.retain(_children(results))
            if not parent.paused:
                results += await self._remove_unwanted(parent, results, memory, patient=failures < PATIENCE)
        except Refused as error:
            if error.namespace_terminating:
                log.info("the namespace is terminating: no writes until the next resync")
                memory.namespace_terminating = True
                return Outcome()
            raise
        return await self._report(observed, parent, results, memory, begun=begun)

    async def _reconcile_children(self, parent: WebApp, memory: Memory, *, patient: bool) -> list[Result]:
        results: list[Result] = []
        blocked: str | None = None
        for manifest in desired(parent):
            if manifest["kind"] == DEPLOYMENT.kind and blocked is not None and not parent.paused:
                found = self._store.get(DEPLOYMENT, Key(parent.namespace, parent.name))
                live = found if found is not None and found.is_child_of(parent) else None
                health = held_back(blocked, there=live is not None)
                results.append(Result(Child(manifest["kind"], manifest["metadata"]["name"], health), live))
            else:
                result = await self._children.reconcile(parent, manifest, memory, patient=patient)
                results.append(result)
                if blocked is None and result.child.kind in _NEEDED_BY_PODS and not _is_usable(manifest, result):
                    blocked = f"{result.child.kind} {result.child.name}"
        return results

    async def _remove_unwanted(
        self, parent: WebApp, results: Sequence[Result], memory: Memory, *, patient: bool
    ) -> list[Result]:
        rolled_out = any(
            result.child.kind == DEPLOYMENT.kind and result.child.health.level is Level.HEALTHY for result in results
        )
        wanted = _children(results)
        return await self._remover.remove_unwanted(parent, wanted, memory, rolled_out=rolled_out, patient=patient)

    def _explained(self, key: Key, result: Result, now: datetime) -> tuple[Result, float | None]:
        """Return a child with the cause found in its pods, and the seconds until they may show another one."""
        live = result.live
        if live is None or not result.child.health.for_pods:
            return result, None
        replica_sets = [
            found.content
            for found in self._store.objects_of(key, REPLICA_SET)
            if found.controller is not None and found.controller.uid == live.uid
        ]
        pods = [found.content for found in self._store.objects_of(key, POD) if not found.going]
        found = diagnosis(live.content, replica_sets, pods, now)
        child = replace(result.child, health=explained(result.child.health, live.content, found))
        return replace(result, child=child), None if found.again is None else (found.again - now).total_seconds()

    async def _report(
        self, observed: Projection, parent: WebApp, children: Sequence[Result], memory: Memory, *, begun: float
    ) -> Outcome:
        """Write the status and the Events; return what follows."""
        now, key = self._now(), Key(parent.namespace, parent.name)
        explained_children = [self._explained(key, result, now) for result in children]
        results = [result for result, _ in explained_children]
        deployment = next((result.live for result in results if result.child.kind == DEPLOYMENT.kind), None)
        previous = observed.content.get("status", {})
        memory.drift.add(repairs(results))
        observations = Observations(
            [result.child for result in results],
            None if deployment is None else deployment.content,
            held=conflicts(results),
            insecure=() if deployment is None else violations_of(deployment),
            repairs=memory.drift.waiting(),
        )
        wanted = status(parent, observations, previous, now.strftime("%Y-%m-%dT%H:%M:%SZ"))
        report = Report()
        try:
            if not is_left_alone(memory, observed, self._clock()):
                report = await self._status_writer.report(memory.status, observed, wanted, _deployed(parent, results))
            if report.written or wanted.get("drift") == previous.get("drift"):
                memory.drift.written()
        finally:
            # Also if the status cannot be written: the next reconcile finds nothing to tell.
            fought = []
            if report.written:
                fought = status_written(memory, observed, self._store.webapp(key), self._clock())
            for record in (*news(parent, results, previous, wanted, report.undeclared), *fought):
                await self._recorder.record(observed, record)
        failed = next((result.failed for result in results if result.retry), None)
        # Children that waited for an adoption cannot wait for an event of that object: there may be none.
        adopted = any(result.adopted for result in results)
        return Outcome(
            failed=failed,
            again=report.again or adopted,
            after=_sooner(
                report.after,
                memory.rest_ends(begun, self._clock()),
                *(delay for _, delay in explained_children),
                *(result.after for result in results),
            ),
        )


def _deployed(webapp: WebApp, results: Sequence[Result]) -> Deployed:
    """Return what the urgency of a status depends on."""
    found = next((result for result in results if result.child.kind == DEPLOYMENT.kind and result.live), None)
    retried = any(result.child.health.retried for result in results)
    if found is None or found.live is None:
        return Deployed(webapp.replicas, retried=retried)
    live, health = found.live.content, found.child.health
    unobserved = live.get("status", {}).get("observedGeneration", 0) if is_complete(live) else 0
    return Deployed(
        live.get("spec", {}).get("replicas", 1),
        unobserved if health.unobserved else None,
        health.uncounted and not webapp.paused and worst([result.child for result in results]) is found.child,
        retried=retried,
    )


def _is_usable(manifest: Manifest, result: Result) -> bool:
    """Tell whether pods can start with a child: it is there and the WebApp's, whatever else is wrong with it.

    A ConfigMap must have the desired content too.
    """
    level, live = result.child.health.level, result.live
    if level is Level.HEALTHY:
        return True
    if live is None or live.going or level in (Level.TERMINATING, Level.MISSING):
        return False
    wanted = comparable(manifest).get("data", {})
    return all(live.content.get("data", {}).get(name) == value for name, value in wanted.items())


def _children(results: Sequence[Result]) -> set[str]:
    return {f"{result.child.kind}/{result.child.name}" for result in results}


def _sooner(*delays: float | None) -> float | None:
    return min((delay for delay in delays if delay is not None), default=None)
