"""Accessors for API objects in plain JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]
Place = tuple[str, str]
"""Namespace and name."""


def place(thing: Object) -> Place:
    """Return the namespace and the name of an object."""
    metadata = thing["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def version(thing: Object) -> int:
    """Return the resourceVersion."""
    return int(thing["metadata"]["resourceVersion"])


def is_terminating(thing: Object | None) -> bool:
    """Return whether an object is deleted or terminating."""
    return thing is None or "deletionTimestamp" in thing["metadata"]


def controller(thing: Object) -> Mapping[str, Any]:
    """Return the owner reference with `controller: true`, or an empty one."""
    references: Sequence[Object] = thing["metadata"].get("ownerReferences") or ()
    for found in references:
        if found.get("controller"):
            return found
    return {}


def is_rolled_out(deployment: Object) -> bool:
    """Return whether the rollout of a Deployment is complete."""
    status, wanted = deployment.get("status", {}), deployment["spec"].get("replicas", 1)
    counts = {status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")}
    seen = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    return seen and counts == {wanted}
