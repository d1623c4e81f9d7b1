"""Reconcile one child: decide, execute, until nothing is left to do or something must be waited for."""

import logging
from collections.abc import Callable
from dataclasses import replace

from coxswain.kernel.api.errors import OutOfDate, RequestFailed, Sort
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.objects.kinds import Kind, kind_of
from coxswain.kernel.objects.projection import Projection, comparable
from coxswain.kernel.reconciling.actions import (
    Action,
    Apply,
    Create,
    Ends,
    KeepReplicas,
    Nothing,
    Release,
    TakeOver,
    Wait,
)
from coxswain.kernel.reconciling.adoption import adoptable_when, foreign, is_watched
from coxswain.kernel.reconciling.conflict_backoff import ConflictBackoff
from coxswain.kernel.reconciling.decide import Target, decide, plan_for
from coxswain.kernel.reconciling.execute import Executor, Progress
from coxswain.kernel.reconciling.finding import PATIENCE, concerns_all, failure, healthy, listed, stuck, unlike
from coxswain.kernel.reconciling.last_applied import LastApplied
from coxswain.kernel.reconciling.memory import ChildMemory, Memory
from coxswain.kernel.reconciling.result import Result
from coxswain.kernel.reconciling.scaling import scaled
from coxswain.settings import StatusSettings
from coxswain.webapp.health import MISSING, Child, Health, adopted_later, differs, retried
from coxswain.webapp.immutable import obstacle
from coxswain.webapp.spec import Manifest, WebApp

log = logging.getLogger(__name__)

_ACTIONS = 10
"""Actions in one reconcile of a child at most; an adoption takes five."""


