"""The operator's RBAC rights: exactly those it uses, and its message if one is missing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import AuditLog
from integration.gateways import GATEWAY
from integration.scene import CHILDREN, GUARDS, OPERATOR, SPEC, Scene, eventually
from integration.test_pod_fields import not_prepared
from integration.test_pods import the_pod

ROOT = Path(__file__).parents[2]
OVERLAYS = ROOT / "manifests" / "overlays"
ROUTES = ROOT / "manifests" / "overlays" / "routes" / "role.yaml"
ROLES = [OVERLAYS / "cluster" / "clusterrole.yaml", OVERLAYS / "served-namespace" / "role.yaml"]

Right = tuple[str, str, str]
"""API group, resource[/subresource] and verb."""

GUARDED = {**SPEC, "network": {"defaultDeny": True}, "autoscaling": {"maxReplicas": 2}}
AFTER_A_CONFLICT = {
    ("policy", "poddisruptionbudgets", "get"),
    ("autoscaling", "horizontalpodautoscalers", "get"),
}
"""Used only after a 409: their watches have no label selector, so an object with a taken name is in the cache."""


def rules(role: Path) -> list[dict[str, list[str]]]:
    found: list[dict[str, list[str]]] = yaml.safe_load(role.read_text(encoding="utf-8"))["rules"]
    return found


def granted(role: Path) -> set[Right]:
    return {
        (group, resource, verb)
        for rule in rules(role)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def used(mark: AuditLog, namespace: str) -> set[Right]:
    """Return the rights used by the operator since the mark, in a namespace or cluster-wide."""
    found = set()
    for event in mark.events():
        if event.user == OPERATOR and event.resource and event.namespace in ("", namespace):
            resource = event.resource + (f"/{event.subresource}" if event.subresource else "")
            # An apply that creates an object needs both.
            verbs = {event.verb, "create"} if (event.verb, event.code) == ("patch", 201) else {event.verb}
            found |= {(event.group, resource, verb) for verb in verbs}
    return found


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.stem)
def test_roles_have_no_wildcard_and_no_secrets(role: Path) -> None:
    assert not [word for right in granted(role) for word in right if "*" in word]
    assert not [right for right in granted(role) if right[1].partition("/")[0] == "secrets"]
    assert all(rule.keys() == {"apiGroups", "resources", "verbs"} for rule in rules(role))


def test_both_overlays_grant_the_same() -> None:
    assert granted(ROLES[0]) == granted(ROLES[1]) | granted(ROUTES)


@pytest.mark.slow
def test_the_rights_are_those_that_are_used(scene: Scene) -> None:
    """The scenario uses all rights: without any one of them, or with another one, the test fails."""
    mark = scene.cluster.audit()
    scene.operator.stop()
    scene.operator.start()
    scene.apply_ready(spec=GUARDED)
    scene.patch("poddisruptionbudget", {"spec": {"maxUnavailable": 2}})
    scene.patch("horizontalpodautoscaler", {"spec": {"maxReplicas": 9}})
    eventually(lambda: scene.get("poddisruptionbudget")["spec"]["maxUnavailable"] == 1, "it is corrected")
    eventually(lambda: scene.get("horizontalpodautoscaler")["spec"]["maxReplicas"] == 2, "it is corrected")
    configuration = scene.child("configmap")["metadata"]["name"]
    without = {name: value for name, value in SPEC.items() if name not in ("ports", "config")}
    without["rollout"] = {"revisionHistoryLimit": 0}
    scene.apply_ready(spec={**without, "serviceAccount": {"create": False}})
    unwanted = (*CHILDREN[:3], *GUARDS)
    eventually(lambda: not any(scene.names(kind) for kind in unwanted), "unwanted children are deleted")
    rest = configuration.removeprefix("web")
    for kind, name in [("serviceaccount", "one"), ("configmap", "two" + rest), ("service", "three")]:
        arguments = ["clusterip", name, "--tcp=80"] if kind == "service" else [name]
        scene.kubectl("create", kind, *arguments)
    scene.kubectl("create", "deployment", "four", "--image=registry.example/other:1", "--replicas=0")
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "six"}}
    scene.create({**policy, "spec": {"podSelector": {"matchLabels": {"a": "b"}}}})
    names = ("one", "two", "three", "four", "six")
    scene.apply_all({**dict.fromkeys(names, SPEC), "six": GUARDED})
    for name in names:
        scene.not_ready("NameTaken", name)
    _exposed(scene)
    _replaced(scene, "five")
    _stuck(scene, "eight")
    _rolled_back(scene, "nine")
    assert used(mark, scene.namespace) | AFTER_A_CONFLICT == granted(ROLES[0])


def _exposed(scene: Scene) -> None:
    """Create a WebApp whose HTTPRoute and Ingress have taken names, then free, change and remove them."""
    spec = {**SPEC, "routes": [{"parentRefs": [GATEWAY]}], "ingress": {"hosts": [{"host": "a.example.com"}]}}
    group, backend = "networking.k8s.io/v1", {"service": {"name": "any", "port": {"number": 80}}}
    named = {"metadata": {"name": "seven"}}
    scene.create({"apiVersion": f"gateway.{group}", "kind": "HTTPRoute", **named, "spec": {"parentRefs": [GATEWAY]}})
    scene.create({"apiVersion": group, "kind": "Ingress", **named, "spec": {"defaultBackend": backend}})
    scene.apply("seven", spec)
    scene.not_ready("NameTaken", "seven")
    for kind in ("httproute", "ingress"):
        scene.kubectl("annotate", kind, "seven", "coxswain.dev/adopt=seven")
        scene.patch("webapp", {"spec": {"annotations": {f"example.com/{kind}": "now"}}}, "seven")
    eventually(lambda: scene.names("httproute", "seven") and scene.names("ingress", "seven"), "both are adopted")
    scene.kubectl("delete", "httproute,ingress", "seven")
    eventually(lambda: scene.names("httproute", "seven") and scene.names("ingress", "seven"), "both are created")
    scene.apply_ready("seven")
    eventually(lambda: not (scene.names("httproute", "seven") or scene.names("ingress", "seven")), "both are removed")


def _rolled_back(scene: Scene, name: str) -> None:
    """Roll a WebApp back, which reads a revision, and release another spec, which prunes the revisions."""
    rollout = {"onFailure": "Rollback", "progressDeadlineSeconds": 2, "revisionHistoryLimit": 0}
    spec = {**SPEC, "rollout": rollout}
    scene.apply_ready(name, spec)
    scene.apply(name, {**spec, "annotations": {"kwok.test/fate": "image-missing"}})
    scene.not_ready("RolledBack", name)
    scene.apply_ready(name, {**spec, "image": "registry.example/web:3"})
    eventually(lambda: len(scene.names("controllerrevision", name)) == 1, "old revisions are pruned")


def _stuck(scene: Scene, name: str) -> None:
    """A WebApp with a pod whose volumes the kubelet has failed to mount for minutes."""
    scene.apply(name, {**SPEC, "annotations": {"kwok.test/fate": "never-ready"}})
    not_prepared(scene, the_pod(scene, name), 500)
    scene.not_ready("ContainerCreating", name)


def _replaced(scene: Scene, name: str) -> None:
    """Replace an adoptable Deployment with another selector: it is deleted without its pods and created again."""
    expression = {"key": "app.kubernetes.io/name", "operator": "In", "values": [name]}
    template = {
        "metadata": {"labels": {"app.kubernetes.io/name": name, "coxswain.dev/webapp": name}},
        "spec": {"containers": [{"name": "app", "image": "registry.example/other:1"}]},
    }
    scene.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "annotations": {"coxswain.dev/adopt": name}},
            "spec": {"replicas": 0, "selector": {"matchExpressions": [expression]}, "template": template},
        }
    )
    eventually(lambda: scene.get("deployment", name).get("status", {}).get("observedGeneration"), "it is observed")
    scene.apply_ready(name)


@pytest.fixture
def without_deployments(scene: Scene) -> Iterator[None]:
    """Remove the operator's right to create Deployments during the test."""
    path = str(OVERLAYS / "cluster" / "clusterrole.yaml")
    role = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    for rule in role["rules"]:
        if "deployments" in rule["resources"]:
            rule["verbs"].remove("create")
    scene.create(role)
    yield
    scene.kubectl("apply", "-f", path)


@pytest.mark.usefixtures("without_deployments")
def test_a_missing_right_is_reported_and_recovered_from(scene: Scene) -> None:
    scene.apply()
    ready = scene.not_ready("Forbidden")
    assert "Deployment web" in ready["message"]
    assert 'cannot create resource "deployments"' in ready["message"]
    assert scene.condition("Stalled")["status"] == "False", "it is retried"
    assert scene.names("service") == ["web"]
    scene.kubectl("apply", "-f", str(OVERLAYS / "cluster" / "clusterrole.yaml"))
    scene.ready()


def test_the_operator_can_read_no_secret(scene: Scene) -> None:
    attributes: dict[str, Any] = {"verb": "get", "resource": "secrets", "namespace": scene.namespace}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": OPERATOR, "resourceAttributes": attributes},
    }
    answer = json.loads(scene.kubectl("create", "-f", "-", "-o", "json", input=json.dumps(review)))
    assert answer["status"]["allowed"] is False
