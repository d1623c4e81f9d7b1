"""What the operator would do with one child: its own code, without the memory of a process. Pure.

It follows `coxswain.kernel.reconciling.child.decide`, which needs the memory and so the network. A test compares both.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from coxswain.kernel.conflicts.diff import Difference, managers
from coxswain.kernel.conflicts.immutable import Obstacle, Remedy
from coxswain.kernel.conflicts.write_plan import HeldField, Plan, plan
from coxswain.kernel.objects.commands import Commands
from coxswain.kernel.objects.edit import value_at
from coxswain.kernel.objects.field_paths import Fields, at, minus, owns
from coxswain.kernel.objects.manifests import Manifest, child_key
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child.adoption import former_managers, has_former_managers, name_conflict
from coxswain.kernel.reconciling.child.ownership import ownership
from coxswain.kernel.reconciling.child.plan_health import held_fields, stuck
from coxswain.kernel.status.health import Health, Level, adopted_later, halted, not_served, terminating
from coxswain.kernel.workload import ChildType, Desired, Removal
from coxswain.webapp.identity import MANAGED_BY
from coxswain.webapp.kinds import DEPLOYMENT, WEBAPP
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from kubectl_coxswain.kubectl import Json
from kubectl_coxswain.snapshot import Snapshot

TEMPLATE = ("f:spec", "f:template")


@dataclass(frozen=True)
class ChildPlan:
    """The next step of the operator for one child."""

    child_type: ChildType[WebApp]
    name: str
    action: str
    """Create, Change, Adopt, Replace, Remove, Blocked, Unknown or None."""
    message: str = ""
    manifest: Manifest | None = None
    """The manifest to apply."""
    live: Projection | None = None
    planned: Plan | None = None
    changes: tuple[Difference, ...] = ()
    """The differences of values, without those of owners alone."""
    health: Health | None = None
    """Why it is blocked."""
    obstacle: Obstacle | None = None
    prepared: bool = True
    """Whether an apply alone is the whole change: else fields of others are reassigned or released before it."""

    @property
    def object(self) -> str:
        """Kind and name."""
        return child_key(self.child_type.kind.kind, self.name)

    def blocked(self, health: Health) -> "ChildPlan":
        """Return the plan of a child that is not written; `health` tells why."""
        return replace(self, action="Blocked", message=health.message, health=health)

    @property
    def changes_pods(self) -> list[Difference]:
        """The differences in the pod template of the Deployment."""
        if self.child_type.kind != DEPLOYMENT:
            return []
        return [each for each in self.changes if each.path[:2] == TEMPLATE or each.path == TEMPLATE[:1]]


def running(webapp: WebApp, world: Snapshot) -> WebApp:
    """Return a WebApp as the operator runs it: after a rollback an earlier revision, by its render version."""
    for child_type in WORKLOAD.children:
        if child_type.history is not None:
            recalled = child_type.history.recalled(webapp, world)
            content = None if recalled is None else world.manifests[recalled.kind, recalled.name]
            webapp = child_type.history.running(webapp, world, content)
    return webapp


def child_plans(webapp: WebApp, world: Snapshot) -> list[ChildPlan]:
    """Return the plans of all children but the records, in the order of their writes; the removed ones last.

    Args:
        webapp: the WebApp as it runs.
        world: the objects around it.

    Raises:
        Problem: an object cannot be read.
    """
    plans = [
        plan_child(child_type, desired, webapp, world)
        for child_type in WORKLOAD.children
        if child_type.history is None
        for desired in child_type.all_desired(webapp, world)
    ]
    return [*plans, *_removed(webapp, world, {each.object for each in plans})]


def plan_child(child_type: ChildType[WebApp], desired: Desired, webapp: WebApp, world: Snapshot) -> ChildPlan:
    """Return the plan of one desired child. Raises Problem."""
    kind, name = child_type.kind, desired.manifest["metadata"]["name"]
    found = ChildPlan(child_type, name, "None", manifest=desired.manifest)
    if kind in world.unserved:
        commands = Commands.of(webapp, WEBAPP, MANAGED_BY)
        return found.blocked(not_served(kind.api_version, child_type.optional or "", commands))
    live = world.live(kind, name)
    if kind in world.unreadable:
        return replace(found, action="Unknown", message=world.unreadable[kind].message)
    if live is None:
        if desired.withheld is not None:
            return found.blocked(desired.withheld)
        return replace(found, action="Create")
    found = replace(found, live=live)
    blocked = _may_not_be_written(child_type, webapp, live, world)
    if blocked is not None and live.is_adoptable_by(webapp) and not live.terminating:
        # It waits for another child. The owner of the object agrees now, so its changes are shown now.
        return _written(found, desired, webapp, live).blocked(blocked)
    blocked = blocked or desired.frozen
    return found.blocked(blocked) if blocked is not None else _written(found, desired, webapp, live)


def _may_not_be_written(
    child_type: ChildType[WebApp], webapp: WebApp, live: Projection, world: Snapshot
) -> Health | None:
    commands = Commands.of(webapp, WEBAPP, MANAGED_BY)
    health = name_conflict(webapp, WEBAPP, live, commands)
    if health is not None:
        return health
    if live.terminating:
        return terminating(live, commands, paused=webapp.paused)
    needed = None if live.is_child_of(webapp) else child_type.adoptable_when(webapp, live, world)
    return None if needed is None else adopted_later(needed)


def _written(found: ChildPlan, desired: Desired, webapp: WebApp, live: Projection) -> ChildPlan:
    child_type, is_ours = found.child_type, live.is_child_of(webapp)
    planned = plan(
        child_type.in_place(desired.manifest, live.content),
        live,
        ownership(WORKLOAD, child_type, webapp, desired),
        adopting=not is_ours,
    )
    changes = tuple(
        each for difference in planned.differences for each in _changes(difference, child_type, webapp, live)
    )
    found = replace(
        found,
        manifest=planned.manifest,
        planned=planned,
        changes=(*_displaced(planned, live, changes), *changes),
        prepared=not planned.rivals and not has_former_managers(webapp, live),
    )
    if planned.halted:
        commands = Commands.of(webapp, WEBAPP, MANAGED_BY)
        return found.blocked(halted(held_fields(planned.halted), commands, webapp.policies.unknown()))
    obstacle = child_type.obstacle(child_type.comparable(desired.manifest), live.content, not is_ours)
    if obstacle is not None and desired.replaceable:
        obstacle = replace(obstacle, remedy=Remedy.REPLACE, others_mutable=False)
    if obstacle is not None and not obstacle.others_mutable:
        return _obstructed(replace(found, obstacle=obstacle), desired, planned.left, obstacle)
    message = "" if obstacle is None else stuck(desired.manifest, obstacle).message
    action = "Adopt" if not is_ours else "Change" if changes else "None"
    return replace(found, action=action, message=message, obstacle=obstacle)


def _obstructed(found: ChildPlan, desired: Desired, left: Sequence[HeldField], obstacle: Obstacle) -> ChildPlan:
    if obstacle.remedy is Remedy.BY_HAND or any(held.differs for held in left):
        return found.blocked(stuck(desired.manifest, obstacle))
    pods = "; its pods stay" if obstacle.remedy is Remedy.REPLACE_AROUND_PODS else ""
    return replace(found, action="Replace", message=f"{obstacle.field} cannot be changed in place{pods}")


def _changes(
    difference: Difference, child_type: ChildType[WebApp], webapp: WebApp, live: Projection
) -> Iterator[Difference]:
    """Yield what an apply changes in the values of a field; nothing if it changes the owner of the field alone."""
    wanted, found = difference.wanted, difference.found
    if difference.order or (difference.changes_value and difference.rivals):
        yield difference
    elif wanted is None:
        is_former, owned = former_managers(webapp, live), live.owned or {}
        # A former manager gives up only what is ours.
        theirs = [
            minus(each.fields, owned) if is_former(each.manager, each.operation) else each.fields
            for each in live.others
        ]
        if difference.path not in child_type.kept:
            yield from _removals(difference, owned, theirs)
    else:
        if isinstance(wanted, Mapping) and isinstance(found, Mapping) and _is_merged(difference, live):
            found = _of_keys(wanted, found)
        if wanted != found:
            yield replace(difference, found=found)


def _displaced(planned: Plan, live: Projection, changes: Sequence[Difference]) -> list[Difference]:
    """Return what the operator removes because it cannot stay beside the desired values, as at an adoption."""
    known = {each.path for each in changes}
    return [Difference(path, None, value_at(live.content, path)) for path in planned.rivals if path not in known]


def _removals(difference: Difference, owned: Fields, theirs: Sequence[Fields]) -> Iterator[Difference]:
    """Yield the fields that go when our apply leaves one out: what other managers own of it stays."""
    path, found = difference.path, difference.found
    if found is None:
        return
    if not any(owns(fields, path) for fields in theirs):
        yield difference
        return
    for element in at(owned, path) or {}:
        if element != ".":
            yield from _removals(Difference((*path, element), None, value_at(found, (element,))), owned, theirs)


def _is_merged(difference: Difference, live: Projection) -> bool:
    """Tell whether an apply leaves the other keys of a map: unless its managers own it as a whole."""
    sets = (at(fields, difference.path) for fields in (live.owned or {}, *(entry.fields for entry in live.others)))
    known = [fields for fields in sets if fields is not None]
    return not known or any(fields.keys() - {"."} for fields in known)


def _of_keys(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a live map below the keys of a desired one."""
    kept = {key: found[key] for key in wanted if key in found}
    return {
        key: _of_keys(wanted[key], value) if isinstance(value, Mapping) and isinstance(wanted[key], Mapping) else value
        for key, value in kept.items()
    }


