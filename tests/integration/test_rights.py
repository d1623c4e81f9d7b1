"""The operator's rights: no more than it uses, no less, and what it says when it lacks one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import AuditLog
from integration.scene import CHILDREN, OPERATOR, SPEC, Scene, eventually

ROOT = Path(__file__).parents[2]
OVERLAYS = ROOT / "manifests" / "overlays"
ROLES = [OVERLAYS / "cluster" / "clusterrole.yaml", OVERLAYS / "served-namespace" / "role.yaml"]

Right = tuple[str, str, str]
"""API group, resource[/subresource] and verb."""


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
    """Return the rights that the operator has used, in a namespace or for all of them, since the mark."""
    found = set()
    for event in mark.events():
        if event.user == OPERATOR and event.resource and event.namespace in ("", namespace):
            resource = event.resource + (f"/{event.subresource}" if event.subresource else "")
            # An apply that creates needs both.
            verbs = {event.verb, "create"} if (event.verb, event.code) == ("patch", 201) else {event.verb}
            found |= {(event.group, resource, verb) for verb in verbs}
    return found


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.stem)
def test_roles_have_no_wildcard_and_no_secrets(role: Path) -> None:
    assert not [word for right in granted(role) for word in right if "*" in word]
    assert not [right for right in granted(role) if right[1].partition("/")[0] == "secrets"]
    assert all(rule.keys() == {"apiGroups", "resources", "verbs"} for rule in rules(role))


def test_both_overlays_grant_the_same() -> None:
    assert rules(ROLES[0]) == rules(ROLES[1])


def test_the_rights_are_those_that_are_used(scene: Scene) -> None:
    """A scenario that uses everything: with any one right taken away, or added, this fails."""
    mark = scene.cluster.audit()
    scene.operator.stop()
    scene.operator.start()
    scene.apply_ready()
    configuration = scene.child("configmap")["metadata"]["name"]
    without = {name: value for name, value in SPEC.items() if name not in ("ports", "config")}
    scene.apply_ready(spec={**without, "serviceAccount": {"create": False}})
    eventually(lambda: not any(scene.names(kind) for kind in CHILDREN[:3]), "what is no longer wanted is gone")
    rest = configuration.removeprefix("web")
    for kind, name in [("serviceaccount", "one"), ("configmap", "two" + rest), ("service", "three")]:
        arguments = ["clusterip", name, "--tcp=80"] if kind == "service" else [name]
        scene.kubectl("create", kind, *arguments)
    scene.kubectl("create", "deployment", "four", "--image=registry.example/other:1", "--replicas=0")
    names = ("one", "two", "three", "four")
    scene.apply_all(dict.fromkeys(names, SPEC))
    for name in names:
        scene.not_ready("NameTaken", name)
    _replaced(scene, "five")
    assert used(mark, scene.namespace) == granted(ROLES[0])


def _replaced(scene: Scene, name: str) -> None:
    """A Deployment that may be adopted, but has another selector: it is deleted without its pods and made anew."""
    selector = {"app.kubernetes.io/name": name}
    template = {
        "metadata": {"labels": {**selector, "coxswain.dev/webapp": name}},
        "spec": {"containers": [{"name": "app", "image": "registry.example/other:1"}]},
    }
    scene.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "annotations": {"coxswain.dev/adopt": name}},
            "spec": {"replicas": 0, "selector": {"matchLabels": selector}, "template": template},
        }
    )
    eventually(lambda: scene.get("deployment", name).get("status", {}).get("observedGeneration"), "it was observed")
    scene.apply_ready(name)


@pytest.fixture
def without_deployments(scene: Scene) -> Iterator[None]:
    """For a while the operator may not create Deployments."""
    path = str(OVERLAYS / "cluster" / "clusterrole.yaml")
    role = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    for rule in role["rules"]:
        if "deployments" in rule["resources"]:
            rule["verbs"].remove("create")
    scene.create(role)
    yield
    scene.kubectl("apply", "-f", path)


@pytest.mark.usefixtures("without_deployments")
def test_a_missing_right_is_told_and_recovered_from(scene: Scene) -> None:
    scene.apply()
    ready = scene.not_ready("Forbidden")
    assert "Deployment web" in ready["message"]
    assert 'cannot create resource "deployments"' in ready["message"]
    assert scene.condition("Stalled")["status"] == "False", "it is tried again"
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
