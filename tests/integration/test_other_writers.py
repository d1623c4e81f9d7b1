"""Legitimate writers of the children: kubectl rollout and scale, injectors, policies."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from integration.co_writing import co_writer
from integration.scene import OPERATOR, SPEC, Scene, eventually

SIDECAR = {
    "name": "proxy",
    "image": "registry.example/proxy:1",
    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
}
"""Meets Pod Security `restricted`; an Event reports pods that do not (test_pod_security.py)."""
RESTARTED = "kubectl.kubernetes.io/restartedAt"


def test_a_rollout_restart_is_kept(scene: Scene) -> None:
    scene.apply_ready()
    (old,) = scene.names("pod")
    mark = scene.cluster.audit()
    scene.kubectl("rollout", "restart", "deployment/web")
    eventually(lambda: scene.names("pod") not in ([], [old]) and old not in scene.names("pod"), "a new pod")
    scene.ready()
    assert scene.settled(mark).keys() <= {"patch webapps/status"}
    assert RESTARTED in scene.get("deployment")["spec"]["template"]["metadata"]["annotations"]
    scene.apply_ready(spec={**SPEC, "image": "registry.example/web:2"})
    assert RESTARTED in scene.get("deployment")["spec"]["template"]["metadata"]["annotations"]


def test_kubectl_scale_webapp_is_followed(scene: Scene) -> None:
    scene.apply_ready()
    scene.kubectl("scale", "webapp", "web", "--replicas=3")
    eventually(lambda: scene.get("webapp")["status"].get("readyReplicas") == 3, "three pods are ready")
    assert scene.get("deployment")["spec"]["replicas"] == 3
    scene.kubectl("scale", "webapp", "web", "--replicas=0")
    eventually(lambda: scene.names("pod") == [], "no pod is left")
    assert scene.ready()["status"]["readyReplicas"] == 0


def test_kubectl_scale_deployment_is_corrected_with_an_event(scene: Scene) -> None:
    scene.apply_ready()
    scene.kubectl("scale", "deployment", "web", "--replicas=2")
    advice = f"To scale, set spec.replicas: kubectl edit webapp web -n {scene.namespace}"
    eventually(lambda: any(advice in event["note"] for event in scene.events()), "an Event gives the command")
    eventually(lambda: scene.get("deployment")["spec"]["replicas"] == 1, "the replicas are corrected")
    (event,) = [event for event in scene.events() if event["reason"] == "DriftCorrected"]
    assert "reverted Deployment web: spec.replicas 2 to 1" in event["note"]


def test_an_injected_sidecar_is_left_alone(scene: Scene) -> None:
    scene.apply_ready()
    mark = scene.cluster.audit()
    container = "/spec/template/spec/containers/0"
    scene.json_patch("deployment", {"op": "add", "path": container, "value": SIDECAR})
    eventually(lambda: scene.get("deployment")["status"].get("observedGeneration", 0) > 1, "the rollout has begun")
    scene.ready()
    assert scene.settled(mark).keys() <= {"patch webapps/status"}
    scene.apply_ready(spec={**SPEC, "image": "registry.example/web:2"})
    containers = scene.get("deployment")["spec"]["template"]["spec"]["containers"]
    images = [(container["name"], container["image"]) for container in containers]
    assert images == [("proxy", SIDECAR["image"]), ("app", "registry.example/web:2")]


@contextmanager
def mutating_policy(scene: Scene, value: str) -> Iterator[None]:
    """Let the API server set one of our labels on the namespace's Services and Deployments, at each write."""
    group = "admissionregistration.k8s.io/v1"
    name = f"relabel-{scene.namespace}"
    rules = [
        {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["services"], "operations": ["CREATE", "UPDATE"]},
        {
            "apiGroups": ["apps"],
            "apiVersions": ["v1"],
            "resources": ["deployments"],
            "operations": ["CREATE", "UPDATE"],
        },
    ]
    path = "/metadata/labels/app.kubernetes.io~1name"
    mutation = {
        "patchType": "JSONPatch",
        "jsonPatch": {"expression": f'[JSONPatch{{op: "add", path: "{path}", value: {value}}}]'},
    }
    policy: dict[str, Any] = {
        "apiVersion": group,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": rules},
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "mutations": [mutation],
        },
    }
    selector = {"matchLabels": {"kubernetes.io/metadata.name": scene.namespace}}
    binding = {
        "apiVersion": group,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "matchResources": {"namespaceSelector": selector}},
    }
    scene.create({"apiVersion": "v1", "kind": "List", "items": [policy, binding]})
    try:
        probe = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "probe", "labels": {"any": "label"}}}
        text = json.dumps({**probe, "spec": {"ports": [{"port": 80}]}})
        eventually(
            lambda: (
                "app.kubernetes.io/name"
                in scene.kubectl("create", "-f", "-", "--dry-run=server", "-o", "yaml", input=text)
            ),
            "the policy is in force",
        )
        yield
    finally:
        scene.kubectl("delete", "mutatingadmissionpolicybinding,mutatingadmissionpolicy", name)


CONSTANT = '"held"'
GROWING = (
    'oldObject != null && "app.kubernetes.io/name" in oldObject.metadata.labels'
    ' ? oldObject.metadata.labels["app.kubernetes.io/name"] + "x" : "x"'
)


@pytest.mark.slow
@pytest.mark.parametrize("value", [CONSTANT, GROWING], ids=["the same each time", "another each time"])
def test_a_policy_that_changes_our_value_is_not_fought(scene: Scene, value: str) -> None:
    mark = scene.cluster.audit()
    with mutating_policy(scene, value):
        scene.apply_ready()
        scene.settled(mark)
        assert scene.get("service")["metadata"]["labels"]["app.kubernetes.io/name"] != "web"
        messages = [child.get("message", "") for child in scene.get("webapp")["status"]["children"]]
        assert sum("admission policy" in message for message in messages) == 2, "both children are reported"
        scene.kubectl("label", "service/web", "deployment/web", "other.example/touched=yes")
        requests = scene.settled(mark)
        assert requests <= Counter(
            {"patch services": 1, "patch deployments": 1, "patch webapps/status": 1, "create events": 1}
        )


@pytest.mark.slow
def test_a_conflict_with_a_busy_writer_is_no_warning_in_the_log(scene: Scene) -> None:
    """Several writes of the operator get a 409, and are repeated after a read."""
    scene.apply_ready()
    mark, read, images = scene.cluster.audit(), len(scene.operator.logged()), iter(range(2, 1000))
    refused: set[str] = set()

    def enough() -> bool:
        scene.apply(spec={**SPEC, "image": f"registry.example/web:{next(images)}"})
        refused.update(
            event.audit_id
            for event in mark.events()
            if (event.user, event.verb, event.code) == (OPERATOR, "patch", 409)
        )
        return len(refused) >= 3

    body = {"metadata": {"annotations": {"example.com/seen": "{n}"}}}
    with co_writer(scene, "busy", "update", "deployments/web", body, every=0.005):
        eventually(enough, "three conflicts", pause=0.3)
    scene.ready()
    lines = [line for line in scene.operator.logged()[read:].splitlines() if f"{scene.namespace}/web" in line]
    assert any("applied Deployment web" in line for line in lines)
    assert [line for line in lines if line.split()[1] not in ("info", "debug")] == []
