"""The health of a Deployment.

It follows `kubectl rollout status` and kstatus
(https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md).
"""

import re
from collections.abc import Mapping
from typing import Any

from coxswain.kernel.objects.manifests import condition
from coxswain.kernel.status.health import HEALTHY, Health, Level
from coxswain.webapp.pods import ROLLING_OUT


def deployment_health(live: Mapping[str, Any]) -> Health:
    """Return the health of a Deployment, as `kubectl rollout status` and kstatus judge it."""
    status = live.get("status", {})
    wanted = live.get("spec", {}).get("replicas", 1)
    # Pods of both revisions may be ready during a rollout: avoid "3 of 2".
    message = f"{ROLLING_OUT}{min(status.get('readyReplicas', 0), wanted)} of {wanted} pods ready"
    if status.get("observedGeneration", 0) < live["metadata"].get("generation", 0):
        return Health(Level.PROGRESSING, "RollingOut", message, unobserved=True, uncounted=True)
    progress, failure = condition(live, "Progressing"), condition(live, "ReplicaFailure")
    if progress.get("reason") == "ProgressDeadlineExceeded":
        message = str(progress.get("message", ""))
        return Health(Level.DEGRADED, "ProgressDeadlineExceeded", message, stalled=True, for_pods=True)
    if failure.get("status") == "True":
        reason = str(failure.get("reason", "ReplicaFailure"))
        return Health(Level.DEGRADED, reason, _failed_create(str(failure.get("message", ""))), for_pods=True)
    if is_complete(live):
        return HEALTHY
    uncounted = status.get("updatedReplicas", 0) == 0 < wanted
    return Health(Level.PROGRESSING, "RollingOut", message, for_pods=True, uncounted=uncounted)


def is_complete(deployment: Mapping[str, Any]) -> bool:
    """Tell whether all counted pods of a Deployment are available and of its newest revision."""
    status = deployment.get("status", {})
    wanted = deployment.get("spec", {}).get("replicas", 1)
    counts = [status.get(name, 0) for name in ("updatedReplicas", "replicas", "availableReplicas")]
    return all(count == wanted for count in counts)


def _failed_create(message: str) -> str:
    """Return the message of a failed pod creation without the pod's name, because each attempt has another name."""
    forbidden = re.fullmatch(r'pods "[^"]*" is forbidden: (.*?)\.?', message, re.DOTALL)
    if forbidden is None:
        return message
    advice = "Check the quotas and the Pod Security level of the namespace"
    return f"pods cannot be created: {forbidden[1]}. Kubernetes retries with backoff. {advice}"
