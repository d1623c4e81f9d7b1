"""Compares a parent's children and status with its spec, using plain objects and no code of the operator.

Each workload judges its own fields; this module has the checks common to all children.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from model_cluster.objects import Object, Place, controller, is_terminating

Objects = Mapping[str, Mapping[Place, Object]]
"""Objects by plural name, namespace and name."""


STRAY = {"object": "Nothing/none", "field": "none", "manager": "editor", "policy": "Yield"}
"""An item in the status of a parent that another field manager has added."""


@dataclass(frozen=True)
class Gap:
    """A difference between a parent's spec and its children, or between the children and the status."""

    plural: str
    """The resource of the child, or of the parent if the status is wrong."""
    name: str
    field: str
    wanted: str
    found: str
    of_status: bool = False
    """Whether the status is wrong."""
    also: tuple[str, ...] = ()
    """Other children that may cause the gap."""
    reads_first: bool = False
    """Whether the operator may have to read the object before correcting the field."""

    harmless: bool = False
    """Whether the parent may be Ready meanwhile."""

    @property
    def resources(self) -> tuple[str, ...]:
        """The plural names of the objects that may cause the gap."""
        return (self.plural, *self.also)

    def __str__(self) -> str:
        return f"{self.plural}/{self.name} {self.field}: wanted {self.wanted}, found {self.found}"


def is_child(thing: Object | None, parent: Object) -> bool:
    """Return whether an object is controlled by a parent."""
    return thing is not None and controller(thing).get("uid") == parent["metadata"]["uid"]


def is_applied_by(thing: Object, manager: str) -> bool:
    """Return whether a field manager has applied an object."""
    return any(
        (entry.get("manager"), entry.get("operation")) == (manager, "Apply")
        for entry in thing["metadata"].get("managedFields") or ()
    )


def condition(parent: Object, kind: str, what: str = "status") -> str:
    """Return the status of a condition, or its reason."""
    conditions = parent.get("status", {}).get("conditions", ())
    return str(next((found.get(what) for found in conditions if found["type"] == kind), None))


def reported_health(parent: Object, kind: str, name: str) -> str:
    """Return a child's health from the status."""
    children = parent.get("status", {}).get("children", ())
    return next((found["health"] for found in children if (found["kind"], found["name"]) == (kind, name)), "")


def held_by_policy(parent: Object, gap: Gap | None) -> bool:
    """Return whether the status says that a policy forces a child's field; the operator does not retry then."""
    children = parent.get("status", {}).get("children", ())
    return any(
        "admission policy" in child.get("message", "") and (gap is None or child["name"] == gap.name)
        for child in children
    )


def policy_of(parent: Object) -> str:
    """Return the policy of a parent for fields of other managers."""
    return str(parent["spec"].get("conflicts", {}).get("policy", "Enforce"))


def is_behind(parent: Object) -> bool:
    """Return whether the status belongs to an earlier generation."""
    return bool(parent.get("status", {}).get("observedGeneration") != parent["metadata"].get("generation"))


def child_gaps(
    parent: Object, plural: str, thing: Object | None, name: str, labels: Mapping[str, str]
) -> Iterator[Gap]:
    """Yield the gaps common to all children: existence, owner and labels."""
    if thing is None or is_terminating(thing):
        yield Gap(plural, name, "existence", "there", "missing" if thing is None else "going")
    elif not is_child(thing, parent):
        yield Gap(plural, name, "owner", str(parent["metadata"]["uid"]), str(controller(thing).get("uid")))
    else:
        yield from different(plural, name, "label", labels, thing["metadata"].get("labels") or {})


def different(
    plural: str, name: str, what: str, wanted: Mapping[str, Any], live: Mapping[str, Any], **more: Any
) -> Iterator[Gap]:
    """Yield a gap for each wanted value that is missing."""
    for key, value in wanted.items():
        if live.get(key) != value:
            yield Gap(plural, name, f"{what} {key}", str(value), str(live.get(key)), **more)


def is_unusable(found: list[Gap]) -> bool:
    """Return whether a child is missing or foreign, so that its fields are not checked."""
    return any(gap.field in ("existence", "owner") for gap in found)


def generation_gaps(plural: str, parent: Object) -> list[Gap]:
    """Return the gap of a status with an old generation."""
    if not is_behind(parent):
        return []
    found, wanted = parent.get("status", {}).get("observedGeneration"), parent["metadata"].get("generation")
    return [Gap(plural, parent["metadata"]["name"], "observedGeneration", str(wanted), str(found), of_status=True)]


def stray_gaps(plural: str, parent: Object) -> list[Gap]:
    """Return the gap of a status with an item of another field manager."""
    if STRAY not in parent.get("status", {}).get("conflicts", ()):
        return []
    return [Gap(plural, parent["metadata"]["name"], "stray", "none", str(STRAY), of_status=True)]


def ready_gaps(plural: str, parent: Object, objects: Objects, children: list[Gap], unready: str) -> list[Gap]:
    """Return the gap of a Ready condition that contradicts the children.

    Args:
        plural: the resource of the parent.
        parent: the parent.
        objects: all objects.
        children: the gaps of its children.
        unready: the reason why it is not ready although its children are as desired; empty if it is.
    """
    name, ready = parent["metadata"]["name"], condition(parent, "Ready")
    blocking = [gap for gap in children if gap.field != "leftover" and not gap.harmless]
    if ready == "True" and (blocking or unready):
        why = str(blocking[0]) if blocking else unready
        return [Gap(plural, name, "Ready", "False", f"True, but {why}", of_status=True)]
    if ready != "True" and not children and not unready and not _reports_removal(parent, objects):
        reason = condition(parent, "Ready", "reason")
        return [Gap(plural, name, "Ready", "True", f"{ready} {reason}", of_status=True)]
    return []


def _reports_removal(parent: Object, objects: Objects) -> bool:
    """Return whether the status names a child that is being deleted."""
    children = parent.get("status", {}).get("children", ())
    named = {child["name"] for child in children if child["health"] == "Terminating"}
    return any(
        name in named and is_child(thing, parent) and is_terminating(thing)
        for things in objects.values()
        for (_, name), thing in things.items()
    )
