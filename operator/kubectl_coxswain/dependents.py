"""Children not written yet, because they need an unusable one. Pure."""

from collections.abc import Collection, Mapping, Sequence

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child.dependencies import awaited, serves
from coxswain.kernel.status.health import Level, held_back
from coxswain.webapp.spec import WebApp
from kubectl_coxswain.child_plan import ChildPlan
from kubectl_coxswain.snapshot import Snapshot


def held_back_plans(
    plans: Sequence[ChildPlan], refused: Collection[str], webapp: WebApp, world: Snapshot
) -> list[ChildPlan]:
    """Return the plans. Block each child with an unusable dependency, by the rule of the operator.

    Args:
        plans: the plans of the children in the order of their writes.
        refused: the objects whose write the API server would refuse, by kind and name.
        webapp: the WebApp as it runs.
        world: the objects around it.
    """
    unusable: dict[Kind, str] = {}
    found = []
    for each in plans:
        if each.action in ("Remove", "Unknown") or each.child_type.kind in world.unserved:
            found.append(each)
            continue
        planned = _held_back(each, webapp, unusable)
        if not _serves(planned, webapp, is_refused=each.object in refused):
            unusable[each.child_type.kind] = f"{each.child_type.kind.kind} {each.name}"
        found.append(planned)
    return found


def _held_back(found: ChildPlan, webapp: WebApp, unusable: Mapping[Kind, str]) -> ChildPlan:
    ours = _ours(found, webapp)
    needed = awaited(found.child_type, ours, unusable)
    return found if needed is None else found.blocked(held_back(needed, there=ours is not None))


def _serves(found: ChildPlan, webapp: WebApp, *, is_refused: bool) -> bool:
    """Tell whether a child is usable for its dependents after the planned write."""
    is_written = found.action == "Replace" or (found.action != "Blocked" and found.obstacle is None)
    if found.manifest is None or (is_written and not is_refused):
        return True
    level = Level.DEGRADED if found.health is None else found.health.level
    is_adopted = found.action == "Adopt" and not is_refused
    return serves(found.child_type, found.manifest, level, found.live if is_adopted else _ours(found, webapp))


def _ours(found: ChildPlan, webapp: WebApp) -> Projection | None:
    """Return the existing child; None for an object of somebody else."""
    return found.live if found.live is not None and found.live.is_child_of(webapp) else None
