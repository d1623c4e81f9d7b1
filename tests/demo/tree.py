"""A tree of WebApps and their dependents for people, and the reasons why WebApps are not Ready."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

KINDS = ("WebApp", "ServiceAccount", "ConfigMap", "Service", "EndpointSlice", "Deployment", "ReplicaSet", "Pod")
"""The kinds in the tree, in order."""

Object = Mapping[str, Any]
"""An object as returned by the API server."""


def readiness(webapp: Object) -> tuple[str, str | None]:
    """Return a WebApp's name, and the reason why it is not Ready at its generation, or None."""
    name, status = webapp["metadata"]["name"], webapp.get("status", {})
    if status.get("observedGeneration") != webapp["metadata"]["generation"]:
        return name, "not reconciled yet"
    ready = _condition(webapp, "Ready")
    return name, None if ready.get("status") == "True" else f"{ready.get('reason')}: {ready.get('message')}"


def tree(objects: Sequence[Object]) -> list[str]:
    """Return lines that draw the WebApps and their dependents, by owner references."""
    owned: defaultdict[str, list[Object]] = defaultdict(list)
    for found in sorted(objects, key=lambda found: (KINDS.index(found["kind"]), found["metadata"]["name"])):
        for reference in found["metadata"].get("ownerReferences", []):
            if reference.get("controller"):
                owned[reference["uid"]].append(found)
    lines = []
    for webapp in (found for found in objects if found["kind"] == "WebApp"):
        lines += [_line(webapp), *_branches(webapp, owned)]
    return lines


def _branches(parent: Object, owned: Mapping[str, list[Object]]) -> list[str]:
    children = owned.get(parent["metadata"]["uid"], [])
    lines = []
    for child in children:
        last = child is children[-1]
        lines.append(("└─ " if last else "├─ ") + _line(child))
        lines += [("   " if last else "│  ") + line for line in _branches(child, owned)]
    return lines


def _line(found: Object) -> str:
    describe = _STATES.get(found["kind"])
    return f"{found['kind']} {found['metadata']['name']}" + (f"  ({describe(found)})" if describe else "")


def _condition(found: Object, name: str) -> Object:
    conditions: Sequence[Object] = found.get("status", {}).get("conditions", [])
    return next((condition for condition in conditions if condition["type"] == name), {})


def _webapp_state(webapp: Object) -> str:
    ready, status = _condition(webapp, "Ready"), webapp.get("status", {})
    url = f"; {status['url']}" if "url" in status else ""
    return f"{'' if ready.get('status') == 'True' else 'not '}Ready: {ready.get('message', '')}{url}"


def _service_state(service: Object) -> str:
    ports = ", ".join(f"{port['port']}/{port['protocol']}" for port in service["spec"].get("ports", []))
    return f"{service['spec']['type']} {service['spec'].get('clusterIP', '')}, {ports}"


def _replicas_state(found: Object) -> str:
    return f"{found.get('status', {}).get('readyReplicas', 0)} of {found['spec']['replicas']} ready"


def _pod_state(pod: Object) -> str:
    ready = "ready" if _condition(pod, "Ready").get("status") == "True" else "not ready"
    return f"{pod['status']['phase']}, {ready}, on {pod['spec'].get('nodeName', 'no node yet')}"


def _addresses(found: Object) -> list[str]:
    return [address for endpoint in found.get("endpoints") or [] for address in endpoint["addresses"]]


_STATES: Mapping[str, Callable[[Object], str]] = {
    "WebApp": _webapp_state,
    "ConfigMap": lambda found: ", ".join(sorted(found.get("data", {}))),
    "Service": _service_state,
    "EndpointSlice": lambda found: ", ".join(_addresses(found)) or "no address",
    "Deployment": _replicas_state,
    "ReplicaSet": _replicas_state,
    "Pod": _pod_state,
}