def _removed(webapp: WebApp, world: Snapshot, wanted: set[str]) -> list[ChildPlan]:
    """Return the unneeded children: ours by label and reference, and written by the operator."""
    plans = []
    for child_type in WORKLOAD.children:
        if child_type.removal is Removal.NEVER or child_type.history is not None:
            continue
        stays = wanted | {child_key(child_type.kind.kind, name) for name in child_type.retained(webapp, world)}
        for live in world.labelled(child_type.kind):
            if child_key(child_type.kind.kind, live.name) in stays or live.terminating or live.owned is None:
                continue
            if live.controller is not None and live.controller.uid == webapp.uid:
                later = child_type.removal is Removal.WHEN_UNUSED
                message = "when no pod needs it any more" if later else ""
                plans.append(ChildPlan(child_type, live.name, "Remove", message, live=live))
    return plans


def concerned(webapp: Json, plans: Sequence[ChildPlan]) -> set[str]:
    """Return the kinds of the desired and of the reported children."""
    reported = {each["kind"] for each in (webapp.get("status") or {}).get("children", [])}
    return reported | {each.child_type.kind.kind for each in plans}


def others(difference: Difference, live: Projection | None) -> list[str]:
    """Return the other field managers of a field."""
    return [] if live is None else managers(difference, live.others)


def is_foreign(health: Health | None) -> bool:
    """Tell whether an object of others has the child's name."""
    return health is not None and health.level is Level.FOREIGN


def template_of(deployment: Any) -> Any:
    """Return the pod template of a Deployment."""
    return ((deployment or {}).get("spec") or {}).get("template")
