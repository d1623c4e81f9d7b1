"""What to apply to a child, given who owns its fields: decided before writing, from managedFields as observed.

An apply carries the resourceVersion of what was observed, so it meets the very managedFields that it was decided on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from coxswain.kernel.conflicts.diff import Difference, differences, managers, places
from coxswain.kernel.conflicts.managed_fields import BEFORE_FIRST_APPLY
from coxswain.kernel.conflicts.unions import PORTS, undesired_ports
from coxswain.kernel.objects.edit import owned_part, with_value, without
from coxswain.kernel.objects.field_paths import Path, at, owns, spelling, text
from coxswain.kernel.objects.kinds import SERVICE
from coxswain.kernel.objects.projection import FIELD_MANAGER, REPLICAS_MANAGER, Projection, comparable
from coxswain.webapp.co_writers import ANOTHER_COXSWAIN, UNKNOWN
from coxswain.webapp.policy import Policy, is_identity, within
from coxswain.webapp.spec import Manifest

_NOBODY_ELSE = (FIELD_MANAGER, REPLICAS_MANAGER, BEFORE_FIRST_APPLY)
"""Managers that are we, or no one: the API server lets the last own what it doesn't know the owner of."""


@dataclass(frozen=True)
class Held:
    """A desired place that another manager holds, or that someone takes again and again."""

    difference: Difference
    manager: str
    policy: Policy
    contested: bool = False

    @property
    def differs(self) -> bool:
        """Whether the place has another value than desired, rather than merely another holder."""
        return differs(self.difference)


@dataclass(frozen=True)
class Plan:
    """What to do about one child."""

    manifest: Manifest
    """What to apply: the desired one without what is left to others."""
    differences: tuple[Difference, ...]
    """What that puts right."""
    force: bool = False
    """Whether it takes fields from others."""
    rivals: tuple[Path, ...] = ()
    """Places of others that must become ours first, so that the apply removes them."""
    left: tuple[Held, ...] = ()
    """What is left to others."""
    halted: tuple[Held, ...] = ()
    """What forbids to write at all."""


def plan(
    manifest: Manifest,
    observed: Projection,
    policy_of: Callable[[str], Policy] | None = None,
    contested: Sequence[str] = (),
    *,
    adopting: bool = False,
) -> Plan:
    """Decide what to apply to a child of ours, or to an object that becomes one.

    Args:
        manifest: the child as desired.
        observed: the child as observed.
        policy_of: the policy for a field, by its text; None if every field is enforced.
        contested: fields that are not to be taken back now.
        adopting: whether it is not a child yet.
    """
    held = _held(manifest, observed, policy_of, contested)
    left = [found for found in held if found.contested or found.policy is Policy.YIELD]
    # Without identity no child could be found or owned: where that is contested, it alone is no reason to write.
    fought = [each.difference.path for each in left if is_identity(manifest["kind"], each.difference.text)]
    reduced = _reduced(manifest, observed, [each for each in left if each.difference.path not in fought])
    kept = [path for each in left for path in (each.difference.path, *each.difference.rivals)]
    found = [
        difference
        for difference in differences(comparable(reduced), observed.content, observed.owned, observed.others)
        if not _is_kept(difference, kept)
    ]
    if fought and all(any(_overlap(difference.path, path) for path in fought) for difference in found):
        found = []
    halted = [each for each in held if each.policy is Policy.HALT and not each.contested and differs(each.difference)]
    rivals = [rival for difference in found for rival in difference.rivals if not _is_ours_alone(rival, observed)]
    if adopting and observed.kind is SERVICE:
        rivals += _former_ports(manifest, observed, policy_of)
    return Plan(
        reduced,
        tuple(found),
        force=any(_taken(difference, observed) for difference in found),
        rivals=tuple(dict.fromkeys(rivals)),
        left=tuple(left),
        halted=tuple(halted),
    )


