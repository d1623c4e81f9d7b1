"""The order between children: a child waits until the children that it needs are usable. Pure."""

from collections.abc import Mapping

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.status.health import Level
from coxswain.kernel.workload import ChildType, P


def awaited(child_type: ChildType[P], live: Projection | None, unusable: Mapping[Kind, str]) -> str | None:
    """Return the unusable child for which a child has to wait; None if it can be written.

    Args:
        child_type: the type of the child.
        live: the existing child; None if it does not exist or belongs to somebody else.
        unusable: kind and name of an unusable child of each kind.
    """
    if live is not None and live.terminating:
        # Nothing is written to it, so that its own state is the news.
        return None
    without = () if live is None else child_type.goes_without(live.content)
    return next((unusable[kind] for kind in child_type.needs if kind in unusable and kind not in without), None)


def serves(child_type: ChildType[P], desired: Manifest, level: Level, live: Projection | None) -> bool:
    """Tell whether a child is usable for its dependents.

    Args:
        child_type: the type of the child.
        desired: its desired state.
        level: the level of its health.
        live: the existing child; None if it does not exist or belongs to somebody else.
    """
    if level is Level.HEALTHY:
        return True
    if live is None or live.terminating or level in (Level.TERMINATING, Level.MISSING):
        return False
    return child_type.is_usable(child_type.comparable(desired), live.content)
