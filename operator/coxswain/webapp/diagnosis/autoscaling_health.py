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
from coxswain.webapp.diagnosis.commands import edit
from coxswain.webapp.identity import CONTAINER
from coxswain.webapp.spec import WebApp
from coxswain.webapp.times import after, moment

CONDITIONS = ("AbleToScale", "ScalingActive")
"""Conditions that are False if an autoscaler cannot scale. The first one comes first."""

GRACE = timedelta(minutes=2)
"""Metrics of a new pod are missing for up to two intervals of metrics-server, which are a minute each at most."""

_POD = re.compile(r"\b[Pp]od \S+")
_REQUEST = re.compile(r"missing request for ([\w.-]+)(?: in container (\S+))?")
_CONTAINER = re.compile(r"container (\S+) not present in metrics")
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
        Level.DEGRADED, "AutoscalerConflict", f"{problem}. The operator does not change it. {advice}", stalled=True
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
    missing, unknown = _REQUEST.search(message), _CONTAINER.search(message)
    if missing:
        return _way_to_request(webapp, *missing.groups())
    if unknown and unknown[1] not in _fields(webapp):
        return f"Check the container {unknown[1]} in spec.autoscaling.metrics: {edit(webapp)}"
    if reason == "ScalingDisabled":
        return f"To start it again: kubectl scale deployment {webapp.name} -n {webapp.namespace} --replicas=1"
    if reason in _APIS:
        return f"Check that the metrics API answers: kubectl get apiservices | grep {_APIS[reason]}"
    return f"See its conditions: kubectl describe hpa {webapp.name} -n {webapp.namespace}"


def _way_to_request(webapp: WebApp, resource: str, container: str | None) -> str:
    """Return the next step for a container without a request. Sidecars and injected containers count, too."""
    field = _fields(webapp).get(container or CONTAINER)
    if field is not None:
        return f"Set {field}.requests.{resource}, or use another metric: {edit(webapp)}"
    problem = f"Container {container} is not of the WebApp: set its request where it comes from"
    other = f"measure container {CONTAINER} alone by containerResource in spec.autoscaling.metrics"
    return f"{problem}, or {other}: {edit(webapp)}"


def _fields(webapp: WebApp) -> dict[str, str]:
    """Return the field with the resources of each container that has metrics."""
    sidecars = [each["name"] for each in webapp.spec.get("sidecars", [])]
    return {CONTAINER: "spec.resources", **{name: f"spec.sidecars[name={name}].resources" for name in sidecars}}
