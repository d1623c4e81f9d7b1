"""Decide the next action on one child: pure, without clock, network and side effects."""

from dataclasses import dataclass, replace
from typing import Generic

from coxswain.kernel.conflicts.immutable import Obstacle, Remedy
from coxswain.kernel.conflicts.own_annotations import without_notes
from coxswain.kernel.conflicts.write_plan import Plan, plan
from coxswain.kernel.objects.commands import Commands
from coxswain.kernel.objects.edit import value_at
from coxswain.kernel.objects.field_paths import Path, owns
from coxswain.kernel.objects.manifests import Manifest, kind_and_name
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child.actions import (
    Action,
    Apply,
    Create,
    Ends,
    Keep,
    Nothing,
    Read,
    Release,
    Replace,
    TakeOwnership,
    Wait,
)
from coxswain.kernel.reconciling.child.adoption import has_former_managers, name_conflict
from coxswain.kernel.reconciling.child.ownership import ownership
from coxswain.kernel.reconciling.child.plan_health import absence, held_fields, stuck
from coxswain.kernel.reconciling.memory.attempts import Attempt
from coxswain.kernel.reconciling.memory.last_applied import LastApplied
from coxswain.kernel.reconciling.memory.memory import ChildMemory
from coxswain.kernel.status.health import adopted_later, halted, left_absent, replaced, terminating, with_finalizers
from coxswain.kernel.workload import ChildType, Desired, P, Workload


@dataclass(frozen=True)
class Target(Generic[P]):
    """One child: desired, live and remembered."""

    workload: Workload[P]
    child_type: ChildType[P]
    parent: P
    desired: Desired
    live: Projection | None
    """The object with its name: from the cache, or else as last read."""
    memory: ChildMemory
    adoptable_when: str | None
    """The precondition of an adoption; None if the live object may be adopted now."""
    now: float
    """Monotonic seconds."""
    prepared: frozenset[type[Action]] = frozenset()
    """Preparations of the next apply: each is executed once, even if the server ignores it."""

    @property
    def manifest(self) -> Manifest:
        """The desired state."""
        return self.desired.manifest

    @property
    def intent(self) -> Manifest:
        """The desired state without notes: another one is a new intent."""
        return without_notes(self.manifest, self.child_type.notes)

    @property
    def is_ours(self) -> bool:
        """Whether the live object is a child of the parent."""
        return self.live is not None and self.live.is_child_of(self.parent)

    @property
    def next_event(self) -> Ends:
        """The source of the next change of the live object: the watch, or the next read."""
        return Ends.CHILD_EVENT if self.memory.unwatched.observed is None else Ends.NEXT_READ

    @property
    def commands(self) -> Commands:
        """The commands about the parent, for messages."""
        projector = self.workload.projector
        return Commands.of(self.parent, projector.kinds.parent, projector.manager)

    @property
    def last_applied(self) -> LastApplied | None:
        """The last applied state; None if that was another manifest."""
        last = self.memory.last_applied
        return last if last is not None and last.is_of(self.manifest) else None


def decide(target: Target[P]) -> Action:
    """Return the next action on a child."""
    if target.memory.unwatched.is_due(target.parent.generation, target.now):
        return Read()
    if target.live is None:
        return _decide_absent(target)
    blocked = _blocked(target, target.live)
    if blocked is not None:
        return blocked
    planned = plan_for(target, target.live)
    if planned.halted:
        health = halted(held_fields(planned.halted), target.commands, target.parent.policies.unknown())
        return Wait(health, target.next_event, (*planned.halted, *planned.left))
    obstacle = obstacle_of(target, target.live)
    if obstacle is not None and obstacle.is_left_alone([e.difference.text for e in planned.left if e.contested]):
        obstacle = None
    if obstacle is not None and not obstacle.others_mutable:
        return _decide_obstacle(target, target.live, planned, obstacle)
    return _decide_write(target, target.live, planned, obstacle)


def plan_for(target: Target[P], live: Projection) -> Plan:
    """Return the write plan for a live object."""
    return plan(
        target.child_type.in_place(target.manifest, live.content),
        live,
        ownership(target.workload, target.child_type, target.parent, target.desired),
        target.memory.wars.suspended(target.manifest, target.now),
        adopting=not live.is_child_of(target.parent),
    )


