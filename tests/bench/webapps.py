"""The measured WebApps, their children and their status, as templates for every peer."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from coxswain.webapp.kinds import WEBAPP
from rendered import desired, observe, webapp_of

NAMESPACES = tuple(f"bench-{number}" for number in range(10))
IMAGE = "registry.example/shop:1"
NEXT_IMAGE = "registry.example/shop:2"
ASIDE_GROUP = "aside.example"
"""A group with a copy of the WebApp's schema and rules that no operator watches."""
CONDITIONS = ("Ready", "Progressing", "Available", "Stalled", "Conflicted", "Contested")


def place(number: int) -> tuple[str, str]:
    """Return the namespace and name of a WebApp; the namespaces alternate."""
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
    """Return the definition of the copy, from the WebApp's."""
    spec = definition["spec"]
    names = {key: value for key, value in spec["names"].items() if key not in ("shortNames", "categories")}
    return {
        **definition,
        "metadata": {"name": f"{spec['names']['plural']}.{ASIDE_GROUP}"},
        "spec": {**spec, "group": ASIDE_GROUP, "names": names},
    }


def children_template() -> list[dict[str, Any]]:
    """Return coxswain's own manifests of the children, with the placeholders NAME, NAMESPACE, UID and IMAGE.

    The replicas have the default of the schema. The image has a tag here, because its absence changes the pull policy.
    """
    raw = webapp("NAMESPACE", "NAME", "IMAGE:TAG")
    raw["metadata"] |= {"uid": "UID", "resourceVersion": "1", "generation": 1}
    raw["spec"] |= {"replicas": 1}
    manifests: list[dict[str, Any]] = filled(
        json.dumps(desired(webapp_of(observe(WEBAPP, raw)))), {"IMAGE:TAG": "IMAGE"}
    )
    return manifests


def filled(template: str, values: Mapping[str, str]) -> Any:
    """Return a template (JSON text) with replaced placeholders: the longest first, because NAMESPACE contains NAME."""
    for placeholder in sorted(values, key=len, reverse=True):
        template = template.replace(placeholder, values[placeholder])
    return json.loads(template)


def children(template: str, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the desired children of a WebApp in the server's form."""
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
    """Return a status of the usual size, with the given readiness and no real data."""
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
    """Return whether a WebApp is Ready at its current generation."""
    status, generation = found.get("status", {}), found["metadata"]["generation"]
    ready: Mapping[str, Any] = next((each for each in status.get("conditions", []) if each["type"] == "Ready"), {})
    observed = {status.get("observedGeneration"), ready.get("observedGeneration")}
    return ready.get("status") == "True" and observed == {generation}


def is_available(deployment: Mapping[str, Any], image: str) -> bool:
    """Return whether a Deployment has rolled out this image completely."""
    spec, status = deployment["spec"], deployment.get("status", {})
    if spec["template"]["spec"]["containers"][0]["image"] != image:
        return False
    counts = [status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")]
    observed = status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
    return observed and counts == [spec["replicas"]] * 3


def contains(found: Any, wanted: Any) -> bool:
    """Return whether an object has all wanted values, and possibly more, in maps and in list entries."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            key in found and contains(found[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return len(found) >= len(wanted) and all(map(contains, found, wanted))
    return bool(found == wanted)
