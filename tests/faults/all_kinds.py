"""The life of a WebApp with a child of each kind. Kubectl steps take the part of its Gateway and Ingress controller."""

import json
from typing import Any

from fault_engine.lives import Steps
from fault_engine.script import Kubectl, apply, kubectl
from faults.lives import SPEC, webapp

GATEWAY = {"name": "public", "namespace": "infra"}
NEW_KINDS = (
    "networkpolicies",
    "poddisruptionbudgets",
    "horizontalpodautoscalers",
    "ingresses",
    "httproutes",
    "controllerrevisions",
)
"""The kinds of children that get faults. The other fault tests have enough for the other kinds."""
ROUTES = ("web", "web-api")
"""The names of its HTTPRoutes."""


def full(image: str, host: str, most: int, config: str) -> dict[str, Any]:
    """Return a spec with a child of each kind. Each argument changes some of the children, all of them each child."""
    return {
        **{name: value for name, value in SPEC.items() if name != "replicas"},
        "image": f"registry.example/{image}",
        "config": {"GREETING": config},
        "autoscaling": {
            "minReplicas": 2,
            "maxReplicas": most + 2,
            "metrics": [{"resource": {"name": "cpu", "target": {"averageValue": "100m"}}}],
        },
        "disruption": {"maxUnavailable": most},
        "network": {"ingress": [{"from": {"namespaces": [host]}}]},
        "ingress": {"className": "nginx", "hosts": [{"host": f"{host}.example.com"}]},
        "routes": [
            {"parentRefs": [GATEWAY], "hostnames": [f"{host}.example.com"]},
            {"name": "api", "parentRefs": [GATEWAY], "hostnames": [f"api.{host}.example.com"]},
        ],
    }


FULL = full("web:1", "shop", 1, "hello")
CHANGED = full("web:2", "store", 2, "good morning")


def _report(kind: str, name: str, status: dict[str, Any]) -> tuple[Kubectl, ...]:
    """Return the steps that wait for an object, and write its status.

    The operator may restart several times before it creates the object.
    """
    text = json.dumps({"status": status})
    return (
        kubectl("wait", f"{kind}/{name}", "--for=create", "--timeout=60s"),
        kubectl("patch", kind, name, "--subresource=status", "--type=merge", "--patch", text),
    )


def _accepted(**listener: str) -> dict[str, Any]:
    """Return the status of an HTTPRoute that its Gateway accepts. It is valid for each generation."""
    shared = {"status": "True", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    conditions = [{"type": kind, "reason": kind, **shared} for kind in ("Accepted", "ResolvedRefs")]
    parent = {"group": "gateway.networking.k8s.io", "kind": "Gateway", **GATEWAY, **listener}
    return {
        "parents": [{"parentRef": parent, "controllerName": "example.com/gateway", "conditions": conditions}],
    }


ASSIGNED = _report("ingress", "web", {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}})
"""The Ingress controller assigns an address."""
ACCEPTED = tuple(step for name in ROUTES for step in _report("httproute", name, _accepted()))
"""The controller of the Gateway accepts both HTTPRoutes."""

ROUTED = {
    **{name: value for name, value in FULL.items() if name not in ("autoscaling", "routes")},
    "ingress": {
        "className": "nginx",
        "annotations": {"example.com/timeout": "10s"},
        "hosts": [
            {"host": "shop.example.com", "paths": [{"path": "/"}, {"path": "/exact", "pathType": "Exact"}]},
            {"host": "store.example.com"},
        ],
        "tls": [{"hosts": ["shop.example.com"], "secretName": "shop"}],
    },
    "routes": [
        {
            "parentRefs": [{**GATEWAY, "sectionName": "https"}],
            "hostnames": ["shop.example.com", "store.example.com"],
            "rules": [
                {"path": {"value": "/api"}, "method": "GET", "headers": [{"name": "X-Team", "value": "a"}]},
                {"timeouts": {"request": "10s"}},
            ],
        }
    ],
}
"""A spec with one Ingress and one HTTPRoute, and with each of their fields."""

CREATE_ROUTED = (
    apply(webapp(ROUTED)),
    *ASSIGNED,
    *_report("httproute", "web", _accepted(sectionName="https")),
)
CREATE = apply(webapp(FULL))
CHANGE = apply(webapp(CHANGED))

EDITS: tuple[tuple[str, str, Any], ...] = (
    ("networkpolicy", "web", {"spec": {"policyTypes": ["Ingress", "Egress"]}}),
    ("poddisruptionbudget", "web", {"spec": {"maxUnavailable": 9}}),
    ("hpa", "web", {"spec": {"maxReplicas": 9}}),
    ("ingress", "web", {"spec": {"ingressClassName": "another"}}),
    ("httproute", "web", {"spec": {"hostnames": ["another.example.com"]}}),
    ("httproute", "web-api", {"metadata": {"labels": {"app.kubernetes.io/managed-by": None}}}),
)
"""Changes of the children by a user, which the operator reverts."""
DRIFT = tuple(
    kubectl("patch", kind, name, "--type=merge", "--patch", json.dumps(change)) for kind, name, change in EDITS
)
LOSE = (
    kubectl("delete", "networkpolicy,poddisruptionbudget,hpa,ingress", "web"),
    kubectl("delete", "httproute", *ROUTES),
    kubectl("delete", "controllerrevision", "-l", "{label}=web"),
)

STEPS: Steps = {
    "create": (CREATE, *ASSIGNED, *ACCEPTED),
    "change": (CHANGE,),
    "drift": DRIFT,
    "lose": (*LOSE, *ASSIGNED, *ACCEPTED),
}
"""The steps of the life, for `fault_engine.lives.life`."""
