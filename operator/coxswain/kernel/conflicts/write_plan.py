"""Plan the write of a child, given the ownership of its fields in managedFields.

The plan is made before the write. The apply carries the observed resourceVersion, so the API server rejects it if
managedFields have changed since.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coxswain.kernel.conflicts.diff import Difference, all_fields, differences, managers
from coxswain.kernel.conflicts.managed_fields import ANOTHER_OPERATOR, BEFORE_FIRST_APPLY, UNKNOWN
from coxswain.kernel.conflicts.policy import Policy, overlaps
from coxswain.kernel.objects.edit import contains, in_order_of, owned_part, value_at, with_value, without
from coxswain.kernel.objects.field_paths import Fields, Path, at, distinct_elements, owns, text
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection


@dataclass(frozen=True)
class HeldField:
    """A field that is not enforced: held by another manager, or contested in a write war."""

    difference: Difference
    manager: str
    policy: Policy
    contested: bool = False

    @property
    def halts(self) -> bool:
        """Whether nothing is written to the object because of it."""
        return self.policy is Policy.HALT and not self.contested

    @property
    def differs(self) -> bool:
        """Whether the value differs from the desired one, rather than only its owner."""
        return self.difference.changes_value

    @property
    def is_only_cleared(self) -> bool:
        """Whether the desired value is live, and managedFields were cleared: then defaults are part of the value."""
        difference = self.difference
        return self.manager == UNKNOWN and not difference.rivals and contains(difference.found, difference.wanted)


@dataclass(frozen=True)
class Plan:
    """The planned write of one child."""

    manifest: Manifest
    """The manifest to apply, without the fields left to other managers."""
    differences: tuple[Difference, ...]
    """The differences resolved by the apply."""
    force: bool = False
    """Whether the apply takes ownership of fields of other managers."""
    rivals: tuple[Path, ...] = ()
    """Paths to own before the apply, so that the apply removes them."""
    left: tuple[HeldField, ...] = ()
    """The fields left to other managers."""
    halted: tuple[HeldField, ...] = ()
    """The fields with a Halt policy; nothing is written if there are any."""


@dataclass(frozen=True)
class Ownership:
    """The ownership rules of one child."""

    managers: frozenset[str]
    """Our own field managers."""
    policy_of: Callable[[str], Policy] | None = None
    """Returns the policy for a field in readable form; None if all fields are enforced."""
    is_identity: Callable[[str], bool] = lambda _: False
    """Reports whether a field is part of the child's identity."""
    comparable: Callable[[Manifest], Manifest] = lambda manifest: manifest
    """Converts a manifest to the form of projections."""
    former: Callable[[Manifest, Mapping[str, Any], Sequence[Fields]], Sequence[Path]] = lambda *_: ()
    """Returns the items to remove from an adopted object.

    The arguments are the manifest, the live content and the field sets in managedFields.
    """


def plan(
    manifest: Manifest,
    observed: Projection,
    ownership: Ownership,
    contested: Sequence[str] = (),
    *,
    adopting: bool = False,
) -> Plan:
    """Plan the apply of a child, or of an object to be adopted.

    Args:
        manifest: the desired child.
        observed: the observed child.
        ownership: the ownership rules.
        contested: fields not enforced for now.
        adopting: whether the object is still to be adopted.
    """
    held = _held_fields(manifest, observed, ownership, contested)
    halted = [field for field in held if field.halts]
    left = [field for field in held if not field.halts]
    # The identity fields are always applied: without them the child could not be found or owned.
    identity = [field.difference.path for field in left if ownership.is_identity(field.difference.text)]
    reduced = _reduced(manifest, observed, [field for field in left if field.difference.path not in identity])
    resolved = _resolved(ownership.comparable(reduced), observed, left, identity)
    rivals = [rival for each in resolved for rival in each.rivals if not _is_owned_only_by_us(rival, observed)]
    if adopting:
        rivals += _items_to_remove(manifest, observed, ownership)
    return Plan(
        reduced,
        tuple(resolved),
        force=any(_needs_force(difference, observed, ownership.policy_of) for difference in resolved),
        rivals=tuple(dict.fromkeys(rivals)),
        left=tuple(left),
        halted=tuple(halted),
    )


def _resolved(
    reduced: Manifest, observed: Projection, left: Sequence[HeldField], identity: Sequence[Path]
) -> list[Difference]:
    """Return the differences that an apply of the reduced manifest resolves; none if it is not worth a write."""
    left_paths = [path for field in left for path in (field.difference.path, *field.difference.rivals)]
    resolved = [
        difference
        for difference in differences(reduced, observed.content, observed.owned, observed.others)
        if not _is_left_with_rival(difference, left_paths)
    ]
    # A contested identity field is applied with the others, but alone it would be one more round of the war.
    if all(any(_overlap(difference.path, path) for path in identity) for difference in resolved):
        return []
    return resolved


def _items_to_remove(manifest: Manifest, observed: Projection, ownership: Ownership) -> Sequence[Path]:
    """Return the items to remove from an object to be adopted, unless a policy leaves them to other managers."""
    entries = [entry.fields for entry in observed.others]
    policy_of = ownership.policy_of
    items = ownership.former(manifest, observed.content, entries)
    return [item for item in items if policy_of is None or policy_of(text(item)) is Policy.ENFORCE]


def _is_left_with_rival(difference: Difference, left_paths: Sequence[Path]) -> bool:
    """Report whether an undesired union member is live because its union was left to another manager."""
    return difference.wanted is None and any(
        _overlap(path, rival) for rival in difference.rivals for path in left_paths
    )


def _overlap(one: Path, other: Path) -> bool:
    """Report whether two paths are equal or one is below the other."""
    return one[: len(other)] == other or other[: len(one)] == one


