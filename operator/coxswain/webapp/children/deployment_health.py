"""The health of a Deployment.

It follows `kubectl rollout status` and kstatus
(https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md).
"""

from collections.abc import Mapping
from typing import Any

from coxswain.kernel.objects.manifests import condition
from coxswain.kernel.status.health import Health, Level
from coxswain.webapp.diagnosis.pods import ROLLING_OUT

REPLICA_FAILURE = "ReplicaFailure"
"""Condition of a Deployment and of a ReplicaSet."""

DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"
"""Reason of the condition Progressing of a Deployment, and of its health."""


def deployment_health(live: Mapping[str, Any]) -> Health:
    """Return the health of a Deployment, as `kubectl rollout status` and kstatus judge it."""
    status = live.get("status", {})
    wanted = live.get("spec", {}).get("replicas", 1)
    # Pods of both revisions may be ready during a rollout: avoid "3 of 2".
    message = f"{ROLLING_OUT}{min(status.get('readyReplicas', 0), wanted)} of {wanted} pods ready"
    if status.get("observedGeneration", 0) < live["metadata"].get("generation", 0):
        return Health(Level.PROGRESSING, "RollingOut", message, unobserved=True, uncounted=True)
    progress, failure = condition(live, "Progressing"), refusal(live)
    if progress.get("reason") == DEADLINE_EXCEEDED:
        message = str(progress.get("message", ""))
        return Health(Level.DEGRADED, DEADLINE_EXCEEDED, message, stalled=True, failed=True, explainable=True)
    if failure is not None:
        return Health(Level.DEGRADED, failure.get("reason", "ReplicaFailure"), failure["message"], explainable=True)
    if is_complete(live):
        return Health(Level.HEALTHY, explainable=True)
    uncounted = status.get("updatedReplicas", 0) == 0 < wanted
    return Health(Level.PROGRESSING, "RollingOut", message, explainable=True, uncounted=uncounted)


def is_complete(deployment: Mapping[str, Any]) -> bool:
    """Tell whether all counted pods of a Deployment are available and of its newest revision."""
    status = deployment.get("status", {})
    wanted = deployment.get("spec", {}).get("replicas", 1)
    counts = [status.get(name, 0) for name in ("updatedReplicas", "replicas", "availableReplicas")]
    return all(count == wanted for count in counts)


def is_of_one_template(deployment: Mapping[str, Any]) -> bool:
    """Tell whether all pods of a Deployment, available or not, are of its current template."""
    status = deployment.get("status", {})
    observed = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    return bool(observed and status.get("updatedReplicas", 0) == status.get("replicas", 0))


def is_rollout_paused(deployment: Mapping[str, Any]) -> bool:
    """Tell whether somebody paused the rollout of a Deployment. Kubernetes then counts no progress deadline."""
    return bool(deployment.get("spec", {}).get("paused")) and not is_of_one_template(deployment)


def refusal(live: Mapping[str, Any]) -> Mapping[str, str] | None:
    """Return the condition of a Deployment or ReplicaSet with pods that cannot be created.

    Both controllers keep the message of the first refusal while the reason is the same. So the newest ReplicaSet has
    the message about the newest revision.
    """
    failure = condition(live, REPLICA_FAILURE)
    return {"message": "", **failure} if failure.get("status") == "True" else None
