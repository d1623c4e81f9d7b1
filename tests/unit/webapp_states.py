"""WebApps in every state that the operator can report. The operator's own code computes each status."""

from collections.abc import Mapping, Sequence
from typing import Any

from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.status.conflict_report import Conflict
from coxswain.kernel.status.health import (
    HEALTHY,
    MISSING,
    Child,
    Health,
    changed_by_admission,
    contested,
    denied,
    differs,
    halted,
    held_back,
    name_taken,
    not_written,
    rejected,
    terminating,
)
from coxswain.webapp.diagnosis.cause import Cause, Rank
from coxswain.webapp.diagnosis.pods import Diagnosis, explained
from coxswain.webapp.status import status
from rendered import health, observations
from unit.objects import COMMANDS, observed_child, webapp

NOW = "2026-01-01T00:00:00Z"

WebApp = dict[str, Any]


def deployment(*conditions: Mapping[str, Any], observed: int = 1, ready: int = 0) -> dict[str, Any]:
    """Return a Deployment of two pods as observed."""
    counts = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": ready, "availableReplicas": ready}
    return {
        "kind": "Deployment",
        "metadata": {"generation": 1},
        "spec": {"replicas": 2},
        "status": {"observedGeneration": observed, **counts, "conditions": list(conditions)},
    }


LATE = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "has timed out"}
REFUSED = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota: few"}


def of_pods(reason: str, rank: Rank, *conditions: Mapping[str, Any]) -> Health:
    """Return the health of a Deployment whose pods report this cause."""
    live = deployment(*conditions)
    cause = Cause(rank, reason, f"the cause is {reason}")
    return explained(health(live), live, Diagnosis(cause, pods=("web-1",), of=2))


HEALTHS: Mapping[str, Health] = {
    "healthy": HEALTHY,
    "held by an admission policy": changed_by_admission(HEALTHY, "spec.replicas", COMMANDS),
    "complete": health(deployment(ready=2)),
    "missing": MISSING,
    "terminating": terminating(observed_child(), COMMANDS),
    "held back": held_back("ConfigMap web-1", there=False),
    "held back, and there": held_back("ConfigMap web-1", there=True),
    "not observed": health(deployment(observed=0, ready=2)),
    "rolling out": health(deployment(ready=1)),
    "past its deadline": health(deployment(LATE)),
    "past its deadline, with a cause": of_pods("ImagePullBackOff", Rank.NOT_MADE, LATE),
    "no pod can be made": health(deployment(REFUSED)),
    "name taken": name_taken("ReplicaSet other", "kubectl describe deployment web -n shop"),
    "rejected": rejected("too large", COMMANDS, there=True),
    "forbidden": not_written("Forbidden", "exceeded quota: none"),
    "denied": denied('admission webhook "x" denied the request: no', COMMANDS),
    "no answer": not_written("WriteFailed", "no answer"),
    "differs while paused": differs("spec.replicas", COMMANDS),
    "halted": halted("spec.replicas (flux)", COMMANDS),
    "contested": contested("spec.replicas (flux)", COMMANDS, two_operators=False),
    "InvalidImageName": of_pods("InvalidImageName", Rank.NOT_MADE),
    "ErrImageNeverPull": of_pods("ErrImageNeverPull", Rank.NOT_MADE),
    "ImagePullBackOff": of_pods("ImagePullBackOff", Rank.NOT_MADE),
    "CreateContainerConfigError": of_pods("CreateContainerConfigError", Rank.NOT_MADE),
    "CreateContainerError": of_pods("CreateContainerError", Rank.NOT_MADE),
    "RunContainerError": of_pods("RunContainerError", Rank.NOT_MADE),
    "CrashLoopBackOff": of_pods("CrashLoopBackOff", Rank.CRASHES),
    "OOMKilled": of_pods("OOMKilled", Rank.CRASHES),
    "Unschedulable": of_pods("Unschedulable", Rank.UNSCHEDULED),
    "ContainerCreating": of_pods("ContainerCreating", Rank.NOT_PREPARED),
    "ReadinessProbeFailing": of_pods("ReadinessProbeFailing", Rank.UNREADY),
    "StartupProbeFailing": of_pods("StartupProbeFailing", Rank.UNREADY),
    "Evicted": of_pods("Evicted", Rank.FAILED),
}
"""Every health of a child, by a name for its problem."""


def held_field(policy: Policy, *, contested: bool = False) -> Conflict:
    """Return a field owned by another manager with another value."""
    return Conflict("Deployment/web", "spec.replicas", "flux", policy, differs=True, contested=contested)


def reported(
    *healths: Health, generation: int = 1, observed: int | None = None, fields: Sequence[Conflict] = (), **spec: Any
) -> WebApp:
    """Return a WebApp with these healths of its children, and the operator's status for generation `observed`."""
    children = [Child("Deployment", f"web-{number}", state) for number, state in enumerate(healths)]
    if HEALTHS["contested"] in healths:
        fields = [*fields, held_field(Policy.ENFORCE, contested=True)]
    seen = webapp(generation=generation if observed is None else observed, **spec)
    found = observations(children, deployment(ready=2), held=fields)
    return {**unreported(generation, **spec), "status": dict(status(seen, found, {}, NOW))}


def unreported(generation: int = 1, **spec: Any) -> WebApp:
    """Return a WebApp without a status."""
    metadata = {"name": "web", "namespace": "shop", "uid": "uid-1", "generation": generation}
    body = dict(webapp(**spec).spec)
    return {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": metadata, "spec": body}


def deleted(webapp: WebApp) -> WebApp:
    """Return the WebApp with a deletionTimestamp."""
    return {**webapp, "metadata": {**webapp["metadata"], "deletionTimestamp": NOW}}


def saying(webapp: WebApp, *changes: Mapping[str, Any]) -> WebApp:
    """Return the WebApp with changed conditions. Each change has a type."""
    found: Sequence[Mapping[str, Any]] = webapp["status"]["conditions"]
    base = {"observedGeneration": webapp["metadata"]["generation"], "lastTransitionTime": NOW, "reason": "Changed"}
    for change in changes:
        before = next((each for each in found if each["type"] == change["type"]), base)
        found = [*(each for each in found if each["type"] != change["type"]), {**before, **change}]
    return {**webapp, "status": {**webapp["status"], "conditions": list(found)}}
