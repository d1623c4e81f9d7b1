"""What to apply to a child, given who owns its fields: decided before writing, from managedFields as observed.

An apply carries the resourceVersion of what was observed, so it meets the very managedFields that it was decided on.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coxswain.kernel.conflicts.diff import Difference, differences, managers, places
from coxswain.kernel.conflicts.managed_fields import ANOTHER_COXSWAIN, BEFORE_FIRST_APPLY, UNKNOWN
from coxswain.kernel.conflicts.policy import Policy, within
from coxswain.kernel.objects.edit import owned_part, with_value, without
from coxswain.kernel.objects.field_paths import Fields, Path, at, owns, text
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection


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


@dataclass(frozen=True)
class Ownership:
    """Rules about who owns the fields of one child."""

    managers: frozenset[str]
    """Our own field managers."""
    policy_of: Callable[[str], Policy] | None = None
    """The policy for a field, by its text; None if every field is enforced."""
    is_identity: Callable[[str], bool] = lambda _: False
    """Whether a field makes the child what it is."""
    comparable: Callable[[Manifest], Manifest] = lambda manifest: manifest
    """A manifest in the form of projections."""
    former: Callable[[Manifest, Mapping[str, Any], Sequence[Fields]], Sequence[Path]] = lambda *_: ()
    """Items that an adopted object must lose, given the manifest, the live content and the entries of managedFields."""


def plan(
    manifest: Manifest,
    observed: Projection,
    ownership: Ownership,
    contested: Sequence[str] = (),
    *,
    adopting: bool = False,
) -> Plan:
    """Decide what to apply to a child of ours, or to an object that becomes one.

    Args:
        manifest: the child as desired.
        observed: the child as observed.
        ownership: who owns the fields.
        contested: fields that are not enforced now.
        adopting: whether it is not a child yet.
    """
    held = _held(manifest, observed, ownership, contested)
    left = [found for found in held if found.contested or found.policy is Policy.YIELD]
    # Without identity no child could be found or owned: where that is contested, it alone is no reason to write.
    fought = [each.difference.path for each in left if ownership.is_identity(each.difference.text)]
    reduced = _reduced(manifest, observed, [each for each in left if each.difference.path not in fought])
    kept = [path for each in left for path in (each.difference.path, *each.difference.rivals)]
    found = [
        difference
        for difference in differences(ownership.comparable(reduced), observed.content, observed.owned, observed.others)
        if not _is_kept(difference, kept)
    ]
    if fought and all(any(_overlap(difference.path, path) for path in fought) for difference in found):
        found = []
    halted = [each for each in held if each.policy is Policy.HALT and not each.contested and differs(each.difference)]
    rivals = [rival for difference in found for rival in difference.rivals if not _is_ours_alone(rival, observed)]
    if adopting:
        rivals += _former(manifest, observed, ownership)
    return Plan(
        reduced,
        tuple(found),
        force=any(_taken(difference, observed) for difference in found),
        rivals=tuple(dict.fromkeys(rivals)),
        left=tuple(left),
        halted=tuple(halted),
    )


def _former(manifest: Manifest, observed: Projection, ownership: Ownership) -> Sequence[Path]:
    """Return the items of an object to be adopted that must go, unless a policy leaves them to others."""
    entries = [entry.fields for entry in observed.others]
    policy_of = ownership.policy_of
    items = ownership.former(manifest, observed.content, entries)
    return [item for item in items if policy_of is None or policy_of(text(item)) is Policy.ENFORCE]


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


def foreign_manager(difference: Difference, observed: Projection, ours: Collection[str]) -> str | None:
    """Return the manager that owns the place of a difference, if it is none of ours.

    The API server lets `before-first-apply` own fields without a known owner.
    """
    return next(
        (name for name in managers(difference, observed.others) if name not in ours and name != BEFORE_FIRST_APPLY),
        None,
    )


def _held(manifest: Manifest, observed: Projection, ownership: Ownership, contested: Sequence[str]) -> list[Held]:
    """Return what others hold and may keep, or what forbids to write."""
    policy_of, ours = ownership.policy_of, ownership.managers
    if not contested and (policy_of is None or not observed.others):
        return []
    held = [
        Held(found, foreign_manager(found, observed, ours) or ANOTHER_COXSWAIN, Policy.ENFORCE, contested=True)
        for found in differences(ownership.comparable(manifest), observed.content, observed.owned, observed.others)
        if found.wanted is None and not found.rivals and _is_fought(found, contested)
    ]
    for place in places(ownership.comparable(manifest), observed.content, observed.owned, observed.others):
        manager = foreign_manager(place, observed, ours)
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
