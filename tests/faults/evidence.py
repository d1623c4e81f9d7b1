"""What the oracles judge: all that is known of one run of one operator in one namespace."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from cluster.audit import AuditEvent
from faults.history import History
from faults.witness import RESOURCES, Change, Server, list_objects

WEBAPP_LABEL = "coxswain.dev/webapp"
GROUP = "coxswain.dev"
FIELD_MANAGER = "coxswain"
ADOPT_ANNOTATION = "coxswain.dev/adopt"
"""By which the owner of an object of nobody's lets a WebApp have it."""

Object = Mapping[str, Any]
"""An object of the API, as JSON."""


@dataclass(frozen=True)
class Violation:
    """What an oracle found against a run."""

    oracle: str
    """`O1` to `O8`."""
    what: str
    """In a sentence."""

    def __str__(self) -> str:
        return f"{self.oracle}: {self.what}"


def clock_offset() -> float:
    """Return what is added to the monotonic clock to give the time of day, as the audit log has it."""
    return time.time() - time.monotonic()


@dataclass(frozen=True)
class Evidence:
    """One run. Times are of the monotonic clock, in seconds."""

    namespace: str
    user: str
    """The operator's, in the audit log."""
    history: History
    """What the operator sent and was sent."""
    changes: Sequence[Change]
    """Every version of every object."""
    audit: Sequence[AuditEvent]
    """All requests of anybody in the namespace, and all of the operator's anywhere else. Of an operator that serves
    all namespaces only those outside of any."""
    end: Mapping[str, Sequence[Object]]
    """By plural, the objects that were there at the end."""
    logs: str
    """All that the operator logged."""
    pages: Sequence[str] = ()
    """What the operator's HTTP server answered."""
    secrets: Sequence[str] = ()
    """Values that must appear nowhere."""
    quiet_since: float | None = None
    """From here on the operator may write nothing."""
    faults: int = 0
    """How many faults were injected."""
    edits: int = 0
    """How often the writers of storms have written."""
    patience: float = 1.0
    """By how much the run waited longer than at the usual scale."""
    served: Sequence[str] = ()
    """Other namespaces that the operator was told to serve."""
    offset: float = field(default_factory=clock_offset)

    def audited_at(self, event: AuditEvent) -> float:
        """Return when a request of the audit log arrived."""
        return datetime.fromisoformat(event.time).timestamp() - self.offset


def collect_end(cluster: Server, namespace: str) -> dict[str, list[dict[str, Any]]]:
    """Return all objects of a namespace by plural."""
    return {resource: list_objects(cluster, namespace, resource)[0] for resource in RESOURCES}


def controller(thing: Object) -> Mapping[str, Any] | None:
    """Return the controller reference of an object."""
    references = thing["metadata"].get("ownerReferences", [])
    return next((found for found in references if found.get("controller")), None)


def is_webapp(reference: Mapping[str, Any] | None) -> bool:
    """Tell whether an owner reference is to a WebApp."""
    return (
        reference is not None and reference["kind"] == "WebApp" and str(reference["apiVersion"]).startswith(f"{GROUP}/")
    )


def applied(thing: Object) -> Mapping[str, Any] | None:
    """Return the fields of an object, its status apart, that the operator has applied and owns."""
    for entry in thing["metadata"].get("managedFields", []):
        ours = entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply"
        if ours and not entry.get("subresource"):
            fields: Mapping[str, Any] = entry.get("fieldsV1", {})
            return fields
    return None


def is_foreign(thing: Object) -> bool:
    """Tell whether an object is none of the operator's: another's by its controller, or nobody's and not applied.

    One that is nobody's may be adopted if its annotation says so.
    """
    owner = controller(thing)
    if owner is not None:
        return not is_webapp(owner)
    return applied(thing) is None and ADOPT_ANNOTATION not in thing["metadata"].get("annotations", {})


def condition(webapp: Object, kind: str) -> Mapping[str, Any]:
    """Return a condition; an empty one if there is none of that type."""
    conditions = webapp.get("status", {}).get("conditions", [])
    return next((found for found in conditions if found.get("type") == kind), {})


def rollout_problem(deployment: Object) -> str | None:
    """Return what is missing until a Deployment is what its spec says; None for nothing."""
    status, wanted = deployment.get("status", {}), deployment["spec"].get("replicas", 1)
    generation = deployment["metadata"].get("generation", 0)
    if status.get("observedGeneration", 0) != generation:
        return f"observedGeneration is {status.get('observedGeneration', 0)} and generation is {generation}"
    for count in ("updatedReplicas", "replicas", "availableReplicas"):
        if status.get(count, 0) != wanted:
            return f"{count} is {status.get(count, 0)} of {wanted}"
    return None


def converged(webapp: Object, deployments: Sequence[Object]) -> str | None:
    """Return what is missing until a WebApp is Ready and all is as it says; None for nothing.

    Args:
        webapp: a WebApp.
        deployments: those of its namespace; of them one is controlled by it.
    """
    generation = webapp["metadata"]["generation"]
    observed = webapp.get("status", {}).get("observedGeneration")
    ready = condition(webapp, "Ready")
    if observed != generation:
        return f"status.observedGeneration is {observed} and metadata.generation is {generation}"
    if (ready.get("status"), ready.get("observedGeneration")) != ("True", generation):
        return f"Ready is {ready.get('status')} for {ready.get('reason')}: {ready.get('message')}"
    uid = webapp["metadata"]["uid"]
    mine = [found for found in deployments if (controller(found) or {}).get("uid") == uid]
    if len(mine) != 1:
        return f"it controls {len(mine)} Deployments"
    problem = rollout_problem(mine[0])
    return None if problem is None else f"its Deployment is not complete: {problem}"
