"""The WebApps that are measured with, their children and their status, as templates that every peer can fill in."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from coxswain.webapp.kinds import WEBAPP
from rendered import desired, observe, webapp_of

NAMESPACES = tuple(f"bench-{number}" for number in range(10))
IMAGE = "registry.example/shop:1"
NEXT_IMAGE = "registry.example/shop:2"
ASIDE_GROUP = "aside.example"
"""A group with a twin of the WebApp, schema and rules and all, that no operator looks at."""
CONDITIONS = ("Ready", "Progressing", "Available", "Stalled", "Conflicted", "Contested")


def place(number: int) -> tuple[str, str]:
    """Return namespace and name of a WebApp: all namespaces in turn."""
    return NAMESPACES[number % len(NAMESPACES)], f"web-{number:05}"


def webapp(namespace: str, name: str, image: str = IMAGE) -> dict[str, Any]:
    """Return a WebApp with all four kinds of children."""
    return {
        "apiVersion": WEBAPP.api_version,
        "kind": WEBAPP.kind,
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "image": image,
            "ports": [{"name": "http", "containerPort": 8080}],
            "config": {"GREETING": "hello"},
        },
    }


def aside_definition(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definition of the twin, given the WebApp's."""
    spec = definition["spec"]
    names = {key: value for key, value in spec["names"].items() if key not in ("shortNames", "categories")}
    return {
        **definition,
        "metadata": {"name": f"{spec['names']['plural']}.{ASIDE_GROUP}"},
        "spec": {**spec, "group": ASIDE_GROUP, "names": names},
    }


def children_template() -> list[dict[str, Any]]:
    """Return coxswain's own manifests of the children, with NAME, NAMESPACE, UID and IMAGE in them.

    The replicas are left at the one that is the default of the schema.
    """
    raw = webapp("NAMESPACE", "NAME", "IMAGE")
    raw["metadata"] |= {"uid": "UID", "resourceVersion": "1", "generation": 1}
    raw["spec"] |= {"replicas": 1}
    return desired(webapp_of(observe(WEBAPP, raw)))


def filled(template: str, values: Mapping[str, str]) -> Any:
    """Return a template, JSON as text, with its placeholders replaced: the longest first, as NAME is in NAMESPACE."""
    for placeholder in sorted(values, key=len, reverse=True):
        template = template.replace(placeholder, values[placeholder])
    return json.loads(template)


def children(template: str, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the children that a WebApp, as the server has it, should have."""
    metadata = found["metadata"]
    values = {
        "NAME": metadata["name"],
        "NAMESPACE": metadata["namespace"],
        "UID": metadata["uid"],
        "IMAGE": found["spec"]["image"],
    }
    manifests: list[dict[str, Any]] = filled(template, values)
    return manifests


def bare_status(found: Mapping[str, Any], *, ready: bool, now: str) -> dict[str, Any]:
    """Return a status of the usual size that knows nothing: as ready as it is told to be."""
    generation = found["metadata"]["generation"]
    count = int(ready)
    truth = {"Ready": ready, "Progressing": not ready, "Available": ready}
    conditions = [
        {
            "type": kind,
            "status": str(truth.get(kind, False)),
            "observedGeneration": generation,
            "reason": "Written",
            "message": "written without a look at the cluster",
            "lastTransitionTime": now,
        }
        for kind in CONDITIONS
    ]
    counts = {"replicas": count, "updatedReplicas": count, "readyReplicas": count}
    return {"observedGeneration": generation, **counts, "conditions": conditions}


def is_ready(found: Mapping[str, Any]) -> bool:
    """Tell whether a WebApp says that it is ready, at its present generation."""
    status, generation = found.get("status", {}), found["metadata"]["generation"]
    ready: Mapping[str, Any] = next((each for each in status.get("conditions", []) if each["type"] == "Ready"), {})
    observed = {status.get("observedGeneration"), ready.get("observedGeneration")}
    return ready.get("status") == "True" and observed == {generation}


def is_available(deployment: Mapping[str, Any], image: str) -> bool:
    """Tell whether a Deployment has rolled this image out: all pods, and no others."""
    spec, status = deployment["spec"], deployment.get("status", {})
    if spec["template"]["spec"]["containers"][0]["image"] != image:
        return False
    counts = [status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")]
    observed = status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
    return observed and counts == [spec["replicas"]] * 3


def contains(found: Any, wanted: Any) -> bool:
    """Tell whether what was found has all that is wanted, and perhaps more: in maps, and in the entries of lists."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            key in found and contains(found[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return len(found) >= len(wanted) and all(map(contains, found, wanted))
    return bool(found == wanted)
