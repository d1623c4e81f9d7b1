"""Reconcile one child: decide and execute until the answer is Nothing or Wait."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Generic

from coxswain.kernel.api.errors import ErrorClass, OutOfDate, RequestFailed
from coxswain.kernel.conflicts.diff import Difference, lists_without_keys
from coxswain.kernel.conflicts.write_plan import HeldField, Plan
from coxswain.kernel.objects.field_paths import text
from coxswain.kernel.objects.manifests import child_key, kind_and_name
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child.actions import (
    Action,
    Apply,
    Create,
    Ends,
    Keep,
    Nothing,
    Release,
    TakeOwnership,
    Wait,
)
from coxswain.kernel.reconciling.child.adoption import name_conflict
from coxswain.kernel.reconciling.child.decide import Target, decide, obstacle_of, plan_for
from coxswain.kernel.reconciling.child.effects import confirm
from coxswain.kernel.reconciling.child.execute import Executor
from coxswain.kernel.reconciling.child.failures import PATIENCE, concerns_all, failure
from coxswain.kernel.reconciling.child.name_reader import NameReader
from coxswain.kernel.reconciling.child.plan_health import field_paths, planned_health, stuck
from coxswain.kernel.reconciling.child.result import Result, sooner
from coxswain.kernel.reconciling.child.world import CacheView
from coxswain.kernel.reconciling.memory.backoff import Backoff
from coxswain.kernel.reconciling.memory.last_applied import LastApplied
from coxswain.kernel.reconciling.memory.unwatched import NOTHING_UNWATCHED
from coxswain.kernel.reconciling.memory.writes import NOTHING_WRITTEN
from coxswain.kernel.status.health import (
    MISSING,
    Child,
    Health,
    adopted_later,
    differs,
    held_back,
    retried,
    terminating,
)
from coxswain.kernel.workload import ChildType, Desired, P, Workload
from coxswain.settings import StatusSettings

log = logging.getLogger(__name__)

_ACTIONS = 10
"""Actions in one reconcile of a child at most; an adoption takes five."""


class ChildReconciler(Generic[P]):
    """Reconciles single children."""

    def __init__(
        self,
        workload: Workload[P],
        executor: Executor,
        reader: NameReader,
        settings: StatusSettings,
        *,
        clock: Callable[[], float],
    ) -> None:
        """Take the backoff after failures from `settings`; `clock` gives monotonic seconds."""
        self._workload = workload
        self._executor = executor
        self._reader = reader
        self._settings = settings
        self._clock = clock

    async def reconcile(
        self, child_type: ChildType[P], desired: Desired, parent: P, world: CacheView, *, patient: bool
    ) -> tuple[Desired, Result]:
        """Bring one child to its desired state.

        A failed request concerns this child alone: the result reports it, and the writes before it. If `patient`,
        transient failures are not reported yet; neither are the first three in a row of this child.

        Returns:
            The last desired state and the result.

        Raises:
            OutOfDate: the parent has changed.
            NotSent: the operator is shutting down or does not lead.
            Refused: the namespace is terminating.
            HistoryReset: an answer was older than the object of the request.
        """
        if parent.paused:
            return desired, await self.compare(child_type, desired, parent, world)
        target = self._refreshed(child_type, desired, parent, world)
        memory = target.memory
        backoff = memory.backoff
        if backoff is not None and backoff.delays(target.intent, self._settings, target.now):
            after, left = memory.unwatched.next_read(target.now), backoff.ends(self._settings) - target.now
            child = _child(target, backoff.health)
            return target.desired, Result(child, _ours(target), left=_left(target), after=after, backoff=left)
        memory.writes = NOTHING_WRITTEN
        try:
            result = await self._act(target, world)
        except RequestFailed as error:
            if concerns_all(error):
                if error.error_class is ErrorClass.CONFLICT:  # a storm of writers keeps the parent out of date as well
                    health = retried(there=target.live is not None)
                    memory.backoff = Backoff.after(memory.backoff, error, health, self._clock())
                raise
            result = self._failed(self._again(target, world), error, patient=patient)
        else:
            memory.failures, memory.backoff = 0, None
        return target.desired, replace(result, writes=memory.writes)

    async def compare(self, child_type: ChildType[P], desired: Desired, parent: P, world: CacheView) -> Result:
        """Compare a child with its desired state without a write: it is paused, or not everything can be listed.

        A GET is no write: an object that no watch reports is read again.

        Raises:
            NotSent: the operator is shutting down or does not lead.
            HistoryReset: an answer was older than a removal of the object.
        """
        target = self._refreshed(child_type, desired, parent, world)
        if await self._reader.read_when_due(target):
            target = self._refreshed(child_type, desired, parent, world)
        after, live = target.memory.unwatched.next_read(target.now), target.live
        if live is None:
            return Result(_child(target, MISSING), after=after)
        health = name_conflict(parent, self._workload.projector.kinds.parent, live, target.commands)
        if health is None and live.terminating:
            health = terminating(live, target.commands, paused=parent.paused)
        elif health is None and not target.is_ours:
            health = adopted_later("spec.paused is no longer true")
        if health is not None:
            return Result(_child(target, health), _ours(target), after=after)
        planned, blocked, state = plan_for(target, live), obstacle_of(target, live), child_type.health(live)
        fields = field_paths(_comparable(target, planned)) or (blocked.field if blocked else "")
        health = differs(fields, target.commands) if fields else planned_health(state, planned, (), target.commands)
        return Result(_child(target, health), live, left=planned.left, after=after)

    def hold_back(
        self, child_type: ChildType[P], desired: Desired, parent: P, world: CacheView, *, needed: str
    ) -> Result:
        """Return the result of a child that is not written, because it needs the unusable child `needed`."""
        target = self._refreshed(child_type, desired, parent, world)
        live = _ours(target)
        return Result(_child(target, held_back(needed, there=live is not None)), live, left=_left(target))

    async def _act(self, target: Target[P], world: CacheView) -> Result:
        prepared = frozenset[type[Action]]()
        for _ in range(_ACTIONS):
            confirm(target, self._clock())
            # Not before: an unanswered creation that `confirm` has counted may be the first one.
            target.memory.existed = target.memory.existed or target.is_ours
            action = decide(target)
            if isinstance(action, Create) and target.memory.writes.created:
                # Someone has deleted it meanwhile, and its DELETED event has requeued the parent.
                action = Wait(MISSING, Ends.CHILD_EVENT)
            if isinstance(action, Nothing | Wait):
                return self._settled(target, action)
            if isinstance(action, Release | Keep | TakeOwnership | Apply):
                target.memory.deletion = None  # a DELETE without an answer is no longer needed
            await self._executor.execute(action, target, world.memory)
            # After an apply another manager may have written again, so the next one needs its own preparations.
            prepared = frozenset() if isinstance(action, Apply) else prepared | {type(action)}
            target = replace(self._again(target, world), prepared=prepared)
        raise OutOfDate(f"{child_key(*kind_and_name(target.manifest))} changes as fast as it is written")

    def _settled(self, target: Target[P], action: Nothing | Wait) -> Result:
        result = Result(_child(target, MISSING), _ours(target), after=target.memory.unwatched.next_read(target.now))
        if isinstance(action, Wait):
            end = action.until - self._clock() if isinstance(action.until, float) else None
            child = _child(target, action.health)
            return replace(result, child=child, left=action.left, after=sooner(result.after, end))
        planned, memory = action.plan, target.memory
        memory.deletion = memory.planned = None
        memory.last_applied = LastApplied.of(target.manifest, planned, action.live)
        state = target.child_type.health(action.live)
        health = planned_health(state, planned, _comparable(target, planned), target.commands)
        if action.obstacle is not None and not health.stalled:
            health = stuck(target.manifest, action.obstacle)
        return replace(result, child=_child(target, health), left=planned.left)

    def _refreshed(self, child_type: ChildType[P], desired: Desired, parent: P, world: CacheView) -> Target[P]:
        """Forget what the cache and the desired state have outdated, and return the target.

        Both may change during each request, so this is needed after each.
        """
        kind, name = child_type.kind, desired.manifest["metadata"]["name"]
        memory = world.memory.child(child_key(kind.kind, name))
        if world.watched(kind, name) is not None:
            memory.unwatched = NOTHING_UNWATCHED
        memory.wars.forget_settled(desired.manifest)
        return self._target(child_type, desired, parent, world)

    def _target(self, child_type: ChildType[P], desired: Desired, parent: P, world: CacheView) -> Target[P]:
        kind, name = child_type.kind, desired.manifest["metadata"]["name"]
        memory, live = world.memory.child(child_key(kind.kind, name)), world.live(kind, name)
        waits_for = None if live is None or live.is_child_of(parent) else child_type.adoptable_when(parent, live, world)
        return Target(self._workload, child_type, parent, desired, live, memory, waits_for, self._clock())

    def _again(self, target: Target[P], world: CacheView) -> Target[P]:
        """Return the target after an action. Its name depends on the parent alone, so it stays."""
        child = kind_and_name(target.manifest)
        for desired in target.child_type.all_desired(target.parent, world):
            if kind_and_name(desired.manifest) == child:
                return self._refreshed(target.child_type, desired, target.parent, world)
        return target

    def _failed(self, target: Target[P], error: RequestFailed, *, patient: bool) -> Result:
        memory, live = target.memory, _ours(target)
        memory.failures += 1
        health = failure(error, target.commands, there=live is not None, patient=patient or memory.failures <= PATIENCE)
        if error.error_class is not ErrorClass.TERMINAL:
            memory.backoff = Backoff.after(memory.backoff, error, health, self._clock(), target.intent)
        expected = health.retried and error.error_class is ErrorClass.CONFLICT
        level = logging.DEBUG if expected else logging.WARNING
        log.log(level, "%s %s cannot be written: %s", *kind_and_name(target.manifest), error)
        child = _child(target, health)
        return Result(child, live, left=_left(target), failed=error, after=memory.unwatched.next_read(target.now))


def _comparable(target: Target[P], planned: Plan) -> list[Difference]:
    """Return the differences outside of lists whose desired items lack a merge key: nobody else has caused those."""
    lists = lists_without_keys(planned.differences)
    for path, keys in lists.items():
        message = "%s %s: the workload must set the merge key %s in each item of %s, or the list is never equal"
        log.error(message, *kind_and_name(target.manifest), ", ".join(keys), text(path))
    return [each for each in planned.differences if not any(each.path[: len(path)] == path for path in lists)]


def _left(target: Target[P]) -> tuple[HeldField, ...]:
    """Return the fields that other managers own, of a child that is not written now."""
    live = _ours(target)
    if live is None or live.terminating:
        return ()
    planned = plan_for(target, live)
    return (*planned.halted, *planned.left)


def _ours(target: Target[P]) -> Projection | None:
    return target.live if target.is_ours else None


def _child(target: Target[P], health: Health) -> Child:
    return Child(*kind_and_name(target.manifest), health)
