"""What users do to WebApps: the lives that faults are tried in."""

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
DELETE: tuple[Kubectl, ...] = (kubectl("delete", "webapp", "web", "--wait=false"),)

STEPS: dict[str, tuple[Kubectl, ...]] = {"create": CREATE, "change": CHANGE, "drift": DRIFT, "delete": DELETE}
"""The steps of a life, in their order."""


def life(until: str = "delete") -> Script:
    """Return the life of a WebApp up to and with one of `STEPS`, settled after each."""
    script: Script = ()
    for name, step in STEPS.items():
        script += (*step, Settle())
        if name == until:
            break
    return script
