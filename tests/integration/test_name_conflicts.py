"""A foreign object with a child's name: it is never changed, and the status names its owner."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from cluster import ControlPlane
from cluster.operator_process import OperatorProcess
from integration.scene import CHILDREN, SPEC, Scene, eventually

KINDS = {"serviceaccount": "ServiceAccount", "configmap": "ConfigMap", "service": "Service", "deployment": "Deployment"}
NEEDED_BY_PODS = ("serviceaccount", "configmap")
TEMPLATE = {
    "metadata": {"labels": {"app": "other"}},
    "spec": {"containers": [{"name": "other", "image": "registry.example/other:1"}]},
}
CONTENT: dict[str, dict[str, Any]] = {
    "serviceaccount": {},
    "configmap": {"data": {"OTHER": "1"}},
    "service": {"spec": {"ports": [{"port": 99}]}},
    "deployment": {"spec": {"replicas": 0, "selector": {"matchLabels": {"app": "other"}}, "template": TEMPLATE}},
}


@pytest.fixture(scope="module")
def configuration_name(cluster: ControlPlane, _operator: OperatorProcess) -> str:
    """The hashed name of the ConfigMap of a WebApp `web`, read in a namespace without foreign objects."""
    _operator.start()
    scene = Scene(cluster, "default", _operator)
    scene.apply_ready()
    name: str = scene.child("configmap")["metadata"]["name"]
    scene.kubectl("delete", "webapp", "web")
    return name


def put_foreign(scene: Scene, kind: str, name: str, owner: str | None, labels: dict[str, str]) -> dict[str, Any]:
    """Create an object with a child's name, controlled by a ConfigMap if `owner` names one; return it."""
    metadata: dict[str, Any] = {"name": name, "labels": labels}
    if owner is not None:
        scene.kubectl("create", "configmap", owner)
        uid = scene.get("configmap", owner)["metadata"]["uid"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, "controller": True}
        metadata["ownerReferences"] = [reference]
    version = "apps/v1" if kind == "deployment" else "v1"
    thing = {"apiVersion": version, "kind": KINDS[kind], "metadata": metadata, **CONTENT[kind]}
    scene.kubectl("create", "-f", "-", input=json.dumps(thing))
    if kind == "deployment":
        # Its controller writes the status once, then nothing writes the object.
        eventually(lambda: scene.get(kind, name).get("status", {}).get("observedGeneration"), "it is observed")
    return scene.get(kind, name)


CASES: list[tuple[str | None, dict[str, str]]] = [
    (None, {}),
    ("owner", {}),
    (None, {"coxswain.dev/webapp": "web"}),
]


@pytest.mark.parametrize(("owner", "labels"), CASES, ids=["of nobody", "of another", "of nobody, with our label"])
@pytest.mark.parametrize("kind", CHILDREN)
def test_a_foreign_object_is_never_touched(
    scene: Scene, configuration_name: str, kind: str, owner: str | None, labels: dict[str, str]
) -> None:
    name = configuration_name if kind == "configmap" else "web"
    before = put_foreign(scene, kind, name, owner, labels)
    scene.apply()
    ready, stalled = scene.not_ready("NameTaken"), scene.condition("Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "NameTaken")
    for condition in (ready, stalled):
        assert f"{KINDS[kind]} {name}" in condition["message"]
        assert ("controlled by ConfigMap owner" if owner else "object of somebody else") in condition["message"]
    if kind in NEEDED_BY_PODS:
        assert scene.find("deployment") is None, "no pod starts with a foreign object"
    # Neither another change of the WebApp nor its deletion changes the object.
    scene.apply(spec={**SPEC, "image": "registry.example/web:2"})
    eventually(lambda: scene.get("webapp")["status"]["observedGeneration"] == 2, "the change is observed")
    scene.not_ready("NameTaken")
    assert scene.get(kind, name) == before
    if owner is None and not labels:
        scene.kubectl("delete", "webapp", "web")
        assert scene.get(kind, name) == before
    else:
        _recovers(scene, kind, name)


def _recovers(scene: Scene, kind: str, name: str) -> None:
    """Delete the foreign object, and touch the WebApp."""
    scene.kubectl("delete", kind, name)
    scene.apply_ready(spec={**SPEC, "annotations": {"example.com/touched": "yes"}})
    assert scene.condition("Stalled")["status"] == "False"
    assert scene.child(kind)["metadata"]["name"].startswith("web")


@pytest.mark.slow
def test_the_next_resync_finds_that_a_name_is_free(
    cluster: ControlPlane,
    make_namespace: Callable[[], str],
    another_operator: Callable[..., OperatorProcess],
    configuration_name: str,
) -> None:
    operator = another_operator("--resync-interval", "2")
    scene = Scene(cluster, make_namespace(), operator)
    names = {kind: configuration_name.removeprefix("web") for kind in CHILDREN}
    names = {kind: f"web-{kind}" + (rest if kind == "configmap" else "") for kind, rest in names.items()}
    for kind, name in names.items():
        put_foreign(scene, kind, name, None, {})
    scene.apply_all({f"web-{kind}": SPEC for kind in CHILDREN})
    for kind in CHILDREN:
        scene.not_ready("NameTaken", f"web-{kind}")
    for kind, name in names.items():
        scene.kubectl("delete", kind, name)
    scene.all_ready(len(CHILDREN))
