"""A child's name that a foreign object bears: it is never touched, and the status says whose it is."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import ControlPlane
from cluster.operator_process import OperatorProcess
from integration.scene import CHILDREN, SPEC, Scene, eventually

KINDS = {"serviceaccount": "ServiceAccount", "configmap": "ConfigMap", "service": "Service", "deployment": "Deployment"}
POD = {"containers": [{"name": "other", "image": "registry.example/other:1"}]}
SPECS: dict[str, dict[str, Any]] = {
    "configmap": {"data": {"OTHER": "1"}},
    "service": {"spec": {"ports": [{"port": 99}]}},
    "deployment": {
        "spec": {
            "selector": {"matchLabels": {"app": "other"}},
            "template": {"metadata": {"labels": {"app": "other"}}, "spec": POD},
        }
    },
}


@pytest.fixture
def resyncing(_operator: OperatorProcess, cluster: ControlPlane, kubeconfig: Path) -> Iterator[OperatorProcess]:
    """An operator that looks again every two seconds, in the place of the usual one."""
    _operator.stop()
    process = OperatorProcess(kubeconfig, cluster.directory / "logs" / "resyncing.log", ["--resync-interval", "2"])
    process.start()
    yield process
    process.stop()


def foreign(scene: Scene, kind: str, name: str, owner: str | None) -> dict[str, Any]:
    """Make an object of a child's name, controlled by a ConfigMap if `owner` names one; return it."""
    metadata: dict[str, Any] = {"name": name}
    if owner is not None:
        scene.kubectl("create", "configmap", owner)
        uid = scene.get("configmap", owner)["metadata"]["uid"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, "controller": True}
        metadata["ownerReferences"] = [reference]
    version = "apps/v1" if kind == "deployment" else "v1"
    thing = {"apiVersion": version, "kind": KINDS[kind], "metadata": metadata, **SPECS.get(kind, {})}
    scene.kubectl("create", "-f", "-", input=json.dumps(thing))
    return scene.get(kind, name)


def untouched(before: dict[str, Any], after: dict[str, Any] | None) -> bool:
    """Tell whether nothing but a status was written, which a Deployment's controller does."""
    assert after is not None
    shown = ("uid", "labels", "annotations", "ownerReferences", "managedFields")
    same = [before["metadata"].get(key) == after["metadata"].get(key) for key in shown[:1] + shown[3:4]]
    return all(same) and before.get("spec") == after.get("spec") and before.get("data") == after.get("data")


@pytest.mark.parametrize("owner", [None, "owner"], ids=["of nobody", "of another"])
@pytest.mark.parametrize("kind", CHILDREN)
def test_a_foreign_object_is_never_taken(
    cluster: ControlPlane, operator: OperatorProcess, make_namespace: Callable[[], str], kind: str, owner: str | None
) -> None:
    scene = Scene(cluster, make_namespace(), operator)
    name = configuration_name(scene) if kind == "configmap" else "web"
    before = foreign(scene, kind, name, owner)
    scene.apply()
    ready = scene.not_ready("NameTaken")
    stalled = scene.condition("Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "NameTaken")
    for condition in (ready, stalled):
        assert f"{KINDS[kind]} {name}" in condition["message"]
        assert "ConfigMap owner controls" in condition["message"] if owner else "not this WebApp's" in condition["message"]
