"""Fields of a WebApp's children written by other managers, and foreign objects."""

from typing import Any

from simulation.scripts import JSON_PATCH, Field, Manifest, label_field, replace_at
from simulation.workloads.webapp.judge import LABEL


def _with_replicas(manifest: Manifest, value: Any) -> Manifest:
    return {**manifest, "spec": {**manifest["spec"], "replicas": value}}


def _with_image(manifest: Manifest, value: Any) -> Manifest:
    template = manifest["spec"]["template"]
    containers = [{**found, "image": value} for found in template["spec"]["containers"]]
    template = {**template, "spec": {**template["spec"], "containers": containers}}
    return {**manifest, "spec": {**manifest["spec"], "template": template}}


FIELDS: dict[str, Field] = {
    "image": Field(
        "deployments",
        lambda thing: thing["spec"]["template"]["spec"]["containers"][0]["image"],
        replace_at("/spec/template/spec/containers/0/image"),
        ("other:1", "other:2"),
        JSON_PATCH,
        in_manifest=_with_image,
    ),
    "replicas": Field(
        "deployments",
        lambda thing: thing["spec"].get("replicas", 1),
        lambda value: {"spec": {"replicas": value}},
        (4, 5),
        in_manifest=_with_replicas,
    ),
    "label": label_field("deployments", "app.kubernetes.io/name", "theirs"),
    "webapp label": label_field("deployments", LABEL, None),
    "service label": label_field("services", LABEL, None, "web-0"),
    "port": Field(
        "services",
        lambda thing: thing["spec"]["ports"][0]["port"],
        replace_at("/spec/ports/0/port"),
        (9090,),
        JSON_PATCH,
    ),
    "account label": label_field("serviceaccounts", "app.kubernetes.io/managed-by", "Helm"),
    "policy label": label_field("networkpolicies", "app.kubernetes.io/name", "theirs"),
    "scaler label": label_field("horizontalpodautoscalers", "app.kubernetes.io/name", "theirs"),
    "budget label": label_field("poddisruptionbudgets", "app.kubernetes.io/name", "theirs"),
    "route label": label_field("httproutes", "app.kubernetes.io/name", "theirs"),
    "route hosts": Field(
        "httproutes",
        lambda thing: thing["spec"].get("hostnames"),
        lambda value: {"spec": {"hostnames": value}},
        (["other.example.com"], None),
    ),
    "ingress label": label_field("ingresses", "app.kubernetes.io/name", "theirs"),
    "ingress class": Field(
        "ingresses",
        lambda thing: thing["spec"].get("ingressClassName"),
        lambda value: {"spec": {"ingressClassName": value}},
        ("other",),
    ),
    "config label": label_field("configmaps", "app.kubernetes.io/instance", "theirs"),
}


def applied(_name: str, image: str) -> tuple[str, Manifest]:
    """Return the manifest that a GitOps tool applies to a Deployment."""
    return "image", {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": image}]}}}}


def foreign(plural: str, name: str, ours: bool) -> Manifest:
    """Return the spec of a foreign object; `ours` puts our label on its pods, and makes a Service a NodePort."""
    if plural == "services":
        kind = {"type": "NodePort"} if ours else {}
        return {"spec": {"selector": {"app": name}, "ports": [{"name": "web", "port": 8888}], **kind}}
    if plural == "ingresses":
        return {"spec": {"rules": [{"host": "old.example.com"}]}}
    if plural == "httproutes":
        return {"spec": {"parentRefs": [{"name": "old"}], "rules": [{"backendRefs": [{"name": name, "port": 8888}]}]}}
    if plural != "deployments":
        return {}
    pod_labels = {"app": name, **({LABEL: name} if ours else {})}
    template = {"metadata": {"labels": pod_labels}, "spec": {"containers": [{"name": "app", "image": "before:1"}]}}
    # Expressions cannot be kept at an adoption, so a Deployment whose pods have our label is replaced around them.
    expressions = {"matchExpressions": [{"key": "app", "operator": "In", "values": [name]}]}
    selector = expressions if ours else {"matchLabels": {"app": name}}
    return {"spec": {"replicas": 3, "selector": selector, "template": template}}
