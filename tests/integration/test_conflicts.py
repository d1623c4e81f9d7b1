"""A spec field held by another manager: enforced, left to it, or the object not written, depending on the policy."""

from collections import Counter
from typing import Any

import pytest

from cluster import KubectlError
from integration.co_writing import (
    IMAGE,
    apply_as,
    co_writer,
    conflicted,
    conflicts,
    drift,
    image,
    is_true,
    managers,
    not_conflicted,
    patch_as,
    told,
    writes,
)
from integration.scene import SPEC, Scene, eventually

OWN, NEW, THEIRS = SPEC["image"], "registry.example/web:2", "registry.example/theirs:1"
CONTAINER = "/spec/template/spec/containers/0"
NOTE = "example.com/note"
NOTED = {**SPEC, "service": {"annotations": {NOTE: "ours"}}}


def ruled(policy: str, spec: dict[str, Any] = SPEC, *, kind: str = "Deployment", path: str = "", **more: Any) -> Any:
    """Return a spec with a policy for one path, or for all."""
    conflicts = {"rules": [{"kind": kind, "path": path, "policy": policy}]} if path else {"policy": policy}
    return {**spec, "conflicts": conflicts, **more}


def live_image(scene: Scene) -> str:
    containers = scene.get("deployment")["spec"]["template"]["spec"]["containers"]
    return str(next(container["image"] for container in containers if container["name"] == "app"))


def live_note(scene: Scene) -> str | None:
    found: str | None = scene.get("service")["metadata"].get("annotations", {}).get(NOTE)
    return found


def by_patch(scene: Scene) -> None:
    patch_as(scene, "updater", "deployment", {"op": "replace", "path": f"{CONTAINER}/image", "value": THEIRS})


def by_forced_apply(scene: Scene) -> None:
    apply_as(scene, "updater", "Deployment", image(THEIRS), force=True)


WAYS = {"a patch": by_patch, "a forced apply": by_forced_apply}


@pytest.mark.parametrize("way", WAYS)
def test_enforce_takes_it_back(scene: Scene, way: str) -> None:
    scene.apply_ready()
    WAYS[way](scene)
    eventually(lambda: ("Deployment/web", IMAGE, "updater") in drift(scene), "the change is in the drift ledger")
    assert live_image(scene) == OWN
    scene.ready()
    assert (scene.condition("Conflicted")["status"], conflicts(scene)) == ("False", [])


def test_under_enforce_who_does_not_force_is_refused(scene: Scene) -> None:
    scene.apply_ready()
    mark = scene.cluster.audit()
    scene.settled(mark)
    with pytest.raises(KubectlError, match='conflict with "coxswain"'):
        apply_as(scene, "updater", "Deployment", image(THEIRS))
    assert (live_image(scene), scene.settled(mark)) == (OWN, Counter())


@pytest.mark.parametrize("way", WAYS)
def test_yield_leaves_it_and_applies_the_rest(scene: Scene, way: str) -> None:
    scene.apply_ready(spec=ruled("Yield", path=IMAGE))
    WAYS[way](scene)
    conflicted(scene, "Yielded")
    assert conflicts(scene) == [("Deployment/web", IMAGE, "updater", "Yield")]
    assert f"Deployment/web {IMAGE} is owned by updater" in scene.condition("Conflicted")["message"]
    scene.apply_ready(spec=ruled("Yield", path=IMAGE, image=NEW, replicas=2))
    assert (live_image(scene), scene.get("deployment")["spec"]["replicas"]) == (THEIRS, 2)
    assert [IMAGE in event["note"] for event in scene.awaited_events("FieldConflict")] == [True]
    scene.apply(spec=ruled("Enforce", path=IMAGE, image=NEW, replicas=2))
    eventually(lambda: live_image(scene) == NEW, "the image is enforced")
    not_conflicted(scene)
    scene.ready()


