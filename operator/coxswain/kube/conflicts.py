"""What to apply to a child, given who owns its fields: decided before writing, from managedFields as observed.

An apply carries the resourceVersion of what was observed, so it meets the very managedFields that it was decided on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from coxswain.kube.compare import Difference, differences, managers, places
from coxswain.kube.fields import Path, matches
from coxswain.kube.observed import FIELD_MANAGER, REPLICAS_MANAGER, Observed, comparable
from coxswain.webapp.co_writers import UNKNOWN
from coxswain.webapp.policy import Policy, within
from coxswain.webapp.spec import Manifest

_OURS = (FIELD_MANAGER, REPLICAS_MANAGER)


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
    observed: Observed,
    policy_of: Callable[[str], Policy],
    contested: Sequence[str] = (),
) -> Plan:
    """Decide what to apply to a child of ours.

    Args:
        manifest: the child as desired.
        observed: the child as observed.
        policy_of: the policy for a field, by its text.
        contested: fields that are not to be taken back now.
    """
    held = _held(manifest, observed, policy_of, contested)
    left = [found for found in held if found.contested or found.policy is Policy.YIELD]
    reduced = _without(manifest, [found.difference.path for found in left])
    found = differences(comparable(reduced), observed.content, observed.owned, observed.others)
    halted = [each for each in held if each.policy is Policy.HALT and not each.contested and differs(each.difference)]
    return Plan(
        reduced,
        tuple(found),
        force=any(_taken(difference, observed) for difference in found),
        rivals=tuple(dict.fromkeys(rival for difference in found for rival in difference.rivals)),
        left=tuple(left),
        halted=tuple(halted),
    )


def _taken(difference: Difference, observed: Observed) -> bool:
    """Tell whether an apply takes this place from another manager."""
    wanted = difference.wanted is not None or bool(difference.rivals)
    return wanted and differs(difference) and bool(managers(difference, observed.others))


def differs(difference: Difference) -> bool:
    """Tell a place with another value than desired from one that merely isn't ours alone."""
    return bool(difference.wanted != difference.found or difference.rivals)


def foreign_manager(difference: Difference, observed: Observed) -> str | None:
    """Return the manager that isn't ours and owns the place of a difference."""
    return next((name for name in managers(difference, observed.others) if name not in _OURS), None)


def _held(
    manifest: Manifest, observed: Observed, policy_of: Callable[[str], Policy], contested: Sequence[str]
) -> list[Held]:
    if not observed.others and not contested:
        return []
    held = []
    for place in places(comparable(manifest), observed.content, observed.owned, observed.others):
        manager = foreign_manager(place, observed)
        if differs(place) and any(within(place.text, field) or within(field, place.text) for field in contested):
            held.append(Held(place, manager or UNKNOWN, policy_of(place.text), contested=True))
        elif manager is not None:
            held.append(Held(place, manager, policy_of(place.text)))
    return held


def _without(manifest: Manifest, paths: Sequence[Path]) -> Manifest:
    """Return a manifest without these places, and without what is emptied by it."""
    for path in paths:
        manifest = _without_place(manifest, path)
    return manifest


def _without_place(value: Manifest, path: Path) -> Manifest:
    """Return a copy of a map without a place in it."""
    element, rest = path[0], path[1:]
    key = element.removeprefix("f:")
    if key not in value:
        return value
    if not rest:
        return {name: item for name, item in value.items() if name != key}
    inside = value[key]
    left = _without_item(inside, rest) if isinstance(inside, list) else _without_place(inside, rest)
    return {name: left if name == key else item for name, item in value.items() if name != key or left}


def _without_item(items: list[Any], path: Path) -> list[Any]:
    element, rest = path[0], path[1:]
    if not rest:
        return [item for item in items if not matches(element, item)]
    return [_without_place(item, rest) if matches(element, item) else item for item in items]