class Children:
    """Reconciles single children."""

    def __init__(
        self,
        store: Store,
        executor: Executor,
        settings: StatusSettings,
        *,
        clock: Callable[[], float],
        replicas_unknown: Callable[[str], bool],
    ) -> None:
        """Take the backoff of conflicts from `settings`; `clock` gives monotonic seconds."""
        self._store = store
        self._executor = executor
        self._settings = settings
        self._clock = clock
        self._replicas_unknown = replicas_unknown

    async def reconcile(self, parent: WebApp, manifest: Manifest, memory: Memory, *, patient: bool) -> Result:
        """Bring one child to its desired state, with the fewest requests.

        A failed request concerns this child alone: the result reports it. If `patient`, transient failures are not
        reported yet; neither are the first three in a row of this child.

        Raises:
            OutOfDate: the WebApp has changed.
            Ending: the operator is ending.
            Refused: the namespace is terminating.
            HistoryReset: an answer was older than the object that the request was sent for.
        """
        if parent.paused:
            return self.compare(parent, manifest, memory)
        child = memory.child(child_key(manifest))
        target = self._target(parent, manifest, child)
        if child.backoff is not None and child.backoff.ends(self._settings) > target.now:
            after = _sooner(child.backoff.ends(self._settings) - target.now, child, target.now)
            return Result(_child(manifest, child.backoff.health), _ours(target), after=after)
        try:
            result = await self._act(parent, manifest, memory, child)
        except RequestFailed as error:
            if concerns_all(error):
                if error.sort is Sort.CONFLICT:  # a storm of writers keeps the WebApp out of date as well
                    health = retried(there=target.live is not None)
                    child.backoff = ConflictBackoff.after(child.backoff, health, self._clock())
                raise
            return self._failed(self._target(parent, manifest, child), error, patient=patient)
        child.failures, child.backoff = 0, None
        return result

    def compare(self, parent: WebApp, manifest: Manifest, memory: Memory) -> Result:
        """Compare a child with its manifest without a write: the WebApp is paused, or not everything can be listed."""
        target = self._target(parent, manifest, memory.child(child_key(manifest)))
        after = _sooner(None, target.memory, target.now)
        live = target.live if target.memory.name_holder is None else None
        if live is None:
            return Result(_child(manifest, MISSING), after=after)
        health = foreign(parent, live)
        if health is None and not target.is_ours:
            health = adopted_later("spec.paused is no longer true")
        if health is not None:
            return Result(_child(manifest, health), after=after)
        planned = plan_for(target, live)
        blocked = obstacle(comparable(target.manifest), live.content)
        fields = listed(planned.differences) or (blocked.field if blocked else "")
        health = differs(fields) if fields else healthy(live, planned, ())
        return Result(_child(manifest, health), live, left=planned.left, after=after)

    async def _act(self, parent: WebApp, manifest: Manifest, memory: Memory, child: ChildMemory) -> Result:
        progress, prepared = Progress(), frozenset[type[Action]]()
        for _ in range(_ACTIONS):
            target = replace(self._target(parent, manifest, child), prepared=prepared)
            action = decide(target)
            prepared |= {type(action)}
            if isinstance(action, Create) and progress.created:
                # Someone has deleted it meanwhile, and its DELETED event has requeued the WebApp.
                action = Wait(MISSING, Ends.CHILD_EVENT)
            if isinstance(action, Nothing | Wait):
                return self._settled(target, action, progress)
            if isinstance(action, Release | KeepReplicas | TakeOver | Apply):
                child.deletion = None  # a DELETE without an answer is no longer needed
            await self._executor.execute(action, target, memory, progress)
        raise OutOfDate(f"{child_key(manifest)} changes as fast as it is written")

    def _settled(self, target: Target, action: Nothing | Wait, progress: Progress) -> Result:
        result = Result(
            Child(*_named(target.manifest), MISSING),
            _ours(target),
            created=progress.created,
            adopted=progress.adopted,
            replaced=progress.replaced,
            corrections=progress.corrections,
        )
        if isinstance(action, Wait):
            after = _sooner(None, target.memory, target.now, looked=True)
            return replace(result, child=_child(target.manifest, action.health), left=action.left, after=after)
        planned, memory = action.plan, target.memory
        memory.deletion = None
        memory.last_applied = LastApplied.of(target.parent, target.manifest, unlike(planned))
        health = healthy(action.live, planned, planned.differences)
        if action.obstacle is not None and not health.stalled:
            health = stuck(target.manifest, action.obstacle)
        after = _sooner(None, memory, target.now, looked=True)
        return replace(result, child=_child(target.manifest, health), left=planned.left, after=after)

    def _target(self, parent: WebApp, manifest: Manifest, child: ChildMemory) -> Target:
        kind, place = _place(manifest)
        live = self._watched(parent, kind, place, child)
        if live is None and child.name_holder is not None:
            live = child.name_holder.observed
        unknown = self._replicas_unknown(parent.namespace)
        wanted = scaled(manifest, parent, live, self._store, unknown=unknown)
        child.wars.forget_settled(wanted)
        waits_for = adoptable_when(parent, kind, live, self._store)
        return Target(parent, wanted, live, child, waits_for, self._clock())

    def _watched(self, parent: WebApp, kind: Kind, place: Key, child: ChildMemory) -> Projection | None:
        """Return the object in the store that has a child's name.

        No event reports the end of a foreign object that has lost our label, so it leaves the store and is read
        instead.
        """
        found = self._store.get(kind, place)
        if found is not None and not is_watched(parent, found):
            self._store.forget(kind, place, found.version + 1)
            return None
        if found is not None:
            child.name_holder = None
        return found

    def _failed(self, target: Target, error: RequestFailed, *, patient: bool) -> Result:
        child, live = target.memory, _ours(target)
        child.failures += 1
        health = failure(error, there=live is not None, patient=patient or child.failures <= PATIENCE)
        if error.sort is Sort.CONFLICT:
            child.backoff = ConflictBackoff.after(child.backoff, health, self._clock())
        expected = health.retried and error.sort is Sort.CONFLICT
        level = logging.DEBUG if expected else logging.WARNING
        log.log(level, "%s %s cannot be written: %s", *_named(target.manifest), error)
        after = _sooner(None, child, target.now)
        return Result(_child(target.manifest, health), live, failed=error, after=after)


def child_key(manifest: Manifest) -> str:
    """Return the key of a child in the memory of its WebApp."""
    return "/".join(_named(manifest))


def _sooner(after: float | None, child: ChildMemory, now: float, *, looked: bool = False) -> float | None:
    """Return the shorter of a delay and the seconds until the child's name is read again.

    An overdue read counts only if it was `looked` whether one is due: otherwise it would be due after each reconcile.
    """
    if child.name_holder is None:
        return after
    left = child.name_holder.until - now
    if left <= 0 and not looked:
        return after
    return max(0.0, left) if after is None else min(after, max(0.0, left))


def _ours(target: Target) -> Projection | None:
    return target.live if target.is_ours else None


def _child(manifest: Manifest, health: Health) -> Child:
    return Child(*_named(manifest), health)


def _named(manifest: Manifest) -> tuple[str, str]:
    return manifest["kind"], manifest["metadata"]["name"]


def _place(manifest: Manifest) -> tuple[Kind, Key]:
    return kind_of(manifest), Key(manifest["metadata"]["namespace"], manifest["metadata"]["name"])