@pytest.mark.slow
def test_a_field_under_yield_costs_no_request_however_often_it_changes(scene: Scene) -> None:
    path = f"metadata.annotations[{NOTE}]"
    scene.apply_ready(spec=ruled("Yield", NOTED, kind="Service", path=path))
    change = {"metadata": {"annotations": {NOTE: "{n}"}}}
    with co_writer(scene, "updater", "update", "services/web", change, every=0.1) as other:
        conflicted(scene, "Yielded")
        mark = scene.cluster.audit()
        scene.settled(mark)
        other.writes(30)
        assert scene.settled(mark) == Counter()
        assert all(answer.startswith("200 ") for answer in other.answers)
    assert conflicts(scene) == [("Service/web", path, "updater", "Yield")]
    assert len(told(scene, "FieldConflict")) == 1
    assert drift(scene) == {}


@pytest.mark.slow
def test_a_controller_that_does_not_force_succeeds_once_the_field_was_left_to_it(scene: Scene) -> None:
    """It first applies the same value, like a careful migration; then it owns the field."""
    scene.apply_ready(spec=ruled("Yield", path=IMAGE))
    with pytest.raises(KubectlError, match='conflict with "coxswain"'):
        apply_as(scene, "updater", "Deployment", image(THEIRS))
    apply_as(scene, "updater", "Deployment", image(OWN))
    change = image("registry.example/theirs:{n}")
    with co_writer(scene, "updater", "apply", "deployments/web", change, every=0.3) as other:
        eventually(lambda: other.answers and other.answers[-1].startswith("200 "), "it is no longer refused")
        conflicted(scene, "Yielded")
        other.writes(5)
        assert all(answer.startswith("200 ") for answer in other.answers[-5:])
    assert live_image(scene) != OWN


def test_a_field_that_passes_from_one_to_another_stays_theirs(scene: Scene) -> None:
    scene.apply_ready(spec=ruled("Yield"))
    by_forced_apply(scene)
    conflicted(scene, "Yielded")
    apply_as(scene, "updater", "Deployment", image(NEW))
    assert live_image(scene) == NEW, "the owner need not force"
    apply_as(scene, "heir", "Deployment", image(NEW))
    apply_as(scene, "updater", "Deployment", {"metadata": {"labels": {"other.example/a": "b"}}})
    eventually(lambda: conflicts(scene) == [("Deployment/web", IMAGE, "heir", "Yield")], "it is held by the heir")
    assert live_image(scene) == NEW


def test_a_released_field_is_enforced_again(scene: Scene) -> None:
    scene.apply_ready(spec=ruled("Yield", NOTED))
    apply_as(scene, "updater", "Service", {"metadata": {"annotations": {NOTE: "theirs"}}}, force=True)
    conflicted(scene, "Yielded")
    assert live_note(scene) == "theirs"
    apply_as(scene, "updater", "Service", {"metadata": {"annotations": {"other.example/a": "b"}}})
    eventually(lambda: live_note(scene) == "ours", "the value of the spec is applied")
    not_conflicted(scene)
    assert drift(scene) == {}, "a field given up is no drift"
    scene.ready()


@pytest.mark.slow
def test_halt_writes_nothing_to_that_object_and_everything_to_others(scene: Scene) -> None:
    spec = ruled("Halt", NOTED, path="spec.replicas")
    scene.apply_ready(spec=spec)
    apply_as(scene, "scaler", "Deployment", {"spec": {"replicas": 3}}, force=True)
    conflicted(scene, "Halted")
    assert (is_true(scene, "Stalled", "Halted"), is_true(scene, "Ready")) == (True, False)
    assert conflicts(scene) == [("Deployment/web", "spec.replicas", "scaler", "Halt")]
    mark = scene.cluster.audit()
    scene.settled(mark)
    scene.apply(spec={**spec, "image": NEW, "service": {"annotations": {NOTE: "changed"}}})
    eventually(lambda: live_note(scene) == "changed", "the Service is written")
    requests = scene.settled(mark)
    assert (live_image(scene), requests["patch deployments"]) == (OWN, 0)
    assert not is_true(scene, "Ready")
    assert ["spec.replicas" in note for note in told(scene, "FieldConflict")] == [True]
    apply_as(scene, "scaler", "Deployment", {"metadata": {"labels": {"other.example/a": "b"}}})
    eventually(lambda: live_image(scene) == NEW, "the Deployment is written")
    not_conflicted(scene)
    scene.ready()
    assert drift(scene) == {}, "a change of the spec is no drift"


