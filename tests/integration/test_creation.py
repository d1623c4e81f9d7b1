"""Creation of a WebApp: its children, its status, and the output of `kubectl`."""

import json
from typing import Any

from integration.scene import CHILDREN, SPEC, Scene, eventually

STANDARD_LABELS = {
    "coxswain.dev/webapp": "web",
    "app.kubernetes.io/name": "web",
    "app.kubernetes.io/instance": "web",
    "app.kubernetes.io/managed-by": "coxswain",
}
OWN_LABELS = {"example.com/team": "storefront"}


def test_children_bear_labels_and_the_owner_reference(scene: Scene) -> None:
    webapp = scene.apply_ready(spec={**SPEC, "labels": OWN_LABELS, "annotations": {"example.com/contact": "me"}})
    children = scene.children()
    for kind in CHILDREN:
        metadata = children[kind]["metadata"]
        assert metadata["labels"] == {**STANDARD_LABELS, **OWN_LABELS}
        assert metadata["annotations"]["example.com/contact"] == "me"
        assert metadata["ownerReferences"] == [
            {
                "apiVersion": "coxswain.dev/v1",
                "kind": "WebApp",
                "name": "web",
                "uid": webapp["metadata"]["uid"],
                "controller": True,
            }
        ]
    for kind in ("serviceaccount", "service", "deployment"):
        assert children[kind]["metadata"]["name"] == "web"


def test_children_are_as_the_spec_says(scene: Scene) -> None:
    scene.apply_ready(spec={**SPEC, "replicas": 2, "files": [{"path": "/etc/web/a.txt", "content": "text"}]})
    children = scene.children()
    configuration = children["configmap"]
    assert configuration["immutable"] is True
    assert configuration["data"]["GREETING"] == "hello"
    assert sorted(configuration["data"].values()) == ["hello", "text"]
    assert children["serviceaccount"]["automountServiceAccountToken"] is False
    port = {"name": "http", "port": 8080, "targetPort": "http", "protocol": "TCP"}
    assert children["service"]["spec"]["ports"] == [port]
    assert children["service"]["spec"]["selector"] == {"coxswain.dev/webapp": "web"}
    deployment = children["deployment"]["spec"]
    assert deployment["replicas"] == 2
    assert deployment["selector"] == {"matchLabels": {"coxswain.dev/webapp": "web"}}
    assert deployment["template"]["metadata"]["labels"] == STANDARD_LABELS
    pod = deployment["template"]["spec"]
    assert pod["serviceAccountName"] == "web"
    assert pod["automountServiceAccountToken"] is False
    _check_container(pod["containers"], configuration)


def _check_container(containers: list[dict[str, Any]], configuration: dict[str, Any]) -> None:
    (container,) = containers
    name = configuration["metadata"]["name"]
    (key,) = [key for key, value in configuration["data"].items() if value == "text"]
    assert container["image"] == SPEC["image"]
    assert container["ports"] == [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]
    assert container["env"] == [
        {"name": "GREETING", "valueFrom": {"configMapKeyRef": {"name": name, "key": "GREETING"}}}
    ]
    assert container["volumeMounts"] == [
        {"name": "files", "mountPath": "/etc/web/a.txt", "subPath": key, "readOnly": True}
    ]
    assert container["readinessProbe"]["tcpSocket"] == {"port": "http"}


def test_without_ports_no_service_and_without_config_no_config_map(scene: Scene) -> None:
    webapp = scene.apply_ready(spec={"image": SPEC["image"]})
    assert scene.names("service") == []
    assert scene.names("configmap") == []
    assert "url" not in webapp["status"]
    assert [child["kind"] for child in webapp["status"]["children"]] == [
        "ServiceAccount",
        "Deployment",
        "ControllerRevision",
    ]


def test_the_status_matches_the_children(scene: Scene) -> None:
    scene.apply_ready(spec={**SPEC, "replicas": 2})
    eventually(lambda: scene.get("webapp")["status"].get("updatedReplicas") == 2, "the status counts pods")
    status = scene.get("webapp")["status"]
    conditions = {found["type"]: (found["status"], found["reason"]) for found in status["conditions"]}
    assert conditions == {
        "Ready": ("True", "Ready"),
        "Progressing": ("False", "Complete"),
        "Available": ("True", "MinimumReplicasAvailable"),
        "Stalled": ("False", "NotStalled"),
        "Conflicted": ("False", "NoConflict"),
        "Contested": ("False", "NotContested"),
    }
    assert (status["replicas"], status["readyReplicas"]) == (2, 2)
    assert status["selector"] == "coxswain.dev/webapp=web"
    assert status["url"] == f"http://web.{scene.namespace}.svc:8080"
    assert {(child["kind"], child["name"], child["health"]) for child in status["children"]} == {
        ("ServiceAccount", "web", "Healthy"),
        ("ConfigMap", scene.child("configmap")["metadata"]["name"], "Healthy"),
        ("Service", "web", "Healthy"),
        ("PodDisruptionBudget", "web", "Healthy"),
        ("Deployment", "web", "Healthy"),
        ("ControllerRevision", scene.child("controllerrevision")["metadata"]["name"], "Healthy"),
    }


def test_kubectl_shows_columns_and_scale(scene: Scene) -> None:
    scene.apply_ready()
    header, row = scene.kubectl("get", "wa").splitlines()
    assert header.split() == ["NAME", "READY", "REASON", "REPLICAS", "IMAGE", "URL", "AGE"]
    assert row.split()[:-1] == ["web", "True", "Ready", "1", SPEC["image"], f"http://web.{scene.namespace}.svc:8080"]
    scale = json.loads(scene.kubectl("get", "webapp", "web", "--subresource=scale", "-o", "json"))
    assert scale["spec"]["replicas"] == 1
    assert scale["status"] == {"replicas": 1, "selector": "coxswain.dev/webapp=web"}


def test_pods_meet_pod_security_restricted(scene: Scene) -> None:
    scene.kubectl("label", "namespace", scene.namespace, "pod-security.kubernetes.io/enforce=restricted")
    scene.apply_ready(spec={**SPEC, "files": [{"path": "/etc/web/a.txt", "content": "text"}]})
    assert len(scene.names("pod")) == 1
