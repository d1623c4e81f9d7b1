"""Deleted or changed children are restored; additions by others are kept."""

from collections import Counter
from typing import Any

import pytest

from integration.scene import CHILDREN, SPEC, Scene, eventually, masked

FOUR = {**SPEC, "annotations": {"example.com/contact": "me"}}


def references(scene: Scene) -> list[str]:
    """Return the children in the notation of kubectl."""
    return [f"{kind}/{child['metadata']['name']}" for kind, child in scene.children().items()]


def wait_until_put_back(scene: Scene, before: dict[str, Any], timeout: float = 40) -> None:
    def put_back() -> bool:
        found = {kind: scene.find(kind, child["metadata"]["name"]) for kind, child in before.items()}
        return all(found[kind] is not None and masked(found[kind] or {}) == before[kind] for kind in before)

    eventually(put_back, "the children are as before", timeout)


def children_as_they_are(scene: Scene) -> dict[str, Any]:
    return {kind: masked(child) for kind, child in scene.children().items()}


@pytest.mark.parametrize("kind", CHILDREN)
def test_a_deleted_child_is_recreated(scene: Scene, kind: str) -> None:
    scene.apply_ready(spec=FOUR)
    before, old = children_as_they_are(scene), scene.child(kind)
    scene.kubectl("delete", kind, old["metadata"]["name"], "--wait=false")
    wait_until_put_back(scene, before)
    eventually(lambda: scene.child(kind)["metadata"]["uid"] != old["metadata"]["uid"], f"a new {kind}")
    scene.ready()


METADATA_CHANGES = {
    "a label of ours changed": ("label", "--overwrite", "app.kubernetes.io/name=other"),
    "a label of ours removed": ("label", "app.kubernetes.io/managed-by-"),
    "the label that watches filter by changed": ("label", "--overwrite", "coxswain.dev/webapp=other"),
    "the label that watches filter by removed": ("label", "coxswain.dev/webapp-"),
    "an annotation of ours changed": ("annotate", "--overwrite", "example.com/contact=you"),
    "an annotation of ours removed": ("annotate", "example.com/contact-"),
}


@pytest.mark.parametrize("change", METADATA_CHANGES)
def test_changed_metadata_of_every_child_is_corrected(scene: Scene, change: str) -> None:
    scene.apply_ready(spec=FOUR)
    before = children_as_they_are(scene)
    command, *arguments = METADATA_CHANGES[change]
    scene.kubectl(command, *references(scene), *arguments)
    wait_until_put_back(scene, before)
    scene.ready()


def test_a_removed_owner_reference_of_every_child_is_restored(scene: Scene) -> None:
    scene.apply_ready(spec=FOUR)
    before, uids = children_as_they_are(scene), {child["metadata"]["uid"] for child in scene.children().values()}
    for kind, child in before.items():
        operation = {"op": "remove", "path": "/metadata/ownerReferences"}
        scene.json_patch(kind, operation, name=child["metadata"]["name"])
    wait_until_put_back(scene, before)
    assert {child["metadata"]["uid"] for child in scene.children().values()} == uids


CONTAINER = "/spec/template/spec/containers/0"
SPEC_CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("serviceaccount", {"op": "replace", "path": "/automountServiceAccountToken", "value": True}),
    ("serviceaccount", {"op": "remove", "path": "/automountServiceAccountToken"}),
    ("service", {"op": "replace", "path": "/spec/ports/0/targetPort", "value": 99}),
    ("service", {"op": "replace", "path": "/spec/ports/0/name", "value": "other"}),
    ("service", {"op": "replace", "path": "/spec/selector", "value": {"app": "other"}}),
    ("service", {"op": "replace", "path": "/spec/sessionAffinity", "value": "ClientIP"}),
    ("deployment", {"op": "replace", "path": f"{CONTAINER}/image", "value": "registry.example/other:1"}),
    ("deployment", {"op": "remove", "path": f"{CONTAINER}/env"}),
    ("deployment", {"op": "remove", "path": f"{CONTAINER}/readinessProbe"}),
    ("deployment", {"op": "remove", "path": "/spec/template/spec/securityContext/runAsUser"}),
    ("deployment", {"op": "replace", "path": "/spec/template/spec/serviceAccountName", "value": "default"}),
    ("deployment", {"op": "replace", "path": "/spec/strategy", "value": {"type": "Recreate"}}),
]
UNIONS_AND_MERGE_KEYS: list[tuple[str, dict[str, Any]]] = [
    (
        "deployment",
        {
            "op": "replace",
            "path": f"{CONTAINER}/readinessProbe",
            "value": {"exec": {"command": ["true"]}},
        },
    ),
    (
        "deployment",
        {
            "op": "replace",
            "path": f"{CONTAINER}/env/0/valueFrom",
            "value": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
        },
    ),
    (
        "deployment",
        {"op": "replace", "path": f"{CONTAINER}/lifecycle/preStop", "value": {"exec": {"command": ["true"]}}},
    ),
    (
        "deployment",
        {"op": "replace", "path": "/spec/template/spec/volumes/0", "value": {"name": "files", "emptyDir": {}}},
    ),
    ("deployment", {"op": "replace", "path": f"{CONTAINER}/env/0", "value": {"name": "GREETING", "value": "other"}}),
    ("deployment", {"op": "replace", "path": f"{CONTAINER}/ports/0/containerPort", "value": 99}),
    ("service", {"op": "replace", "path": "/spec/ports/0/port", "value": 99}),
]


def named(change: tuple[str, dict[str, Any]]) -> str:
    return f"{change[0]} {change[1]['op']} {change[1]['path']}"


@pytest.mark.parametrize("change", SPEC_CHANGES, ids=named)
def test_a_changed_field_is_corrected(scene: Scene, change: tuple[str, dict[str, Any]]) -> None:
    _change_and_wait(scene, *change)


@pytest.mark.slow
@pytest.mark.parametrize("change", UNIONS_AND_MERGE_KEYS, ids=named)
def test_a_changed_union_or_merge_key_is_corrected(scene: Scene, change: tuple[str, dict[str, Any]]) -> None:
    _change_and_wait(scene, *change, spec={**FOUR, "files": [{"path": "/etc/motd", "content": "hello"}]})


def test_a_switched_strategy_is_corrected(scene: Scene) -> None:
    scene.apply_ready(spec={**FOUR, "rollout": {"strategy": "Recreate"}})
    before = children_as_they_are(scene)
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2}}
    scene.json_patch("deployment", {"op": "replace", "path": "/spec/strategy", "value": rolling})
    wait_until_put_back(scene, before)
    scene.ready()


def _change_and_wait(scene: Scene, kind: str, operation: dict[str, Any], spec: dict[str, Any] = FOUR) -> None:
    scene.apply_ready(spec=spec)
    before = children_as_they_are(scene)
    scene.json_patch(kind, operation)
    wait_until_put_back(scene, before)
    scene.ready()


@pytest.mark.slow
def test_labels_and_annotations_of_others_stay_without_a_write(scene: Scene) -> None:
    mark = scene.cluster.audit()
    scene.apply_ready(spec=FOUR)
    scene.settled(mark)
    scene.kubectl("label", *references(scene), "other.example/team=storefront")
    assert scene.settled(mark) == Counter()
    # A new annotation is a new generation of a Deployment, so it briefly counts as rolling out.
    scene.kubectl("annotate", *references(scene), "other.example/note=text")
    assert scene.settled(mark).keys() <= {"patch webapps/status"}
    for child in scene.children().values():
        assert child["metadata"]["labels"]["other.example/team"] == "storefront"
        assert child["metadata"]["annotations"]["other.example/note"] == "text"
