"""What users do to WebApps: the lives that faults are tried in."""

import json
from collections.abc import Mapping
from typing import Any

from faults.script import Kubectl, Script, Settle, apply, kubectl, patch

SPEC: dict[str, Any] = {
    "image": "registry.example/web:1",
    "runAsUser": 1000,
    "replicas": 2,
    "ports": [{"name": "http", "containerPort": 8080}],
    "config": {"GREETING": "hello"},
    "env": [{"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "credentials", "key": "PASSWORD"}}}],
}
"""A WebApp with four children that refers to the Secret of the run."""

CHANGED: dict[str, Any] = {**SPEC, "image": "registry.example/web:2", "config": {"GREETING": "good morning"}}
"""The same after a change that needs a rollout and another ConfigMap."""


def webapp(spec: dict[str, Any], name: str = "web") -> dict[str, Any]:
    """Return a WebApp."""
    return {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": {"name": name}, "spec": spec}


CREATE: tuple[Kubectl, ...] = (apply(webapp(SPEC)),)
CHANGE: tuple[Kubectl, ...] = (apply(webapp(CHANGED)),)
DRIFT: tuple[Kubectl, ...] = (
    kubectl("delete", "service", "web"),
    # A change that makes no pods and takes none, so that their number doesn't hang on who is quicker.
    patch("deployment", "web", {"spec": {"strategy": {"rollingUpdate": {"maxUnavailable": 1}}}}),
    kubectl("label", "serviceaccount", "web", "app.kubernetes.io/managed-by-"),
)
SWITCH: tuple[Kubectl, ...] = (
    # The port has another number and keeps its name: ours can't stand beside it before it is taken over.
    patch("service", "web", [{"op": "replace", "path": "/spec/ports/0/port", "value": 81}], way="json"),
)
DELETE: tuple[Kubectl, ...] = (kubectl("delete", "webapp", "web", "--wait=false"),)

STEPS: dict[str, tuple[Kubectl, ...]] = {
    "create": CREATE,
    "change": CHANGE,
    "drift": DRIFT,
    "switch": SWITCH,
    "delete": DELETE,
}
"""The steps of a life, in their order."""


def autoscaler() -> dict[str, Any]:
    """Return an autoscaler that someone made for the Deployment. Without metrics it does nothing by itself."""
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
    """Return the step of the autoscaler's controller: it sets the scale of the Deployment."""
    as_controller = ("--subresource=scale", "--field-manager=kube-controller-manager", "--type=merge")
    return kubectl("patch", "deployment", "web", *as_controller, "--patch", json.dumps({"spec": {"replicas": count}}))


AUTOSCALED: dict[str, tuple[Kubectl, ...]] = {
    "create": CREATE,
    "hand over": (apply(autoscaler()),),
    "autoscale": (autoscale(4),),
    "change": (patch("webapp", "web", {"spec": {"image": "registry.example/web:2"}}),),
    "take back": (kubectl("delete", "hpa", "scaler"),),
    "scale": (patch("webapp", "web", {"spec": {"replicas": 3}}),),
}
"""The steps of a life in which the replicas are an autoscaler's for a while."""


def life(until: str = "delete", steps: Mapping[str, tuple[Kubectl, ...]] = STEPS) -> Script:
    """Return the life of a WebApp up to and with one of its steps, settled after each."""
    script: Script = ()
    for name, step in steps.items():
        script += (*step, Settle())
        if name == until:
            break
    return script