def obstacle_of(target: Target[P], live: Projection) -> Obstacle | None:
    """Return the immutable field of a live object with another desired value."""
    manifest = target.child_type.comparable(target.manifest)
    obstacle = target.child_type.obstacle(manifest, live.content, not target.is_ours)
    if obstacle is None or not target.desired.replaceable:
        return obstacle
    if obstacle.field in target.memory.wars.suspended(target.manifest, target.now):
        # Replaced again and again: a webhook may set the field.
        return obstacle
    return replace(obstacle, remedy=Remedy.REPLACE, others_mutable=False)


def _decide_absent(target: Target[P]) -> Action:
    memory, manifest, attempt = target.memory, target.manifest, target.memory.attempt
    if attempt is not None and attempt.refused is not None and attempt.matches(manifest, None, target.child_type.notes):
        return Wait(attempt.refused, Ends.CHANGE_OR_RESYNC)
    delayed_until = memory.deletions.delayed_until(target.intent, target.now)
    if delayed_until is not None:
        events = target.commands.events_about(*kind_and_name(manifest))
        return Wait(left_absent(events), delayed_until, (absence(manifest),))
    if target.desired.withheld is not None:
        return Wait(target.desired.withheld, Ends.DEPENDENCY_EVENT)
    return Create(manifest, vanished=memory.deleted_by_others)


def _blocked(target: Target[P], live: Projection) -> Wait | None:
    """Return the wait for an object in a state without writes; None if it may be written."""
    health = name_conflict(target.parent, target.workload.projector.kinds.parent, live, target.commands)
    if health is not None:
        return Wait(health, target.next_event)
    deletion = target.memory.deletion
    if deletion is not None and deletion.is_in_progress(live):
        return Wait(with_finalizers(replaced(deletion.field), live, target.commands), target.next_event)
    if live.terminating:
        return Wait(terminating(live, target.commands), target.next_event)
    if not target.is_ours and target.adoptable_when is not None:
        return Wait(adopted_later(target.adoptable_when), Ends.DEPENDENCY_EVENT)
    frozen = target.desired.frozen
    return None if frozen is None else Wait(frozen, target.next_event)


def _decide_obstacle(target: Target[P], live: Projection, planned: Plan, obstacle: Obstacle) -> Action:
    if obstacle.remedy is Remedy.BY_HAND or any(held.differs for held in planned.left):
        return Wait(stuck(target.manifest, obstacle), target.next_event, planned.left)
    attempt = _same_attempt(target, live, planned, deleting=True)
    if attempt is not None and attempt.refused is not None:
        return Wait(attempt.refused, Ends.CHANGE_OR_RESYNC, planned.left)
    return Replace(live, planned, obstacle)


def _decide_write(target: Target[P], live: Projection, planned: Plan, obstacle: Obstacle | None) -> Action:
    attempt, has_former = _same_attempt(target, live, planned), has_former_managers(target.parent, live)
    if attempt is not None and attempt.refused is not None and (planned.differences or has_former):
        return Wait(attempt.refused, Ends.CHANGE_OR_RESYNC, planned.left)
    if Release not in target.prepared and has_former:
        return Release(live, planned)
    if not planned.differences or attempt is not None:
        return Nothing(live, planned, obstacle)
    path = _lost(target, planned, live)
    if Keep not in target.prepared and path is not None:
        return Keep(live, planned, path, value_at(live.content, path))
    if TakeOwnership not in target.prepared and planned.rivals:
        return TakeOwnership(live, planned)
    return Apply(live, planned)


def _same_attempt(target: Target[P], live: Projection, planned: Plan, *, deleting: bool = False) -> Attempt | None:
    """Return the remembered write without effect if this is the same one."""
    attempt, notes = target.memory.attempt, target.child_type.notes
    same = attempt is not None and attempt.matches(planned.manifest, live, notes, deleting=deleting)
    return attempt if same else None


def _lost(target: Target[P], planned: Plan, live: Projection) -> Path | None:
    """Return a field that an apply would remove although its live value should stay: nobody else owns it."""
    for path in target.child_type.kept:
        ours = owns(live.owned or {}, path)
        if ours and value_at(planned.manifest, path) is None and not any(owns(e.fields, path) for e in live.others):
            return path
    return None
