"""The health of a child, given its write plan."""

from collections.abc import Sequence

from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.conflicts.immutable import Obstacle, command
from coxswain.kernel.conflicts.managed_fields import UNKNOWN
from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.conflicts.write_plan import HeldField, Plan
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.status.health import Health, contested, held, immutable

_NAMED_DIFFERENCES = 5


def planned_health(health: Health, planned: Plan, differing: Sequence[Difference]) -> Health:
    """Return the health of a child that is as desired, as far as policies and other managers allow.

    Args:
        health: its health by its status.
        planned: its write plan.
        differing: differences that no apply corrects.
    """
    fought = [found for found in planned.left if found.contested]
    if fought:
        return contested(shown(fought))
    return held(health, listed(differing))


def shown(found: Sequence[HeldField]) -> str:
    """Return fields and who holds them, as a message names them."""
    return ", ".join(f"{each.difference.text} ({each.manager})" for each in found[:_NAMED_DIFFERENCES])


def listed(found: Sequence[Difference]) -> str:
    """Return fields, as a message names them."""
    more = len(found) - _NAMED_DIFFERENCES
    names = ", ".join(difference.text for difference in found[:_NAMED_DIFFERENCES])
    return names + (f" and {more} more" if more > 0 else "")


def unlike(planned: Plan) -> list[str]:
    """Return the fields left to other managers or changed by admission policies."""
    return [difference.text for difference in (*(each.difference for each in planned.left), *planned.differences)]


def absence(manifest: Manifest) -> HeldField:
    """Return a child that someone deletes again and again, as a contested place: the whole."""
    return HeldField(Difference((), manifest, None), UNKNOWN, Policy.ENFORCE, contested=True)


def stuck(manifest: Manifest, found: Obstacle) -> Health:
    """Return the health of a child that only a person can have made anew, with the command."""
    metadata = manifest["metadata"]
    return immutable(found.field, command(manifest["kind"], metadata["name"], metadata["namespace"]))