def _is_owned_only_by_us(path: Path, observed: Projection) -> bool:
    """Report whether our manager is the only owner of a path, so that the next apply removes it by omission."""
    theirs = any(owns(entry.fields, path) for entry in observed.others)
    return not theirs and owns(observed.owned or {}, path)


def _needs_force(difference: Difference, observed: Projection, policy_of: Callable[[str], Policy] | None) -> bool:
    """Report whether an apply takes ownership of a path of another manager.

    If managedFields were cleared, the API server first assigns all live fields to `before-first-apply`. A manager that
    may own a field under another name is overwritten only if the policy of the field is Enforce.
    """
    if not difference.changes_value or (difference.wanted is None and not difference.rivals):
        return False
    if (observed.owned is None and not observed.others) or managers(difference, observed.others):
        return True
    enforced = policy_of is None or policy_of(difference.text) is Policy.ENFORCE
    return enforced and bool(_managers_in_other_versions(difference, observed))


def _managers_in_other_versions(difference: Difference, observed: Projection) -> list[str]:
    """Return the managers that may own a live field under its name in another API version.

    The API server compares the object in the version of each entry. The metadata is the same in all versions.
    """
    part, known = difference.path[0], ("", observed.kind.api_version)
    if difference.found is None or difference.order or part == "f:metadata":
        return []
    return [entry.manager for entry in observed.others if entry.api_version not in known and part in entry.fields]


def other_manager(difference: Difference, observed: Projection, ours: Collection[str]) -> str | None:
    """Return the first other manager that owns the path of a difference; None if there is none.

    A live field without an owner may have one in another API version. `before-first-apply` does not count: the API
    server assigns it the fields without a known owner.
    """
    owners = managers(difference, observed.others)
    if not owners and not owns(observed.owned or {}, difference.path):
        owners = _managers_in_other_versions(difference, observed)
    return next((name for name in owners if name not in ours and name != BEFORE_FIRST_APPLY), None)


def _held_fields(
    manifest: Manifest, observed: Projection, ownership: Ownership, contested: Sequence[str]
) -> list[HeldField]:
    """Return the fields that are left to other managers, contested or halted, with their policies.

    The policies concern the desired fields. The removal of a field is always enforced, but may be contested.
    """
    policy_of, ours = ownership.policy_of, ownership.managers
    if not contested and (policy_of is None or not observed.others):
        return []
    compared = (ownership.comparable(manifest), observed.content, observed.owned, observed.others)
    removed = [each for each in differences(*compared) if each.wanted is None and not each.rivals]
    held = [_held(each, None, observed, ours, contested) for each in removed]
    held += [_held(each, policy_of, observed, ours, contested) for each in all_fields(*compared)]
    return [field for field in held if field is not None]


def _held(
    difference: Difference,
    policy_of: Callable[[str], Policy] | None,
    observed: Projection,
    ours: Collection[str],
    contested: Sequence[str],
) -> HeldField | None:
    """Return a field with the reason why it is not enforced; None if it is."""
    manager = other_manager(difference, observed, ours)
    is_contested = _is_contested(difference, contested, observed)
    if manager is None and not is_contested:
        return None
    policy = Policy.ENFORCE if policy_of is None else policy_of(difference.text)
    if is_contested and (manager is None or policy is Policy.ENFORCE):
        unknown = ANOTHER_OPERATOR if owns(observed.owned or {}, difference.path) else UNKNOWN
        return HeldField(difference, manager or unknown, policy, contested=True)
    is_harmless = policy is Policy.HALT and not difference.changes_value
    if manager is None or policy is Policy.ENFORCE or is_harmless:
        return None
    return HeldField(difference, manager, policy)


def _is_contested(difference: Difference, contested: Sequence[str], observed: Projection) -> bool:
    """Report whether a difference is left to the other side of a write war.

    If our entry was cleared, an equal value is a difference too, and its correction another round.
    """
    return (difference.changes_value or observed.owned is None) and overlaps(difference.text, contested)


def _reduced(manifest: Manifest, observed: Projection, left: Sequence[HeldField]) -> Manifest:
    """Return a manifest without the fields left to other managers.

    Our part of a contested field, of a field with rivals and of its rivals keeps its live value: an apply without it
    would remove it, and the rest alone may be invalid. The data of a ConfigMap is known only by its hashes, so its live
    value cannot be kept. A list with a contested order has its desired items in the live order.
    """
    for held in left:
        path, rivals = held.difference.path, held.difference.rivals
        if held.difference.order:
            manifest = _in_live_order(manifest, observed, path[:-1])
        elif rivals or (held.contested and path[0] != "f:data"):
            for each in (path, *rivals):
                manifest = _with_our_part(manifest, observed, each)
        else:
            manifest = without(manifest, path)
    return manifest


def _in_live_order(manifest: Manifest, observed: Projection, path: Path) -> Manifest:
    """Return a manifest in which the items of a list have the order of the live list."""
    sets = [at(fields, path) or {} for fields in (observed.owned or {}, *(entry.fields for entry in observed.others))]
    items = in_order_of(value_at(observed.content, path) or [], value_at(manifest, path) or [], distinct_elements(sets))
    changed: Manifest = with_value(manifest, path, items) if items else manifest
    return changed


def _with_our_part(manifest: Manifest, observed: Projection, path: Path) -> Manifest:
    """Return a manifest in which a field has those of its live values that our entry owns."""
    ours, live = at(observed.owned or {}, path), value_at(observed.content, path)
    if ours is None or live is None:
        return without(manifest, path)
    changed: Manifest = with_value(manifest, path, owned_part(live, ours))
    return changed
