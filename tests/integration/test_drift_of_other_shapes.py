"""Drift of fields that exclude each other, or need an object of the cluster: the fault suite has the other fields."""

from typing import Any

import pytest

from integration.scene import SPEC, Scene, eventually

HTTP = {"name": "http", "port": 80, "targetPort": "http"}
SERVICES: dict[str, tuple[dict[str, Any], Any]] = {
    "externalTrafficPolicy": ({"type": "NodePort", "ports": [HTTP], "externalTrafficPolicy": "Local"}, "Cluster"),
    "internalTrafficPolicy": ({"ports": [HTTP], "internalTrafficPolicy": "Local"}, "Cluster"),
    "trafficDistribution": ({"ports": [HTTP], "trafficDistribution": "PreferClose"}, "PreferSameNode"),
    "loadBalancerSourceRanges": (
        {"type": "LoadBalancer", "ports": [HTTP], "loadBalancerSourceRanges": ["192.0.2.0/25"]},
        ["192.0.2.128/25"],
    ),
    "publishNotReadyAddresses": ({"ports": [HTTP], "publishNotReadyAddresses": True}, False),
    "sessionAffinityConfig": (
        {"ports": [HTTP], "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}}},
        {"clientIP": {"timeoutSeconds": 70}},
    ),
    "externalName": ({"type": "ExternalName", "externalName": "a.example.com"}, "b.example.com"),
}
"""By field: the Service of the spec, and another value."""
REQUIRED = ("externalName",)
"""Fields that the API server does not let anybody remove."""
SERVER_SETS = ("externalTrafficPolicy", "internalTrafficPolicy", "sessionAffinityConfig")
"""Fields that get a default after a removal."""


@pytest.mark.parametrize("field", SERVICES)
def test_a_field_of_a_service_is_put_back(scene: Scene, field: str) -> None:
    service, other = SERVICES[field]
    scene.apply_ready(spec={**SPEC, "service": service})
    before = scene.get("service")["spec"]
    assert before[field] == service[field]
    assert _change(scene, "service", {"op": "replace", "path": f"/spec/{field}", "value": other}) == 200
    eventually(lambda: scene.get("service")["spec"] == before, f"{field} is put back after a change")
    status = _change(scene, "service", {"op": "remove", "path": f"/spec/{field}"})
    assert status == (422 if field in REQUIRED else 200)
    eventually(lambda: scene.get("service")["spec"] == before, f"{field} is put back after its removal")
    drift = eventually(lambda: scene.get("webapp")["status"].get("drift"), "the corrections are reported")
    assert {each["object"] for each in drift} == {"Service/web"}


@pytest.mark.parametrize(
    ("path", "other"),
    [("nodeSelector", {"kubernetes.io/os": "windows"}), ("priorityClassName", "other-of-{}")],
)
def test_a_field_of_pods_with_an_object_of_the_cluster_is_put_back(scene: Scene, path: str, other: Any) -> None:
    wanted: Any = {"kubernetes.io/os": "linux"}
    if path == "priorityClassName":
        wanted, other = f"ours-of-{scene.namespace}", other.format(scene.namespace)
        for name in (wanted, other):
            scene.kubectl("create", "priorityclass", name, "--value=10")
    scene.apply_ready(spec={**SPEC, path: wanted})
    pointer = f"/spec/template/spec/{path}"
    for operation in ({"op": "replace", "path": pointer, "value": other}, {"op": "remove", "path": pointer}):
        assert _change(scene, "deployment", operation) == 200
        eventually(
            lambda: scene.get("deployment")["spec"]["template"]["spec"].get(path) == wanted,
            f"{path} is put back after a {operation['op']}",
        )


@pytest.mark.parametrize(("field", "other"), [("kind", "ReplicaSet"), ("apiVersion", "apps/v2"), ("name", "other")])
def test_the_target_of_an_autoscaler_is_put_back(scene: Scene, field: str, other: str) -> None:
    spec = {name: value for name, value in SPEC.items() if name != "replicas"}
    resources = {"requests": {"cpu": "10m"}}
    scene.apply_ready(spec={**spec, "resources": resources, "autoscaling": {"minReplicas": 1, "maxReplicas": 3}})
    before = scene.get("horizontalpodautoscaler")["spec"]["scaleTargetRef"]
    operation = {"op": "replace", "path": f"/spec/scaleTargetRef/{field}", "value": other}
    assert _change(scene, "horizontalpodautoscaler", operation) == 200
    eventually(lambda: scene.get("horizontalpodautoscaler")["spec"]["scaleTargetRef"] == before, f"{field} is put back")


@pytest.mark.slow
def test_metadata_of_a_revision_is_put_back(scene: Scene) -> None:
    scene.apply_ready()
    (name,) = scene.names("controllerrevision")
    before = scene.get("controllerrevision", name)["metadata"]
    for part in ("labels", "annotations"):
        for key in before[part]:
            pointer = f"/metadata/{part}/{key.replace('/', '~1')}"
            for operation in ({"op": "replace", "path": pointer, "value": "other"}, {"op": "remove", "path": pointer}):
                assert _change(scene, "controllerrevision", operation, name) == 200

                eventually(
                    lambda: _metadata_of_revision(scene, name) == _metadata(before),
                    f"{part} of the revision after a {operation['op']} of {key}",
                )


def _metadata_of_revision(scene: Scene, name: str) -> Any:
    found = scene.find("controllerrevision", name)
    return None if found is None else _metadata(found["metadata"])


def _metadata(metadata: dict[str, Any]) -> Any:
    """Return labels and annotations. The time of readiness is that of the repair, if it was recorded again."""
    annotations = dict(metadata.get("annotations", {}))
    is_time = annotations.pop("coxswain.dev/ready-at", "").endswith("Z")
    return metadata.get("labels"), annotations, is_time


def _change(scene: Scene, kind: str, operation: dict[str, Any], name: str = "web") -> int:
    """Send a JSON Patch as another manager; return the status of the response."""
    path = f"/{name}?fieldManager=helm"
    return int(scene.send("PATCH", kind, path, [operation], "json-patch+json").status_code)
