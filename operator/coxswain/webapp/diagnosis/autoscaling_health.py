"""Why an autoscaler does not scale, from its conditions.

It is a message and no failure: the Deployment keeps its count, and its pods decide whether the application is ready.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.objects.quote import abridged, quoted
from coxswain.kernel.status.health import HEALTHY, Health, Level
from coxswain.kernel.workload import Explanation
from coxswain.webapp.autoscalers import scales_deployment
from coxswain.webapp.diagnosis.cause import after, moment
from coxswain.webapp.diagnosis.commands import edit
from coxswain.webapp.spec import WebApp

CONDITIONS = ("AbleToScale", "ScalingActive")
"""Conditions that are False if an autoscaler cannot scale. The first one comes first."""

GRACE = timedelta(minutes=2)
"""Metrics of a new pod are missing for up to two intervals of metrics-server, which are a minute each at most."""

_POD = re.compile(r"\b[Pp]od \S+")
_REQUEST = re.compile(r"missing request for ([\w.-]+)(?: in container (\S+))?")
_APIS = {
    "FailedGetResourceMetric": "metrics.k8s.io",
    "FailedGetContainerResourceMetric": "metrics.k8s.io",
    "FailedGetPodsMetric": "custom.metrics.k8s.io",
    "FailedGetObjectMetric": "custom.metrics.k8s.io",
    "FailedGetExternalMetric": "external.metrics.k8s.io",
}
"""The API with the metrics, by the reason for its absence."""


def conflict(webapp: WebApp, others: Sequence[Projection]) -> Health:
    """Return the health of the autoscaler while others target the same pods."""
    first = others[0]
    target = "Deployment" if scales_deployment(first) else "WebApp"
    problem = f"HorizontalPodAutoscaler {first.name} targets {target} {webapp.name} as well, and only one can scale it"
    delete = f"kubectl delete hpa {first.name} -n {webapp.namespace}"
    advice = f"Remove spec.autoscaling, or delete the other autoscaler: {delete}"
    return Health(
        Level.DEGRADED, "AutoscalerConflict", f"{problem}. coxswain does not change it. {advice}", stalled=True
    )


def failing(webapp: WebApp, autoscaler: Mapping[str, Any], now: datetime) -> Explanation:
    """Return the health of an autoscaler with the cause, if it has not been able to scale for a while."""
    conditions = {each.get("type"): each for each in autoscaler.get("status", {}).get("conditions", [])}
    condition = next((conditions[name] for name in CONDITIONS if name in conditions), None)
    if condition is None:
        return Explanation(HEALTHY)
    reported_at = after(moment(condition.get("lastTransitionTime")), GRACE)
    if reported_at is not None and now < reported_at:
        return Explanation(HEALTHY, reported_at)
    reason, message = str(condition.get("reason") or ""), str(condition.get("message") or "")
    problem = "does not scale, so the Deployment keeps its count. Kubernetes retries"
    text = quoted(f"{problem}. {_advice(webapp, reason, message)}", abridged(_POD.sub("a pod", message)))
    return Explanation(Health(Level.HEALTHY, "NotScaling", text))


def _advice(webapp: WebApp, reason: str, message: str) -> str:
    missing = _REQUEST.search(message)
    if missing:
        return f"Set {_field_of(webapp, missing[2])}.requests.{missing[1]}, or use another metric: {edit(webapp)}"
    if reason == "ScalingDisabled":
        return f"To start it again: kubectl scale deployment {webapp.name} -n {webapp.namespace} --replicas=1"
    if reason in _APIS:
        return f"Check that the metrics API answers: kubectl get apiservices | grep {_APIS[reason]}"
    return f"See its conditions: kubectl describe hpa {webapp.name} -n {webapp.namespace}"


def _field_of(webapp: WebApp, container: str | None) -> str:
    """Return the field with the resources of a container. Requests of sidecars count, too."""
    sidecars = [each["name"] for each in webapp.spec.get("sidecars", [])]
    return f"spec.sidecars[name={container}].resources" if container in sidecars else "spec.resources"
