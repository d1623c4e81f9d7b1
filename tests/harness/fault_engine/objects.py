"""Objects of the Kubernetes API, as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Resource:
    """A kind of object, and where the API server serves it."""

    group: str
    """Empty for the core group."""
    version: str
    kind: str
    plural: str

    @property
    def api_version(self) -> str:
        """The apiVersion of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """The path of its group and version."""
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"


def controller(thing: Object) -> Mapping[str, Any] | None:
    """Return the controller reference of an object; None without one."""
    references = thing["metadata"].get("ownerReferences", [])
    return next((found for found in references if found.get("controller")), None)


def applied(thing: Object, manager: str) -> Mapping[str, Any] | None:
    """Return the fields, except those of the status, that a field manager has applied and owns; None without any."""
    for entry in thing["metadata"].get("managedFields", []):
        by_apply = entry.get("manager") == manager and entry.get("operation") == "Apply"
        if by_apply and not entry.get("subresource"):
            fields: Mapping[str, Any] = entry.get("fieldsV1", {})
            return fields
    return None


def condition(thing: Object, kind: str) -> Mapping[str, Any]:
    """Return a condition of an object; an empty one if the type is missing."""
    conditions = thing.get("status", {}).get("conditions", [])
    return next((found for found in conditions if found.get("type") == kind), {})


def says_ready(thing: Object) -> bool:
    """Tell whether an object has the condition Ready for its current generation."""
    ready = condition(thing, "Ready")
    return ready.get("status") == "True" and ready.get("observedGeneration") == thing["metadata"]["generation"]


def is_settled(parent: Object) -> bool:
    """Tell whether the conditions of an object are final: Ready, or not Ready and no longer Progressing."""
    status = parent.get("status", {})
    ready = condition(parent, "Ready")
    current = status.get("observedGeneration") == parent["metadata"]["generation"]
    # A denial by admission is retried with backoff, and so still in progress: only a change of the policy ends it.
    ended = condition(parent, "Progressing").get("status") == "False" or ready.get("reason") == "AdmissionDenied"
    return current and (ready.get("status") == "True" or ended)


def rollout_problem(deployment: Object) -> str | None:
    """Return the first reason why the rollout of a Deployment is incomplete; None if it is complete."""
    status, wanted = deployment.get("status", {}), deployment["spec"].get("replicas", 1)
    generation = deployment["metadata"].get("generation", 0)
    if status.get("observedGeneration", 0) != generation:
        return f"observedGeneration is {status.get('observedGeneration', 0)} and generation is {generation}"
    for count in ("updatedReplicas", "replicas", "availableReplicas"):
        if status.get(count, 0) != wanted:
            return f"{count} is {status.get(count, 0)} of {wanted}"
    return None
