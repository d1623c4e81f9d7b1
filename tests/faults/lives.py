"""The lives of WebApps: the user commands that the fault tests run."""

import json
from typing import Any

from fault_engine.lives import CREATE, Steps
from fault_engine.script import Kubectl, apply, kubectl, patch

SPEC: dict[str, Any] = {
    "image": "registry.example/web:1",
    "runAsUser": 1000,
    "replicas": 2,
    "ports": [{"name": "http", "containerPort": 8080}],
    "config": {"GREETING": "hello"},
    "env": [{"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "credentials", "key": "PASSWORD"}}}],
}
"""A WebApp with five children and a reference to the Secret of the run."""

CHANGED: dict[str, Any] = {**SPEC, "image": "registry.example/web:2", "config": {"GREETING": "good morning"}}
"""The same, with a change that needs a rollout and another ConfigMap."""


def webapp(spec: dict[str, Any], name: str = "web") -> dict[str, Any]:
    """Return a WebApp without a history: how many specs are recorded depends on the faults."""
    kept = {"rollout": {"revisionHistoryLimit": 0, **spec.get("rollout", {})}}
    return {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": {"name": name}, "spec": {**spec, **kept}}


LIFE: dict[str, tuple[Kubectl, ...]] = {
    "create": (apply(webapp(SPEC, "{name}")),),
    "change": (apply(webapp(CHANGED, "{name}")),),
    "edit": (patch("webapp", "{name}", '{"spec": {"replicas": {number}}}'),),
    "edit main": (patch("deployment", "{name}", '{"spec": {"replicas": {number}}}'),),
    "drift": (
        kubectl("delete", "service", "{name}"),
        # A change without creating or deleting pods, whose number would depend on timing.
        patch("deployment", "{name}", {"spec": {"strategy": {"rollingUpdate": {"maxUnavailable": 1}}}}),
        kubectl("label", "serviceaccount", "{name}", "app.kubernetes.io/managed-by-"),
    ),
    "switch": (
        # Another port number with the same name: the server refuses two ports with one name, so an apply alone fails.
        patch("service", "{name}", [{"op": "replace", "path": "/spec/ports/0/port", "value": 81}], way="json"),
    ),
    "lose": (kubectl("delete", "configmap", "-l", "{label}={name}", "--wait=false"),),
    "recreate": (apply(webapp(CHANGED, "{name}")),),
    "delete": (kubectl("delete", "webapp", "{name}", "--wait=false"),),
    "canary": (
        apply(webapp({"image": "registry.example/canary:{number}", "runAsUser": 1000, "replicas": 0}, "{name}")),
    ),
}
"""The steps of `fault_engine.workload.LIFE`."""


def autoscaler() -> dict[str, Any]:
    """Return a user's autoscaler for the Deployment. Without metrics, its controller does nothing."""
    cpu = {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "100m"}}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "scaler"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 1,
            "maxReplicas": 8,
            "metrics": [{"type": "Resource", "resource": cpu}],
        },
    }


def autoscale(count: int) -> Kubectl:
    """Return a step in place of the autoscaler's controller: it sets the scale of the Deployment."""
    as_controller = ("--subresource=scale", "--field-manager=kube-controller-manager", "--type=merge")
    return kubectl("patch", "deployment", "web", *as_controller, "--patch", json.dumps({"spec": {"replicas": count}}))


AUTOSCALED: Steps = {
    "create": CREATE,
    "transfer": (apply(autoscaler()),),
    "autoscale": (autoscale(4),),
    "change": (patch("webapp", "web", {"spec": {"image": "registry.example/web:2"}}),),
    "take back": (kubectl("delete", "hpa", "scaler"),),
    "scale": (patch("webapp", "web", {"spec": {"replicas": 3}}),),
}
"""The steps of a life in which an autoscaler owns the replicas for some time."""
