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
from coxswain.kernel.reconciling.adoption import NameConflicts
from coxswain.kernel.reconciling.child import ChildWriter
from coxswain.kernel.reconciling.conflict_backoff import ConflictBackoff
from coxswain.kernel.reconciling.drift_ledger import DriftLedger, conflicts, repairs
from coxswain.kernel.reconciling.event_reasons import news
from coxswain.kernel.reconciling.finding import PATIENCE
from coxswain.kernel.reconciling.generation_guard import GenerationGuard
from coxswain.kernel.reconciling.overwritten import Overwritten
from coxswain.kernel.reconciling.removal import Removals
from coxswain.kernel.reconciling.result import Result
from coxswain.kernel.reconciling.security import violations_of
from coxswain.kernel.reconciling.untouched import untouched
from coxswain.kernel.reconciling.write_wars import WriteWars
from coxswain.kernel.status.status_writer import Deployed, Report, StatusWriter
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
        reporter: StatusWriter,
        contests: WriteWars,
        taken: NameConflicts,
        backoff: ConflictBackoff,
        clock: Callable[[], datetime],
        replicas_unknown: Callable[[str], bool] = lambda _: False,
        unlisted: Callable[[str], Mapping[str, str]] = lambda _: {},
    ) -> None:
        """Reconcile what the store has; `clock` gives the time of day, in UTC.

        `replicas_unknown` tells whether the store may lack autoscalers of a namespace; `unlisted` returns the kinds of
        children that can't be listed in a namespace, and why.
        """
        self._clock = clock
        self._unlisted = unlisted
        self._store = store
        self._writer = writer
        self._recorder = recorder
        self._reporter = reporter
        self._contests = contests
        self._taken = taken
        self._freshness = GenerationGuard(store, writer)
        self._children = ChildWriter(
            store, writer, contests, taken, self._freshness, backoff=backoff, replicas_unknown=replicas_unknown
        )
        self._overwritten = Overwritten(contests)
        self._ledger = DriftLedger()
        self._removals = Removals(store, writer, self._freshness)
        self._uids: dict[Key, str] = {}
        """The WebApp that each key was reconciled for last: whatever is remembered is about that one."""
        self._ending: set[Key] = set()
        """The WebApps whose namespace is being deleted: nothing can be created in it any more."""

    def look_again(self) -> None:
        """Try again what was refused: a resync has ended."""
        self._ending.clear()
        self._children.look_again()
        self._contests.look_again()
        self._reporter.look_again()
        self._removals.look_again()
        self._recorder.forget_old()

    def distrust(self) -> None:
        """Look at each WebApp before the next write for it: a watch has a gap, and that of WebApps may be behind."""
        self._freshness.distrust()

    def start_over(self) -> None:
        """Forget all WebApps: history ran backwards, and nothing that was remembered needs to be true."""
        self._freshness.start_over()
        memories = (self._reporter, self._children, self._contests, self._ledger, self._removals, self._overwritten)
        for memory in memories:
            memory.clear()
        self._uids.clear()
        self._ending.clear()

    def forget(self, key: Key) -> None:
        """Forget a WebApp that is gone, or that was reconciled while history started over."""
        self._reporter.forget(key)
        self._children.forget(key)
        self._removals.forget(key)
        self._freshness.forget(key)
        self._overwritten.forget(key)
        self._contests.forget(key)
        self._ledger.written(key)
        self._uids.pop(key, None)
        self._ending.discard(key)

    def _remember_only(self, webapp: WebApp, results: Sequence[Result]) -> None:
        """Forget what is remembered of children that the WebApp had and no longer wants."""
        key, children = Key(webapp.namespace, webapp.name), _children(results)
        self._children.retain(key, children)
        self._contests.retain(key, {*children, f"{WEBAPP.kind}/{webapp.name}"})

    async def reconcile(self, key: Key, *, failures: int) -> Outcome:
        """Reconcile a WebApp that has failed so many times in a row.

        Raises:
            RequestFailed: the status could not be written, or the WebApp is no longer as it was.
            HistoryReset: an answer was older than what it was sent for.
        """
        begun = self._contests.now()
        observed = self._store.webapp(key)
        if observed is None or observed.going:
            # No WebApp in the store never means delete, and what foreground deletion takes is not made anew.
            self.forget(key)
            return Outcome()
        if self._uids.get(key, observed.uid) != observed.uid:
            # The deletion and the creation of its namesake came in one: memory belongs to a uid.
            self.forget(key)
        self._uids[key] = observed.uid
        if key in self._ending:
            return Outcome()
        webapp = webapp_of(observed)
        unlisted = self._unlisted(key.namespace)
        if unlisted:
            # What can't be seen can't be compared: a child that is there would be created again.
            compared = [self._children.compare(webapp, manifest) for manifest in desired(webapp)]
            return await self._tell(key, observed, webapp, untouched(compared, unlisted), begun=begun)
        try:
            results = await self._bring_about(webapp, patient=failures < PATIENCE)
            self._remember_only(webapp, results)
            if not webapp.paused:
                results += await self._remove_unwanted(webapp, results, patient=failures < PATIENCE)
        except Refused as error:
            if error.namespace_terminating:
                log.info("the namespace is being deleted: nothing is tried until the next resync")
                self._ending.add(key)
                return Outcome()
            raise
        return await self._tell(key, observed, webapp, results, begun=begun)

    async def _bring_about(self, webapp: WebApp, *, patient: bool) -> list[Result]:
        results: list[Result] = []
        blocked: str | None = None
        for manifest in desired(webapp):
            if manifest["kind"] == DEPLOYMENT.kind and blocked is not None and not webapp.paused:
                found = self._store.get(DEPLOYMENT, Key(webapp.namespace, webapp.name))
                live = found if found is not None and found.is_child_of(webapp) else None
                child = Child(
                    manifest["kind"], manifest["metadata"]["name"], held_back(blocked, there=live is not None)
                )
                results.append(Result(child, live, looked=False))
            else:
                result = await self._children.ensure(webapp, manifest, patient=patient)
                results.append(result)
                if blocked is None and result.child.kind in _NEEDED_BY_PODS and not _is_usable(manifest, result):
                    blocked = f"{result.child.kind} {result.child.name}"
        return results

    async def _remove_unwanted(self, webapp: WebApp, results: Sequence[Result], *, patient: bool) -> list[Result]:
        rolled_out = any(
            result.child.kind == DEPLOYMENT.kind and result.child.health.level is Level.HEALTHY for result in results
        )
        return await self._removals.remove_unwanted(webapp, _children(results), rolled_out=rolled_out, patient=patient)

    def _explained(self, key: Key, result: Result, now: datetime) -> tuple[Result, float | None]:
        """Return a child with what its pods tell, if these are missing; and the seconds until they may tell more."""
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

    async def _tell(
        self, key: Key, observed: Projection, webapp: WebApp, children: Sequence[Result], *, begun: float
    ) -> Outcome:
        now = self._clock()
        told = [self._explained(key, result, now) for result in children]
        results = [result for result, _ in told]
        deployment = next((result.live for result in results if result.child.kind == DEPLOYMENT.kind), None)
        previous = observed.content.get("status", {})
        self._ledger.add(key, repairs(results))
        found = Observations(
            [result.child for result in results],
            None if deployment is None else deployment.content,
            held=conflicts(results),
            insecure=() if deployment is None else violations_of(deployment),
            repairs=self._ledger.waiting(key),
        )
        wanted = status(webapp, found, previous, now.strftime("%Y-%m-%dT%H:%M:%SZ"))
        report = Report()
        try:
            if not self._overwritten.is_left_alone(key, observed):
                report = await self._reporter.report(key, observed, wanted, _deployed(webapp, results))
            if report.written or wanted.get("drift") == previous.get("drift"):
                self._ledger.written(key)
        finally:
            # Told even if the status can't be: the next reconcile finds nothing that it could tell.
            fought = self._overwritten.written(key, observed, self._store.webapp(key)) if report.written else []
            for occurrence in (*news(webapp, results, previous, wanted, report.undeclared), *fought):
                await self._recorder.record(observed, occurrence)
        failed = next((result.failed for result in results if result.retry), None)
        # What waited for an object to be adopted need not wait for news of it: there may be none.
        adopted = any(result.adopted for result in results)
        return Outcome(
            failed=failed,
            again=report.again or adopted,
            after=_sooner(
                report.after,
                self._contests.again(key, begun),
                self._taken.again(key, [(each.child.kind, each.child.name) for each in results if each.looked]),
                *(delay for _, delay in told),
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
