"""Decide what to do about one child: pure, without clock, network and side effects."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from coxswain.kernel.conflicts.write_plan import Plan, plan
from coxswain.kernel.objects.projection import Projection, comparable
from coxswain.kernel.reconciling.actions import (
    Action,
    Apply,
    Create,
    Ends,
    KeepReplicas,
    Nothing,
    Read,
    Release,
    Replace,
    TakeOver,
    Wait,
)
from coxswain.kernel.reconciling.adoption import foreign, to_release
from coxswain.kernel.reconciling.finding import absence, shown, stuck
from coxswain.kernel.reconciling.memory import ChildMemory
from coxswain.kernel.reconciling.replacement import successor
from coxswain.kernel.reconciling.scaling import comes_back, count_to_keep
from coxswain.webapp.health import TERMINATING, adopted_later, halted, left_absent, replaced
from coxswain.webapp.immutable import Obstacle, Remedy, in_place, obstacle
from coxswain.webapp.policy import Policy, enforces_all, policy_of, unknown_policies
from coxswain.webapp.spec import Manifest, WebApp


@dataclass(frozen=True)
class Target:
    """One child: desired, live and remembered."""

    parent: WebApp
    manifest: Manifest
    """The desired state."""
    live: Projection | None
    """The object that has its name: from the store, or else as last read."""
    memory: ChildMemory
    adoptable_when: str | None
    """What an object must wait for before it may be adopted; None if it may be adopted now."""
    now: float
    """Monotonic seconds."""
    prepared: frozenset[type[Action]] = frozenset()
    """Actions of this reconcile that prepared an apply: each is executed once, even if the server ignores it."""

    @property
    def is_ours(self) -> bool:
        """Whether the live object is a child of the WebApp."""
        return self.live is not None and self.live.is_child_of(self.parent)

    @property
    def next_event(self) -> Ends | float:
        """What reports the next change of the live object: the watch, or the next read."""
        holder = self.memory.name_holder
        return Ends.CHILD_EVENT if holder is None else holder.until


def decide(target: Target) -> Action:
    """Return what to do about a child now."""
    holder = target.memory.name_holder
    if holder is not None and not holder.is_current(target.parent.generation, target.now):
        return Read()
    if target.live is None:
        return _decide_absent(target)
    blocked = _blocked(target, target.live)
    if blocked is not None:
        return blocked
    planned = plan_for(target, target.live)
    if planned.halted:
        health = halted(shown(planned.halted), unknown_policies(target.parent))
        return Wait(health, target.next_event, (*planned.halted, *planned.left))
    hindrance = obstacle(comparable(target.manifest), target.live.content, adopting=not target.is_ours)
    if hindrance is not None and hindrance.is_left_alone([e.difference.text for e in planned.left if e.contested]):
        hindrance = None
    if hindrance is not None and not hindrance.alone:
        return _decide_obstacle(target, target.live, planned, hindrance)
    return _decide_write(target, target.live, planned, hindrance)


def plan_for(target: Target, live: Projection) -> Plan:
    """Return the write plan for a live object."""

    def policy(field: str) -> Policy:
        ours = comes_back(field, target.manifest, live)
        return Policy.ENFORCE if ours else policy_of(target.parent, target.manifest["kind"], field)

    return plan(
        in_place(target.manifest, live.content),
        live,
        None if enforces_all(target.parent) else policy,
        target.memory.wars.resting(target.manifest, target.now),
        adopting=not live.is_child_of(target.parent),
    )


def had_before(target: Target) -> Callable[[str], bool]:
    """Return a predicate: whether the child had the desired value of a field before."""
    last = target.memory.last_applied
    return (lambda _: False) if last is None else partial(last.had, target.parent, target.manifest)


def _decide_absent(target: Target) -> Action:
    memory, manifest = target.memory, target.manifest
    if memory.attempt is not None and memory.attempt.refused is not None and memory.attempt.matches(manifest, None):
        return Wait(memory.attempt.refused, Ends.CHANGE_OR_RESYNC)
    if memory.wars.is_left_absent(manifest, target.now):
        return Wait(left_absent(), memory.wars.absence_ends(), (absence(manifest),))
    vanished = memory.last_applied is not None and memory.deletion is None
    return Create(successor(manifest, memory.deletion), vanished)


def _blocked(target: Target, live: Projection) -> Wait | None:
    """Return the wait for an object that must not be written now, whatever its content."""
    health = foreign(target.parent, live)
    if health is not None:
        return Wait(health, target.next_event)
    deletion = target.memory.deletion
    if deletion is not None and deletion.is_in_progress(live):
        return Wait(replaced(deletion.field), target.next_event)
    if live.going:
        return Wait(TERMINATING, target.next_event)
    if not target.is_ours and target.adoptable_when is not None:
        return Wait(adopted_later(target.adoptable_when), Ends.DEPENDENCY_EVENT)
    return None


def _decide_obstacle(target: Target, live: Projection, planned: Plan, hindrance: Obstacle) -> Action:
    if hindrance.remedy is Remedy.BY_HAND or any(held.differs for held in planned.left):
        return Wait(stuck(target.manifest, hindrance), target.next_event, planned.left)
    return Replace(live, planned, hindrance)


def _decide_write(target: Target, live: Projection, planned: Plan, hindrance: Obstacle | None) -> Action:
    attempt = target.memory.attempt if planned.differences else None
    if attempt is not None and not attempt.matches(planned.manifest, live):
        attempt = None
    if attempt is not None and attempt.refused is not None:
        return Wait(attempt.refused, Ends.CHANGE_OR_RESYNC, planned.left)
    if Release not in target.prepared and to_release(target.parent, live):
        return Release(live, planned)
    if not planned.differences or attempt is not None:
        return Nothing(live, planned, hindrance)
    count = count_to_keep(planned.manifest, live)
    if KeepReplicas not in target.prepared and count is not None:
        return KeepReplicas(live, planned, count)
    if TakeOver not in target.prepared and planned.rivals:
        return TakeOver(live, planned)
    return Apply(live, planned)
