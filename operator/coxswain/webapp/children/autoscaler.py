"""The HorizontalPodAutoscaler of `spec.autoscaling`."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection, Rules, only, whole
from coxswain.kernel.objects.quantity import canonical
from coxswain.kernel.status.health import Health, Level
from coxswain.kernel.workload import ChildType, Desired, Explanation, Removal, World
from coxswain.webapp.autoscalers import DECIDED, of_others
from coxswain.webapp.diagnosis.autoscaling_health import CONDITIONS, conflict, failing
from coxswain.webapp.identity import metadata
from coxswain.webapp.kinds import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER
from coxswain.webapp.spec import WebApp
from coxswain.webapp.spec.scaling import Autoscaling, Metric, ScalingRules

DEFAULT_CPU = 80
"""Target in percent of the CPU request, if the spec has no metric. It is Kubernetes' own default."""

_SCALE_UP: ScalingRules = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_SCALE_DOWN: ScalingRules = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}
"""Kubernetes' defaults. They are written out: a field that is removed from the spec then leaves nothing behind."""


def horizontal_pod_autoscaler(webapp: WebApp, autoscaling: Autoscaling) -> Manifest:
    """Return the HorizontalPodAutoscaler."""
    behavior = autoscaling.get("behavior", {})
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata(webapp),
        "spec": {
            "scaleTargetRef": {"apiVersion": DEPLOYMENT.api_version, "kind": DEPLOYMENT.kind, "name": webapp.name},
            "minReplicas": autoscaling.get("minReplicas", 1),
            "maxReplicas": autoscaling["maxReplicas"],
            "metrics": _metrics(autoscaling),
            "behavior": {
                "scaleUp": {**_SCALE_UP, **behavior.get("scaleUp", {})},
                "scaleDown": {**_SCALE_DOWN, **behavior.get("scaleDown", {})},
            },
        },
    }


def _metrics(autoscaling: Autoscaling) -> list[Manifest]:
    resources = {name: autoscaling.get(name) for name in ("cpu", "memory")}
    metrics = [_utilization(name, percent) for name, percent in resources.items() if isinstance(percent, int)]
    metrics += [_metric(metric) for metric in autoscaling.get("metrics", [])]
    return metrics or [_utilization("cpu", DEFAULT_CPU)]


def _utilization(name: str, percent: int) -> Manifest:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": name, "target": target}}


def _metric(metric: Metric) -> Manifest:
    """Return a metric as the API has it, with its type."""
    (source, content), *_ = metric.items()
    given: dict[str, Any] = dict(content) if isinstance(content, Mapping) else {}
    return {"type": source[0].upper() + source[1:], source: {**given, "target": _target(given["target"])}}


def _target(target: Mapping[str, Any]) -> Manifest:
    if "averageUtilization" in target:
        return {"type": "Utilization", "averageUtilization": target["averageUtilization"]}
    if "averageValue" in target:
        return {"type": "AverageValue", "averageValue": canonical(target["averageValue"])}
    return {"type": "Value", "value": canonical(target["value"])}


def _desired(webapp: WebApp, world: World) -> Desired | None:
    autoscaling = webapp.spec.get("autoscaling")
    if autoscaling is None:
        return None
    others = of_others(webapp, world)
    # Two autoscalers of one Deployment disable each other, so the one that works is left alone.
    withheld = conflict(webapp, others) if others else None
    return Desired(horizontal_pod_autoscaler(webapp, autoscaling), withheld=withheld)


def _projected(raw: Mapping[str, Any]) -> Manifest:
    """Return an autoscaler with its decision, and the conditions that tell of a problem.

    Its metrics change all the time.
    """
    conditions = [
        only(each, ("type", "status", "reason", "message", "lastTransitionTime"))
        for each in raw.get("status", {}).get("conditions", [])
        if each.get("type") in CONDITIONS and each.get("status") == "False"
    ]
    projected = whole(HORIZONTAL_POD_AUTOSCALER, DECIDED)(raw)
    return {**projected, "status": {**projected["status"], "conditions": conditions}}


def _explain(webapp: WebApp, live: Projection, health: Health, world: World, now: datetime) -> Explanation:
    """Report other autoscalers, and after a while why this one does not scale."""
    others = of_others(webapp, world)
    if others:
        return Explanation(conflict(webapp, others))
    return Explanation(health) if health.message else failing(webapp, live.content, now)


TYPE = ChildType(
    HORIZONTAL_POD_AUTOSCALER,
    _desired,
    rules=Rules(_projected, namesake=str),
    health=lambda _: Health(Level.HEALTHY, explainable=True),
    explain=_explain,
    identity=("spec.scaleTargetRef",),
    needs=(DEPLOYMENT,),
    removal=Removal.AT_ONCE,
)
