"""Specs with every pod field, for the schema walk: the golden one, and others for fields that exclude each other."""

from pathlib import Path
from typing import Any

from yaml_files import document

ROOT = Path(__file__).parents[2]
_EXPRESSION = [{"key": "tier", "operator": "In", "values": ["web", "db"]}]
_SELECTOR = {"matchLabels": {"app": "db"}, "matchExpressions": _EXPRESSION}
_TERM = {
    "topologyKey": "kubernetes.io/hostname",
    "labelSelector": _SELECTOR,
    "namespaces": ["data"],
    "namespaceSelector": _SELECTOR,
    "matchLabelKeys": ["team"],
}
_TERMS = {
    "requiredDuringSchedulingIgnoredDuringExecution": [_TERM],
    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": _TERM}],
}
_HANDLERS = [
    {"httpGet": {"path": "/a", "port": "stats", "scheme": "HTTP", "httpHeaders": [{"name": "X-A", "value": "1"}]}},
    {"tcpSocket": {"port": "stats"}},
    {"grpc": {"port": 9100, "service": "a"}},
    {"exec": {"command": ["/bin/check"]}},
]
_SOURCES = [
    {"configMapKeyRef": {"name": "shared", "key": "a", "optional": False}},
    {"secretKeyRef": {"name": "secret", "key": "a", "optional": False}},
    {"fieldRef": {"fieldPath": "metadata.name"}},
    {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}},
]
_ENVIRONMENT = {
    "env": [{"name": f"V{number}", "valueFrom": source} for number, source in enumerate(_SOURCES)],
    "envFrom": [{"configMapRef": {"name": "shared", "optional": True}}, {"secretRef": {"name": "s", "optional": True}}],
    "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "64Mi"}},
}


def pod_bases() -> list[dict[str, Any]]:
    """Return specs that together have every pod field, but no pods."""
    golden = {**document(ROOT / "tests" / "golden" / "in" / "pods.yaml")["spec"], "replicas": 0}
    migrate, *rest = golden["initContainers"]
    proxy, *others = golden["sidecars"]
    ports = [{"name": "stats", "containerPort": 9100}]
    full = {**golden, "affinity": {**golden["affinity"], "podAffinity": _TERMS, "podAntiAffinity": _TERMS}}
    full["initContainers"] = [{**migrate, **_ENVIRONMENT}, *rest]
    probes = [
        {
            "startupProbe": _HANDLERS[number],
            "readinessProbe": _HANDLERS[(number + 1) % 4],
            "livenessProbe": _HANDLERS[(number + 3) % 4],
        }
        for number in range(4)
    ]
    return [
        golden,
        *({**full, "sidecars": [{**proxy, **_ENVIRONMENT, "ports": ports, **probe}, *others]} for probe in probes),
    ]
