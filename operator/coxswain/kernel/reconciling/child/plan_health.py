"""The health of a child, given its write plan."""

from collections.abc import Sequence

from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.conflicts.immutable import Obstacle
from coxswain.kernel.conflicts.managed_fields import ANOTHER_OPERATOR, UNKNOWN, shown_manager
from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.conflicts.write_plan import HeldField, Plan
from coxswain.kernel.objects.commands import Commands, delete_command
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.quote import enumerated
from coxswain.kernel.status.health import Health, changed_by_admission, contested, immutable

_NAMED_DIFFERENCES = 5


def planned_health(health: Health, planned: Plan, differing: Sequence[Difference], commands: Commands) -> Health:
    """Return the health of a child without drift, except for fields left to other managers or changed by admission.

    Args:
        health: its health by its status.
        planned: its write plan.
        differing: differences that remain after an apply.
        commands: the commands about the parent.
    """
    contested_fields = [each for each in planned.left if each.contested and not each.is_only_cleared]
    if contested_fields:
        two_operators = any(each.manager == ANOTHER_OPERATOR for each in contested_fields)
        return contested(held_fields(contested_fields), commands, two_operators=two_operators)
    return changed_by_admission(health, field_paths(differing), commands)


def held_fields(fields: Sequence[HeldField]) -> str:
    """Return fields with their managers, for a message."""
    return enumerated(
        [f"{each.difference.text} ({shown_manager(each.manager)})" for each in fields], _NAMED_DIFFERENCES
    )


def field_paths(differences: Sequence[Difference]) -> str:
    """Return the field paths of differences, for a message."""
    return enumerated([difference.text for difference in differences], _NAMED_DIFFERENCES)


def absence(manifest: Manifest) -> HeldField:
    """Return the whole object as contested, for a child that another client keeps deleting."""
    return HeldField(Difference((), manifest, None), UNKNOWN, Policy.ENFORCE, contested=True)


def stuck(manifest: Manifest, obstacle: Obstacle) -> Health:
    """Return the health of a child that only a user can recreate, with the command."""
    metadata = manifest["metadata"]
    delete = delete_command(manifest["kind"], metadata["name"], metadata["namespace"])
    return immutable(obstacle.field, delete, obstacle.advice)
