"""Adoption: an existing object with a child's name becomes a child if its annotation allows it."""

from collections.abc import Callable

from coxswain.kernel.conflicts.managed_fields import BEFORE_FIRST_APPLY
from coxswain.kernel.objects.commands import Commands
from coxswain.kernel.objects.field_paths import minus
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Named, Projection
from coxswain.kernel.status.health import Health, name_taken, terminating


def name_conflict(parent: Named, parent_kind: Kind, live: Projection, commands: Commands) -> Health | None:
    """Return the health of a child if a foreign object has its name; None for a child or an adoptable object."""
    if live.is_child_of(parent) or live.is_adoptable_by(parent):
        return None
    controller, annotation = live.controller, f"{parent_kind.group}/adopt"
    resource = f"{live.kind.kind.lower()} {live.name}"
    if controller is None:
        allow = f"kubectl annotate {resource} {annotation}={parent.name} -n {live.namespace} --overwrite"
        return name_taken(None, allow)
    if (controller.kind, controller.name) == (parent_kind.kind, parent.name):
        # Its parent was deleted, and had the same name: the garbage collector deletes it, and its DELETED requeues.
        return terminating(live, commands)
    allowed = live.adopter == parent.name
    describe = commands.describe(live.kind.kind, live.name)
    return name_taken(f"{controller.kind} {controller.name}", describe, annotation=annotation if allowed else "")


def former_managers(parent: Named, live: Projection) -> Callable[[str, str], bool]:
    """Return a predicate over managers (name, operation): whether they must give up our fields.

    Otherwise they would keep removed fields forever. They are the entry for the time before our first apply, and all
    managers with updates of an adopted object. A manager with operation Apply is an active writer.
    """
    adopted = live.adopter == parent.name
    return lambda manager, operation: manager == BEFORE_FIRST_APPLY or (adopted and operation == "Update")


def has_former_managers(parent: Named, live: Projection) -> bool:
    """Tell whether former managers own a field of ours."""
    is_former, owned = former_managers(parent, live), live.owned or {}
    return any(
        is_former(entry.manager, entry.operation) and minus(entry.fields, owned) != entry.fields
        for entry in live.others
    )
