"""The sample shapes of manifests/samples/shapes, applied to the real API server with simulated nodes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.metrics_api import MetricsApi
from integration import gateways
from integration.scene import Scene

SHAPES = Path(__file__).parents[2] / "manifests" / "samples" / "shapes"
ALWAYS = {"ServiceAccount", "Deployment", "ControllerRevision"}
CHILDREN = {
    "internal-api": {*ALWAYS, "Service", "NetworkPolicy", "PodDisruptionBudget"},
    "moving": {*ALWAYS, "Service"},
    "public-site": {*ALWAYS, "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler", "HTTPRoute"},
    "stateful": {*ALWAYS, "Service"},
    "worker": ALWAYS,
}
"""Kinds of children by shape."""
URLS = {
    "internal-api": "http://internal-api.{}.svc:8080",
    "public-site": "http://www.example.com",
    "stateful": "http://stateful.{}.svc:8080",
}
CONDITIONS = {
    "Ready": "True",
    "Available": "True",
    "Progressing": "False",
    "Stalled": "False",
    "Conflicted": "False",
    "Contested": "False",
}


@pytest.fixture
def disk(scene: Scene) -> Iterator[None]:
    """A PersistentVolume for the claim of `stateful`: the throwaway cluster has no provisioner."""
    volume = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/unused"},
        "claimRef": {"namespace": scene.namespace, "name": "stateful-data"},
    }
    name = f"disk-{scene.namespace}"
    scene.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": volume})
    yield
    scene.kubectl("delete", "persistentvolume", name, "--wait=false")


@pytest.mark.usefixtures("disk")
def test_each_shape_becomes_ready(scene: Scene, metrics: MetricsApi) -> None:
    metrics.set_load(scene.namespace, 100)
    scene.kubectl("apply", "--kustomize", str(SHAPES))
    gateways.there(scene, "httproute", "public-site")
    gateways.report(scene, "public-site")
    scene.all_ready(len(CHILDREN))
    statuses = {found["metadata"]["name"]: found["status"] for found in scene.list("webapp")}
    assert {name: {each["kind"] for each in found["children"]} for name, found in statuses.items()} == CHILDREN
    for name, status in statuses.items():
        assert {each["type"]: each["status"] for each in status["conditions"]} == CONDITIONS, name
        assert {each["kind"]: each["health"] for each in status["children"]} == dict.fromkeys(CHILDREN[name], "Healthy")
        assert status.get("url", "") == URLS.get(name, "").format(scene.namespace)