UNIONS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a probe's handler": (
        "deployment",
        {"op": "replace", "path": f"{CONTAINER}/readinessProbe", "value": {"exec": {"command": ["true"]}}},
        "readinessProbe.tcpSocket",
    ),
    "where an env has its value from": (
        "deployment",
        {
            "op": "replace",
            "path": f"{CONTAINER}/env/0",
            "value": {"name": "GREETING", "value": "theirs"},
        },
        "env[name=GREETING].valueFrom",
    ),
    "a value instead of a plain one": (
        "deployment",
        {
            "op": "replace",
            "path": f"{CONTAINER}/env/1",
            "value": {"name": "PLAIN", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        },
        "env[name=PLAIN].value",
    ),
    "a Service's port": (
        "service",
        {"op": "replace", "path": "/spec/ports/0/port", "value": 99},
        "spec.ports[port=8080,protocol=TCP]",
    ),
    "a container's port": (
        "deployment",
        {"op": "replace", "path": f"{CONTAINER}/ports/0/containerPort", "value": 99},
        "ports[containerPort=8080,protocol=TCP]",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("union", UNIONS)
def test_a_union_or_merge_key_under_yield_is_unchanged(scene: Scene, union: str) -> None:
    kind, operation, field = UNIONS[union]
    spec = ruled("Yield", {**SPEC, "env": [{"name": "PLAIN", "value": "ours"}]})
    scene.apply_ready(spec=spec)
    if "/env/" in operation["path"]:
        env = scene.get("deployment")["spec"]["template"]["spec"]["containers"][0]["env"]
        index = [found["name"] for found in env].index(operation["value"]["name"])
        operation = {**operation, "path": f"{CONTAINER}/env/{index}"}
    mark = scene.cluster.audit()
    patch_as(scene, "updater", kind, operation)
    conflicted(scene, "Yielded")
    theirs = scene.get(kind)
    assert [field in conflict[1] for conflict in conflicts(scene)] == [True]
    assert writes(scene.settled(mark))[f"patch {kind}s"] <= 1, "at most the write that releases the field"
    scene.apply_ready(spec={**spec, "labels": {"team": "red"}})
    after = scene.get(kind)
    assert after["metadata"]["labels"]["team"] == "red"
    body = ("spec", "template", "spec", "containers") if kind == "deployment" else ("spec", "ports")
    assert _at(after, body) == _at(theirs, body), "the field of the other manager is unchanged"
    assert told(scene, "Rejected") == []


def _at(thing: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        thing = thing[key]
    return thing


@pytest.mark.slow
@pytest.mark.parametrize("changed", [False, True], ids=["as it was", "with another value"])
@pytest.mark.parametrize("policy", ["Enforce", "Yield"])
def test_stripped_managed_fields_keep_nothing_for_ever(scene: Scene, policy: str, changed: bool) -> None:
    """The API server makes an entry of all fields from before our first apply; no manager would ever release it."""
    spec = ruled(policy, {**SPEC, "labels": {"team": "red"}})
    scene.apply_ready(spec=spec)
    strip = {"op": "replace", "path": "/metadata/managedFields", "value": [{}]}
    change = {"op": "replace", "path": f"{CONTAINER}/image", "value": THEIRS}
    patch_as(scene, "stripper", "deployment", *([change] if changed else []), strip)
    eventually(lambda: "coxswain" in managers(scene, "deployment"), "our entry is restored")
    eventually(lambda: live_image(scene) == OWN, "the image is ours")
    scene.ready()
    assert conflicts(scene) == []
    scene.apply_ready(spec=ruled(policy))
    assert "team" not in scene.get("deployment")["metadata"]["labels"]
    assert "team" not in scene.get("deployment")["spec"]["template"]["metadata"]["labels"]