def _former_ports(
    manifest: Manifest, observed: Projection, policy_of: Callable[[str], Policy] | None
) -> Sequence[Path]:
    """Return the ports of a Service to be adopted that go: those that the WebApp does not ask for."""
    entries = [at(entry.fields, PORTS) or {} for entry in observed.others]
    ports = undesired_ports(manifest, observed.content, spelling(entries))
    return [port for port in ports if policy_of is None or policy_of(text(port)) is Policy.ENFORCE]


def _is_kept(difference: Difference, kept: Sequence[Path]) -> bool:
    """Tell whether a member of a union that nothing desires any more is there since that was left to others."""
    return difference.wanted is None and any(_overlap(path, rival) for rival in difference.rivals for path in kept)


def _overlap(one: Path, other: Path) -> bool:
    """Tell whether two places are the same, or one is inside the other."""
    return one[: len(other)] == other or other[: len(one)] == one


def _is_ours_alone(place: Path, observed: Projection) -> bool:
    """Tell whether the next apply removes a place by not naming it: it was taken over before."""
    theirs = any(owns(entry.fields, place) for entry in observed.others)
    return not theirs and owns(observed.owned or {}, place)


def _taken(difference: Difference, observed: Projection) -> bool:
    """Tell whether an apply takes this place from another manager.

    Where managedFields were stripped, the API server lets one own all that is there before it looks at the apply.
    """
    wanted = difference.wanted is not None or bool(difference.rivals)
    stripped = observed.owned is None and not observed.others
    return wanted and differs(difference) and (stripped or bool(managers(difference, observed.others)))


def differs(difference: Difference) -> bool:
    """Tell a place with another value than desired from one that merely isn't ours alone."""
    return bool(difference.wanted != difference.found or difference.rivals)


def foreign_manager(difference: Difference, observed: Projection) -> str | None:
    """Return the manager that owns the place of a difference, if it is one and isn't ours."""
    return next((name for name in managers(difference, observed.others) if name not in _NOBODY_ELSE), None)


def _held(
    manifest: Manifest, observed: Projection, policy_of: Callable[[str], Policy] | None, contested: Sequence[str]
) -> list[Held]:
    """Return what others hold and may keep, or what forbids to write."""
    if not contested and (policy_of is None or not observed.others):
        return []
    held = [
        Held(found, foreign_manager(found, observed) or ANOTHER_COXSWAIN, Policy.ENFORCE, contested=True)
        for found in differences(comparable(manifest), observed.content, observed.owned, observed.others)
        if found.wanted is None and not found.rivals and _is_fought(found, contested)
    ]
    for place in places(comparable(manifest), observed.content, observed.owned, observed.others):
        manager = foreign_manager(place, observed)
        fought = _is_fought(place, contested)
        if manager is None and not fought:
            continue
        policy = Policy.ENFORCE if policy_of is None else policy_of(place.text)
        if fought and (manager is None or policy is Policy.ENFORCE):
            unknown = ANOTHER_COXSWAIN if owns(observed.owned or {}, place.path) else UNKNOWN
            held.append(Held(place, manager or unknown, policy, contested=True))
        elif manager is not None:
            held.append(Held(place, manager, policy))
    return held


def _is_fought(difference: Difference, contested: Sequence[str]) -> bool:
    if difference.order or not differs(difference):
        return False
    return any(within(difference.text, field) or within(field, difference.text) for field in contested)


def _reduced(manifest: Manifest, observed: Projection, left: Sequence[Held]) -> Manifest:
    """Return a manifest without what is left to others.

    A contested place that our own entry owns keeps its live value instead: an apply without it would remove it. Of a
    ConfigMap's data only hashes are known.
    """
    owned = observed.owned or {}
    for each in left:
        path = each.difference.path
        ours = at(owned, path) if each.contested and path[0] != "f:data" else None
        if ours is not None and each.difference.found is not None:
            manifest = with_value(manifest, path, owned_part(each.difference.found, ours))
        else:
            manifest = without(manifest, path)
    return manifest
